"""``picker servos``: servos on a bus before they are an arm: which are there, their ids, their health.  Nothing moves."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from pathlib import Path

from picker_dynamics.bringup.options import Options
from picker_dynamics.bus import upkeep
from picker_dynamics.bus.dialects import DIALECTS
from picker_dynamics.bus.transport import FeetechBus
from picker_dynamics.errors import BoardFaultError, ConfigurationError, InputError
from picker_dynamics.robot import servo_arm

from . import options as shared

UNHEALTHY = 15
"""Exit code: a servo is missing, has a fault, or is not as the servo map says."""


def add_parser(commands) -> None:
    """Register ``servos``."""
    servos = commands.add_parser("servos", help="prepare bus servos: scan, set-id, health, unlock; nothing moves")
    verbs = servos.add_subparsers(required=True, metavar="VERB")
    for verb, text, act in (
        ("scan", "which servos answer, at any speed", scan),
        ("set-id", "give the one servo that is connected its id, and what the servo map says besides", set_id),
        ("health", "each servo of an arm against its servo map: set-up, faults, volts, degrees, lost replies", health),
        ("unlock", "let other programs write what servos keep without power", unlock),
    ):
        one = verbs.add_parser(verb, help=text)
        shared.add(one, "--port", required=True, default=None)
        one.add_argument("--bus", default="sts", choices=sorted(DIALECTS), help="protocol of the servos (default sts)")
        one.set_defaults(act=act)
        if verb in ("set-id", "health"):
            shared.add(one, "--arm", "--urdf", "--servos", "--servo-overlay")
        if verb == "set-id":
            one.add_argument("joint", help="joint of the servo in the servo map, or an id from 1 to 253")
        if verb == "health":
            one.add_argument("--report", metavar="FILE", help="write all readings as JSON")


def run(options) -> int:
    """Carry out the verb; returns the exit code."""
    return options.act(options)


def _found(options) -> tuple[FeetechBus, dict[int, dict[str, int]]]:
    dialect = DIALECTS[options.bus]
    return upkeep.find(partial(FeetechBus, options.port, sync_reads=dialect.sync_reads), dialect)


def _line(dialect, servo: int, found) -> str:
    model = dialect.models.get(found["model"], f"model {found['model']}")
    said = dialect.said(found["present_status"])
    firmware = f"{found['firmware_major']}.{found['firmware_minor']}"
    supply = f"{0.1 * found['present_voltage']:.1f} V, {found['present_temperature']} deg C"
    where = f"at {found['present_position']}, torque {'on' if found['torque'] else 'off'}"
    return f"{servo:3d}  {model}, firmware {firmware}, {supply}, {where}{f': {said}' if said else ''}"


def scan(options) -> int:
    """Print the servos that answer; returns the exit code."""
    dialect = DIALECTS[options.bus]
    bus, found = _found(options)
    with closing(bus):
        print(f"{bus.baud} bit/s")
        for servo, registers in found.items():
            print(_line(dialect, servo, registers))
    return 0


def set_id(options) -> int:
    """Set up the one servo that is there; returns the exit code.

    Raises:
        ConfigurationError: the servo map has no such joint, or no ids.
        InputError: none, or several servos are there.
        BoardFaultError, LinkError: it is not set up.
    """
    dialect, number = DIALECTS[options.bus], options.joint
    if number.isdecimal():
        values = {"id": int(number)}
        if values["id"] not in upkeep.ALL:
            raise InputError(f"the id is {number}, must be 1 to {upkeep.ALL[-1]}", "id", values["id"], upkeep.ALL[-1])
    else:
        servos = _servos(options)
        if options.joint not in servos.joint_names:
            raise ConfigurationError(
                f"there is no joint {options.joint}; there are {', '.join(servos.joint_names)}", options.joint
            )
        j = servos.joint_names.index(options.joint)
        values = upkeep.wanted(servos.servos[j], servos.bus_ids[j], dialect)
    bus, found = _found(options)
    with closing(bus):
        if len(found) > 1:
            text = f"servos {', '.join(map(str, found))} answer: connect only the servo that gets id {values['id']}"
            raise InputError(text, "servos", len(found), 1)
        (servo,) = found
        upkeep.write_kept(bus, dialect, servo, values)
    print(f"servo {servo} has {', '.join(f'{name} {value}' for name, value in values.items())} now")
    return 0


def health(options) -> int:
    """Compare the servos of an arm with its map; returns the exit code."""
    servos, dialect = _servos(options), DIALECTS[options.bus]
    bus, found = _found(options)
    report, bad = [], False
    with closing(bus):
        for servo, id in zip(servos.servos, servos.bus_ids):
            if (registers := found.get(id)) is None:
                print(f"{servo.joint}: servo {id} does not answer")
                bad = True
                continue
            told = upkeep.answers(bus, dialect, id)
            named = {"model": servo.model_number} | upkeep.wanted(servo, id, dialect)
            other = [
                f"{name} {registers[name]}, not {value}" for name, value in named.items() if value not in (None, registers[name])
            ]
            print(f"{servo.joint}: {_line(dialect, id, registers).strip()}")
            print(f"    replies: {told['lost']:.0%} lost, {told['median_ms']:.1f} ms, at worst {told['worst_ms']:.1f}")
            for text in other:
                print(f"    ! the servo map says otherwise: {text}")
            bad |= bool(other or registers["present_status"])
            report.append({"joint": servo.joint, "registers": registers, **told})
        extra = sorted(found.keys() - set(servos.bus_ids))
        if extra:
            print(f"not in the servo map: {', '.join(map(str, extra))}")
    if options.report:
        Path(options.report).write_text(json.dumps({"baud": bus.baud, "servos": report}, indent=2))
    return UNHEALTHY if bad else 0


def unlock(options) -> int:
    """Unlock what the servos keep; returns the exit code."""
    dialect = DIALECTS[options.bus]
    bus, found = _found(options)
    with closing(bus):
        for servo in found:
            bus.write(servo, dialect.registers["lock"].address, dialect.encode("lock", 0))
            registers = upkeep.look(bus, dialect, servo)
            if registers is None or registers["lock"]:
                raise BoardFaultError(f"servo {servo} stays locked", value=servo)
    print(f"unlocked until their power is cut: {', '.join(map(str, found))}")
    return 0


def _servos(options):
    """Servo map of the arm that is named.  Raises a ConfigurationError where its servos have no ids."""
    chosen = Options(arm=options.arm, urdf=options.urdf)
    _, servos = servo_arm.load(chosen.urdf_path, options.servos, options.servo_overlay)
    if not servos.bus_ids:
        raise ConfigurationError("the servo map has no ids: name an arm on a bus, for example --arm so101", "servos")
    return servos
