"""Trim step: the frequency of the PCA9685's oscillator, by whose error every pulse is off.

true = commanded assumed / f      so      f = assumed commanded / true
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import yaml

from picker_dynamics.errors import ConfigurationError, refuse_if
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.robot.servo_file import BOARD
from picker_dynamics.robot.units import quantity

from .. import readings
from ..arm_estimate import ArmEstimate
from ..step_context import LeaveError, StepContext
from ..write_back import write

NAME, TITLE, MINUTES = "trim", "the board's pulses: oscillator trim", 5
GOOD = 0.003
"""Share by which pulses may be off: a deadband at the end of the range."""

TIMER_STEP_US = 4.0
"""Outputs of finer steps are timer-driven and go by the board's clock."""

COUNTS = 4096
WAYS = (
    ("pulse", "length of a pulse, by oscilloscope, logic analyser or servo tester"),
    ("frequency", "of the pulses, by a meter"),
    ("skip", "no instrument: the droop finds the share, but all pulse ends stay off by it"),
)


def run_step(context: StepContext, estimate: ArmEstimate) -> ArmEstimate:
    """Measure the pulses until they are right; the servo map then has the oscillator's frequency."""
    hz, number = estimate.servos.oscillator_hz, 0
    if context.known("step_us") is None:
        context.note("step_us", context.port().outputs.resolution_us)
    if context.known("step_us") < TIMER_STEP_US:
        context.tell("The board's pulses are timer-driven: there is no oscillator to trim.", "good")
        return estimate
    context.explain("A PCA9685 counts pulses with an oscillator that may be some per cent off, and every pulse with it.")
    how = context.choose("how", "How can you measure it?", WAYS)
    while how != "skip":
        found = oscillator_hz(context, estimate, how, hz, number)
        off = hz / found - 1.0
        if abs(off) < GOOD:
            context.tell(f"Pulses are {1e2 * abs(off):.2f} % too {'long' if off > 0 else 'short'}: good enough.", "good")
            break
        context.tell(
            f"Pulses are {1e2 * abs(off):.1f} % too {'long' if off > 0 else 'short'}: the oscillator runs at "
            f"{found / 1e6:.3f} MHz.",
            "warning",
        )
        hz, number = found, number + 1
        if context.known(f"{number}.flashed") is None:
            _flash(context, hz, number)
    servos = estimate.servos
    if hz == servos.oscillator_hz:
        return estimate
    remarks = {**estimate.remarks, ("board", "oscillator_hz"): f"measured {context.when}: by {how}"}
    return replace(estimate, servos=replace(servos, oscillator_hz=hz), remarks=remarks)


def oscillator_hz(context: StepContext, estimate: ArmEstimate, how: str, assumed: float, number: int) -> float:
    """Oscillator frequency by one measurement [Hz]; ``assumed``: what the firmware now takes it for [Hz]."""
    low, high = (BOARD["oscillator_hz"].bounds[i] for i in (0, 2))

    def possible(hz: float) -> float:
        refuse_if(
            not low <= hz <= high,
            f"that makes an oscillator of {hz / 1e6:.1f} MHz, must be {low / 1e6:.0f} to {high / 1e6:.0f}: "
            "another output, or another unit?",
            "oscillator_hz",
            hz,
            high,
        )
        return hz

    if how == "frequency":
        divider = round(assumed * estimate.servos.frame_s / COUNTS)
        _some_output(context, estimate)
        return context.read(
            f"{number}.hz",
            "Measure the frequency between signal and GND of an output that runs [Hz]:",
            lambda text: possible(COUNTS * divider * quantity("frequency", text, {"hz": 1.0}, "hz")),
        )
    joint, commanded = _some_output(context, estimate)
    channel = estimate.servos.servos[joint].channel
    return context.read(
        f"{number}.pulse",
        f"Channel {channel} gets pulses commanded as {commanded:.1f} us. How long are they really [us]?",
        lambda text: possible(assumed * commanded / readings.pulse("pulse", text)),
        about=(commanded, assumed),
    )


def _some_output(context: StepContext, estimate: ArmEstimate) -> tuple[int, float]:
    """An output that runs, started at the rest pose where none does: its joint, and its pulse as commanded [us]."""
    if context.known("output") is None:
        mover = context.port()
        context.take_over()
        servos = estimate.servos
        pulses = servos.quantise_us(servos.to_pulse_us(servos.clamp(servos.rest)))
        joint = int(np.abs(np.where(mover.live, mover.outputs.pulses_us, pulses) - 1500.0).argmin())
        if not mover.live[joint]:
            name = servos.joint_names[joint]
            text = (
                f"Output {servos.servos[joint].channel} ({name}) is to run, at {pulses[joint]:.0f} us. Pull that servo's "
                "plug out, or keep hands away: it jumps to its rest pose. Switch it on?"
            )
            if not context.agree(f"on.{name}", text, about=(name,)):
                raise LeaveError("no output was switched on")
            mover.outputs.switch_on(joint, float(pulses[joint]))
        context.note("output", [joint, float(mover.outputs.pulses_us[joint])])
    joint, commanded = context.known("output")
    return int(joint), float(commanded)


def _flash(context: StepContext, hz: float, number: int) -> None:
    """The firmware has the frequency compiled in: written, flashed by the person, measured again."""
    outputs, overlay = context.port().outputs, context.folder / "servos.trim.yaml"
    write(
        overlay,
        f"# Oscillator of this PCA9685, measured {context.when} by picker calibrate.\n{merged_board(context.overlay, hz)}",
    )
    context.tell(
        f"Written to {overlay}. The firmware has to know it:\n  {context.command('firmware header', str(overlay))}\n"
        "  then flash the sketch (docs/firmware.md). The port is free for that.",
        "hint",
    )
    outputs.let_go()
    answer = context.choose(
        f"{number}.flashed",
        "Is the new firmware on the board?",
        (("yes", "or Enter: measure again"), ("later", "end here; what was answered is kept")),
        about=(hz,),
        keep=False,
        enter="yes",
    )
    if answer == "later":
        raise LeaveError("flash the firmware, then run the same command: it goes on with measuring again")
    context.note(f"{number}.flashed", hz, answer)
    outputs.take()
    context.forget("output")
    context.switched.clear()  # what is on now has to be seen


def merged_board(overlay: str, hz: float) -> str:
    """An overlay's text with the oscillator's frequency in its board."""
    content = read_yaml(overlay, "servo map", ConfigurationError) if overlay else {}
    content.setdefault("board", {})["oscillator_hz"] = round(hz)
    return yaml.safe_dump(content, sort_keys=False)
