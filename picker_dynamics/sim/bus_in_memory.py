"""Bus, servos and arm on virtual time, with the wire in memory: the bytes of a real bus, as fast as the processor goes.

    bus.send -> BusInMemory.send -> servos -> pulses -> Plant
    bus.read <- BusInMemory.read <- replies, when the wire would have brought them

Virtual time passes in ``run`` and ``sleep``, and where a bus waits for replies.  It is the ``Clock`` of all that drives it.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from picker_dynamics.bus import frames
from picker_dynamics.bus.dialects import BAUDS, DIALECTS
from picker_dynamics.errors import LinkError
from picker_dynamics.robot.servo_map import Servo, ServoMap

from .bus_servo import SimulatedServo
from .plant import Plant

SUPPLY_V = 7.4
"""Nominal voltage of servos whose map does not say [V]."""

SERVO_S = 1e-3
"""How often servos look at their registers [s]."""

TURNAROUND_S, BITS = 5e-5, 10
"""Between two frames on the wire [s]; bits of a byte there."""

Harm = Callable[[int, bytes], bytes]
"""What becomes of a servo's reply on its way: (id, frame) to the bytes that arrive."""


def noise(drop: float = 0.0, truncate: float = 0.0, corrupt: float = 0.0, seed: int = 0) -> Harm:
    """Harm that drops, truncates and corrupts these shares of replies."""
    drawn = random.Random(seed)

    def harm(_id: int, frame: bytes) -> bytes:
        if drawn.random() < drop:
            return b""
        if drawn.random() < truncate:
            return frame[: drawn.randrange(len(frame))]
        if drawn.random() < corrupt:
            place = drawn.randrange(len(frame))
            return frame[:place] + bytes((frame[place] ^ 1 << drawn.randrange(8),)) + frame[place + 1 :]
        return frame

    return harm


def _set_up(servo: Servo) -> dict[str, int]:
    """Registers of a servo that its map tells of."""
    said = {"model": servo.model_number, "p_gain": servo.p_gain, "offset": servo.homing_offset}
    return {name: value for name, value in said.items() if value is not None}


