"""The serial link to the board: open, shake hands, keep time, send, receive, notice loss, come back.

    with Link("/dev/ttyUSB0") as link:                     # opens the port and shakes hands
        link.request(Enable(0b00001, pulses))              # waits for the Ack; raises where refused
        link.send_setpoint(link.board_time_us(time.monotonic() + 0.06), pulses)

The only place that imports pyserial.
"""

from .connection import BAUD, Link, RefusedError
from .port import Port, SerialPort, serial_ports

__all__ = ["BAUD", "Link", "Port", "RefusedError", "SerialPort", "serial_ports"]
