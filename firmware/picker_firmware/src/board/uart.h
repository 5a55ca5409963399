// The serial port, driven by interrupts: 8 data bits, no parity, 1 stop bit.
#pragma once

#include <stdint.h>

#include "../core/transmit_buffer.h"

#ifndef PICKER_BAUD
#define PICKER_BAUD 500000
#endif

namespace picker {

// `transmit` must outlive the port.
void uart_begin(TransmitBuffer& transmit);

// True where a byte from the host waits.
bool uart_pending();

// The next byte; only where one is pending.
uint8_t uart_take();

// Send what has been written to the transmit buffer.
void uart_send();

}  // namespace picker
