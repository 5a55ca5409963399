"""The PCA9685's oscillator, estimated from a potentiometer whose readings are known at two exact pulses.

The board counts a pulse in periods of an oscillator that it takes for ``assumed_hz``.  If it runs at f, a pulse that is
commanded as w is w assumed_hz / f long.  A servo that stands where its pulse tells it shows that length on its
potentiometer, once the potentiometer was read at two pulses of an exact source (timer-driven pins, a servo tester):

    w_true = pulse_0 + (raw - raw_0) (pulse_1 - pulse_0) / (raw_1 - raw_0),        f = assumed_hz w / w_true
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from picker_dynamics.errors import InputError

from .protocol import PULSE_UNITS_PER_US, BoardState, Telemetry

READINGS_MIN = 10
_FORM = re.compile(r"(?P<joint>[\w-]+)=(?P<raw_0>[\d.]+)@(?P<pulse_0>[\d.]+),(?P<raw_1>[\d.]+)@(?P<pulse_1>[\d.]+)", re.ASCII)


@dataclass(frozen=True)
class Potentiometer:
    """A joint's potentiometer: raw ADC values at two exact pulses [us]."""

    joint: str
    raw: tuple[float, float]
    pulses_us: tuple[float, float]

    @classmethod
    def parse(cls, text: str) -> Potentiometer:
        """From ``joint=raw@pulse_us,raw@pulse_us``, for example ``shoulder=212@1000,790@2000``.

        Raises:
            InputError: the text has another form, or names one pulse twice.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise InputError(
                f"potentiometer {text!r} is not of the form joint=raw@pulse_us,raw@pulse_us", subject="pot", value=text
            )
        raw = (float(match["raw_0"]), float(match["raw_1"]))
        pulses_us = (float(match["pulse_0"]), float(match["pulse_1"]))
        if raw[0] == raw[1] or pulses_us[0] == pulses_us[1]:
            raise InputError(f"potentiometer {text!r} needs two readings at two pulses", subject="pot", value=text)
        return cls(match["joint"], raw, pulses_us)

    @property
    def us_per_count(self) -> float:
        """[us]"""
        return (self.pulses_us[1] - self.pulses_us[0]) / (self.raw[1] - self.raw[0])

    def pulse_us(self, raw: float) -> float:
        """The pulse that holds the servo where it reads ``raw`` [us]."""
        return self.pulses_us[0] + (raw - self.raw[0]) * self.us_per_count


@dataclass(frozen=True)
class OscillatorEstimate:
    """What the readings say.

    Args:
        hz: frequency [Hz].
        error_hz: how far off it may be, from the servo's deadband and one ADC count [Hz].
        joint: whose potentiometer was read.
    """

    hz: float
    error_hz: float
    joint: str


def estimate(
    pot: Potentiometer, index: int, telemetry: Sequence[Telemetry], assumed_hz: float, deadband_us: float
) -> OscillatorEstimate | None:
    """The oscillator's frequency from telemetry of a standing joint; None where it was not live, or has no ADC value.

    Args:
        pot: of the joint.
        index: of the joint.
        telemetry: of a board that makes pulses with a PCA9685.
        assumed_hz: what the firmware takes the oscillator for [Hz].
        deadband_us: of the servo, in all [us].
    """
    standing = [
        one
        for one in telemetry
        if one.live >> index & 1 and one.feedback[index] is not None and one.state not in (BoardState.MOVE, BoardState.BRAKE)
    ]
    standing = [one for one in standing if one.pulses[index] == standing[-1].pulses[index]]
    if len(standing) < READINGS_MIN:
        return None
    raw = sum(one.feedback[index] for one in standing) / len(standing)
    commanded_us, true_us = standing[-1].pulses[index] / PULSE_UNITS_PER_US, pot.pulse_us(raw)
    if true_us <= 0.0:
        return None
    hz = assumed_hz * commanded_us / true_us
    return OscillatorEstimate(hz, hz * (0.5 * deadband_us + abs(pot.us_per_count)) / true_us, pot.joint)