class BusInMemory:
    """Servos and the arm in step; the port that a bus opens.

    Args:
        plant: the true arm, which does not quantise.
        servos: the servo map of servos on a bus.
        latency_s: of the adapter, each way [s].

    Attributes:
        servos: the simulated servos.
        plugged: whether the cable is; assign False to pull it.
        harm: what becomes of replies.
    """

    threaded = False

    def __init__(self, plant: Plant, servos: ServoMap, latency_s: float = 5e-4):
        dialect = DIALECTS[servos.bus or ""]
        self.plant, self._map, self._dialect, self._latency_s = plant, servos, dialect, latency_s
        self.nominal_v = servos.supply_v or SUPPLY_V
        ids = servos.bus_ids or tuple(channel + 1 for channel in servos.channels)
        self.servos = [
            SimulatedServo(id, self.nominal_v, dialect, **_set_up(servo)) for id, servo in zip(ids, servos.servos, strict=True)
        ]
        self.plugged, self.baud, self._request = True, 1_000_000, bytearray()
        self.harm: Harm = lambda _id, frame: frame
        self._coming: deque[tuple[float, bytes]] = deque()
        self._direction = np.array([servo.direction for servo in servos.servos])
        self._zero = np.array([servo.zero for servo in servos.servos])
        self._step = dialect.step * servos.per_turn
        self._most = np.ones(servos.n)
        self._servo_s = 0.0
        self._measure()
        for servo in self.servos:
            servo.power(True)
            servo.advance(0.0)

    # -- clock ---------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Virtual time [s]."""
        return self.plant.time

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.run(max(seconds, self.plant.dt))

    def run(self, seconds: float) -> None:
        """Let ``seconds`` of virtual time pass, rounded to the plant's steps."""
        plant, until_s = self.plant, self.plant.time + seconds
        while (left_s := until_s - plant.time) > 0.5 * plant.dt:
            if plant.time >= self._servo_s - 1e-9:
                self._advance_servos()
            plant.advance(self.pulses_us, min(left_s, max(self._servo_s - plant.time, plant.dt)))

    def _advance_servos(self) -> None:
        self._servo_s = self.plant.time + SERVO_S
        self._measure()
        for servo in self.servos:
            servo.advance(SERVO_S)
        most = np.array([servo.most for servo in self.servos])
        if (most != self._most).any():
            self._most = most
            self.plant.limit_torque(most)

    def _measure(self) -> None:
        """Tell the servos where they are, and what they bear."""
        plant, volts = self.plant, self.nominal_v * self.plant.supply
        ticks = (self._zero + self._direction * plant.q) / self._step + self._dialect.steps // 2
        speeds = self._direction * plant.v / self._step
        loads = np.abs(plant.spring) / (plant.supply * plant.servo.motor_stall)
        for servo, tick, speed, load in zip(self.servos, ticks.tolist(), speeds.tolist(), loads.tolist()):
            servo.ticks, servo.speed, servo.load, servo.volts = tick, speed, load, volts

    @property
    def pulses_us(self) -> list[float | None]:
        """Pulses that stand for where the servos' springs pull to; None where torque is off."""
        aims = np.array([servo.aim_ticks for servo in self.servos]) - self._dialect.steps // 2
        angles = self._direction * (aims * self._step - self._zero)
        each = zip(self.servos, self._map.servos, angles.tolist())
        return [one.to_pulse_us(angle) if servo.torque else None for servo, one, angle in each]

    # -- what a person does ----------------------------------------------------------------------------------

    def power(self, on: bool, joints: Sequence[int] | None = None) -> None:
        """Switch the power of all servos, or of those ``joints``."""
        for joint in range(len(self.servos)) if joints is None else joints:
            self.servos[joint].power(on)

    # -- port ----------------------------------------------------------------------------------------------

    def open(self, _name: str, baud: int) -> BusInMemory:
        """Port of this bus, as a bus opens it: empty."""
        self._require_plugged()
        self.baud = baud
        self._coming.clear()
        return self

    def close(self) -> None:
        """Drop what was not read."""
        self._coming.clear()

    def send(self, data: bytes) -> None:
        """Take requests of the host; servos act at once, and reply one after the other."""
        self._require_plugged()
        self._request += data
        requests, _ = frames.take(self._request)
        at_s = self.now() + self._latency_s + len(data) * BITS / self.baud
        for request in requests:
            here = [servo for servo in self.servos if BAUDS[servo.get("baud")] == self.baud]
            asked = request.data[2:] if request.code == frames.SYNC_READ else [servo.id for servo in here]
            for servo in sorted((one for one in here if one.id in asked), key=lambda one: asked.index(one.id)):
                if (reply := servo.answer(request)) is not None:
                    at_s += TURNAROUND_S + len(reply) * BITS / self.baud
                    self._coming.append((at_s + self._latency_s, self.harm(servo.id, reply)))

    def read(self, timeout_s: float) -> bytes:
        """Bytes that have arrived; where there are none, virtual time passes until some have, ``timeout_s`` at the most."""
        self._require_plugged()
        until_s = self.now() + timeout_s
        if timeout_s > 0.0 and not self._arrived:
            self.sleep(min(self.replies_s, until_s) - self.now())
        data = b""
        while self._arrived:
            data += self._coming.popleft()[1]
        return data

    @property
    def replies_s(self) -> float:
        """When the next reply arrives [s]; inf: none is under way."""
        return self._coming[0][0] if self._coming else math.inf

    @property
    def _arrived(self) -> bool:
        return self.replies_s <= self.now() + 1e-9

    def _require_plugged(self) -> None:
        if not self.plugged:
            raise LinkError("the bus in memory is gone, was the cable pulled?")
