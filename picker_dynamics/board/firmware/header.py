"""``arm_config.h``: what the firmware has compiled in for one arm, written from its servo map and URDF.

Limits and their checksum are those that the host computes (``board_limits``), so that a board flashed for another arm is
noticed; the gravity model is there where the arm has the picker's shape, and otherwise the header says why it is not:

    t_i = g P_i cos a_i,    shoulder = t1 + t2 + t3,    elbow = t2 + t3,    wrist = t3

with the closed form's P_i (docs/derivations.md, "Strawberry picker").  A map is pieces of straight lines, and each piece has
the gain 1/(K slope) that turns a change of torque into a change of the pulse; see core/gravity.h of the firmware.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.errors import ConfigurationError, DescriptionError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.picker_shape import read_shape
from picker_dynamics.robot.servo_map import Servo, ServoMap

from ..protocol import PULSE_UNITS_PER_US, limits_checksum, pulse_units
from .config import ADC_COUNTS, ADC_REFERENCE_MV, FirmwareConfig, board_limits

PCA9685_COUNTS = 4096
"""Steps of a PCA9685 in one servo frame."""

TIMER_RESOLUTION_NS = 500
"""A count of Timer1 at 16 MHz / 8 [ns]."""

TIMER_FIRST_PIN, TIMER_CHANNELS = 4, 8
"""Channel k of the timer back end is Arduino pin 4 + k: 2 and 3 stay free for interrupts, 12 and 13 for a programmer."""

FRAME_US_MAX = 32767
"""Longest servo frame [us] that the firmware's arithmetic holds."""

ROLES = ("SHOULDER", "ELBOW", "WRIST")

NONE = 255
"""In the header: no such pin or input."""

CHANGE_MAX = 32766
"""Largest change of a pulse [1/8 us]: 16 bits, rounded."""

Pieces = list[tuple[int, float, float, float]]
"""Straight pieces of a joint's map: where one starts [1/8 us], the joint's angle there [rad], its slope [rad per 1/8 us], and
the gain 1/(K slope) [1/8 us per N·m]."""

SUPPLY_SHIFT = 8
"""The divider is written in mV per ADC count times 2**SUPPLY_SHIFT."""


def header_text(servo_map: ServoMap, description: ArmDescription, sources: Sequence[str] = ()) -> str:
    """The text of ``arm_config.h``.

    Args:
        servo_map: of the description's joints, in their order.
        sources: names of the files it comes from, for its first lines.

    Raises:
        ConfigurationError: the arm or its servo frame does not fit a board.
    """
    frame_us = round(servo_map.frame_s * 1e6)
    if frame_us > FRAME_US_MAX:
        text = f"board: frame_us is {frame_us}, the firmware's longest is {FRAME_US_MAX}"
        raise ConfigurationError(text, "board", frame_us, FRAME_US_MAX)
    servos, names, supply = servo_map.servos, list(map(_plain, servo_map.joint_names)), servo_map.supply
    limits = board_limits(servo_map)
    config = FirmwareConfig(limits, frame_us=frame_us)
    pins = [TIMER_FIRST_PIN + servo.channel if servo.channel < TIMER_CHANNELS else NONE for servo in servos]
    inputs = [NONE if servo.feedback_adc is None else servo.feedback_adc for servo in servos]
    divider = round(ADC_REFERENCE_MV * supply.divider / ADC_COUNTS * (1 << SUPPLY_SHIFT)) if supply else 0
    origin = f", from {', '.join(map(_plain, sources))}" if sources else ""
    no_pins = f"#error channels from {TIMER_CHANNELS} on have no pin of the board\n" if NONE in pins else ""
    rows = (f"{one.lowest}, {one.highest}, {one.speed}, {one.brake}}},  // {name}" for one, name in zip(limits, names))
    return f"""\
// What the firmware has compiled in for the arm '{_plain(description.name)}'.
// Written by `picker firmware header`{origin}.  Change those and write it anew, not this.
#pragma once

#define PICKER_JOINTS {servo_map.n}

#include "src/core/config.h"
#include "src/core/gravity.h"

namespace arm_config {{

// Joint by joint: {", ".join(names)}.  {NONE} is none.
{_array("CHANNELS", [servo.channel for servo in servos])};  // outputs of the PCA9685
{_array("TIMER_PINS", pins)};  // Arduino pins of the timer back end
{_array("FEEDBACK_ADC", inputs)};  // potentiometers

constexpr uint8_t SUPPLY_ADC = {supply.adc if supply else NONE};  // servo supply
constexpr uint16_t SUPPLY_DIVIDER = {divider};  // [mV per ADC count] x 2^SUPPLY_SHIFT
constexpr uint8_t SUPPLY_SHIFT = {SUPPLY_SHIFT};

constexpr uint8_t PCA9685_ADDRESS = 0x40;
constexpr uint32_t OSCILLATOR_HZ = {round(servo_map.oscillator_hz)};  // of this PCA9685; 25000000 where not measured

#ifdef PICKER_BACKEND_TIMER
{no_pins}constexpr uint16_t RESOLUTION_NS = {TIMER_RESOLUTION_NS};
#else
constexpr uint16_t RESOLUTION_NS = {round(config.frame_us * 1e3 / PCA9685_COUNTS)};
#endif

// Shortest and longest pulse [1/8 us], speed [1/8 us per frame], brake [1/8 us per frame per frame].
constexpr picker::JointLimits LIMITS[PICKER_JOINTS] = {{
{_rows(rows)}
}};

{_gravity(servo_map, description)}

constexpr picker::Config CONFIG = {{
    PICKER_JOINTS,
    LIMITS,
    0x{limits_checksum(limits):04x},  // limits_crc
    RESOLUTION_NS,
    {config.frame_us},  // frame_us
    {config.host_timeout_ms},  // host_timeout_ms
    {config.max_lead_ms},  // max_lead_ms
    {round(supply.minimum_v * 1e3) if supply else 0},  // supply_min_mv
    GRAVITY,
}};

}}  // namespace arm_config
"""


def _gravity(servo_map: ServoMap, description: ArmDescription) -> str:
    """Pulse maps of the three joints that bear weight, and the model; why there is none where the arm has another shape."""
    try:
        pitch, moments, maps = gravity_model(servo_map, description)
    except DescriptionError as error:
        return f"""\
// No gravity model, braking does without: {_plain(error)}.
constexpr const picker::GravityModel* GRAVITY = nullptr;"""
    pieces = "".join(
        f"constexpr picker::MapPiece {role}[{len(one)}] = {{\n"
        + _rows(f"{pulse}, {', '.join(map(_float, numbers))}}}," for pulse, *numbers in one)
        + "\n};\n"
        for role, one in zip(ROLES, maps)
    )
    sizes = ", ".join(f"{{{len(one)}, {role}}}" for role, one in zip(ROLES, maps))
    return f"""\
// Pulse maps of the joints that bear weight: pulse [1/8 us], angle [rad], rad per 1/8 us, 1/8 us per N m.
{pieces}
// Which joints are shoulder, elbow and wrist; g P1, g P2, g P3 [N m]; their maps.
constexpr picker::GravityModel GRAVITY_MODEL = {{
    {servo_map.n},
    {{{", ".join(map(str, pitch))}}},
    {{{", ".join(map(_float, moments))}}},
    {{{sizes}}}}};
constexpr const picker::GravityModel* GRAVITY = &GRAVITY_MODEL;"""


def gravity_model(servo_map: ServoMap, description: ArmDescription) -> tuple[list[int], list[float], list[Pieces]]:
    """The gravity of an arm of the picker's shape: shoulder, elbow and wrist among the joints, g P1 to g P3 [N·m], their maps.

    Args:
        servo_map: of the description's joints, in their order.

    Raises:
        DescriptionError: the arm has another shape; says in what.
        ConfigurationError: a servo so soft that the change of its pulse does not fit the firmware's numbers.
    """
    k = lagrangian.from_description(description).constants
    moments = [k.g * k.P1, k.g * k.P2, k.g * k.P3]
    pitch = list(read_shape(description).columns[1:])
    maps = [_pieces(servo_map.servos[joint]) for joint in pitch]
    for joint, pieces in zip(pitch, maps):
        largest = 2.0 * sum(moments) * max(abs(gain) for *_, gain in pieces)
        if largest > CHANGE_MAX:
            name, stiffness = servo_map.joint_names[joint], servo_map.servos[joint].stiffness
            raise ConfigurationError(
                f"{name}: stiffness {stiffness} N·m/rad is too low for the firmware's gravity",
                name,
                stiffness,
                stiffness * largest / CHANGE_MAX,
            )
    return pitch, moments, maps


def _pieces(servo: Servo) -> Pieces:
    """The map's pieces; points between two units are moved to the nearest, along the line."""
    pulses = [pulse_units(pulse_us) for pulse_us in servo.pulses_us]
    angles = servo.to_angle(np.array(pulses) / PULSE_UNITS_PER_US)
    slopes = np.diff(angles) / np.diff(pulses)
    return list(zip(pulses, angles.tolist(), slopes.tolist(), (1.0 / (servo.stiffness * slopes)).tolist()))


def _rows(rows: Iterable[str]) -> str:
    """Rows of a table, each from its first number on."""
    return "\n".join(f"    {{{row}" for row in rows)


def _array(name: str, values: Iterable[int]) -> str:
    return f"constexpr uint8_t {name}[PICKER_JOINTS] = {{{', '.join(map(str, values))}}}"


def _plain(text: object) -> str:
    """A name from a file, as a comment can hold it: on one line, which does not go on with the next."""
    return "".join(letter if letter.isprintable() and letter != "\\" else "_" for letter in str(text))


def _float(value: float) -> str:
    """A float literal with every digit that 32 bits hold."""
    text = f"{np.float32(value):.9g}"
    return text + ("f" if any(mark in text for mark in ".e") else ".0f")
