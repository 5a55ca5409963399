"""Fuzzer of file inputs: valid files of every kind, mutated with a seed, each handed to what reads it in a process of its own.

    PYTHONPATH=.:test/support python -m input_fuzz --seconds 1800 [--kind urdf ...] [--seed 1] [--out out/fuzz]

Allowed is what the documentation promises: the work is done, or one PickerError.  A traceback, another exit code, more than
500 MB, more than 10 s of the processor, more than a page of text: the file is kept in ``--out``, with what was said beside it.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import random
import re
import resource as system
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from arm_fixtures import shipped_arm
from recordings import STORE, story, written_by_us, written_elsewhere
from rosbags.rosbag2 import StoragePlugin

from benchmarks.machine import resident_mb
from picker_dynamics.commands import cli
from picker_dynamics.commands.demo.scene import load_scene
from picker_dynamics.dynamics import cross_check, lagrangian, rigid_body  # noqa: F401 (loaded once, for all children)
from picker_dynamics.errors import PickerError
from picker_dynamics.estimation.calibration import compare
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.identification import fourier, sample_files, servo_log
from picker_dynamics.estimation.identification.columns import Columns
from picker_dynamics.execution.goal import parse
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.recording import reader, tracking
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, servo_arm
from picker_dynamics.robot.arm_design import read_design
from picker_dynamics.robot.arm_writer import written
from picker_dynamics.robot.servo_file import with_type

PLAIN_MB = 100.0
"""Of a process that only reads files: what tests beside have left in this one is not the reader's."""

MEMORY_MB, CPU_S, WALL_S, SAID_BYTES = 500, 10, 120, 20_000
TRACEBACK_CODE, MOST_CODE = 99, 20


class Kind(NamedTuple):
    """One kind of file: valid ones, and what reads it."""

    seeds: Callable[[Path], list[bytes]]
    suffix: str
    work: Callable[[Path], object]


# -- what reads them -------------------------------------------------------------------------------------------------------


def command(*words: object) -> None:
    """``picker``, in this process."""
    code = cli.main([str(word) for word in words])
    if code:
        raise SystemExit(code)


def read_session(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "session.json")
        tied = {"urdf_sha256": "a", "servos_sha256": "b", "kind": "simulated"}
        session = Session.open(folder, tied, {})
        session.value("droop", "x")
        session.take_back("droop")
        session.forget("droop")


def read_report(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "report.json")
        shutil.copy(resource("urdf/picker.urdf"), Path(folder) / "picker.urdf")
        shutil.copy(resource("config/servos.sim.yaml"), Path(folder) / "servos.yaml")
        compare.stated_tip_mm(Path(folder) / "report.json")


def read_recording(path: Path) -> None:
    found = reader.read(path)
    tracking.tracking_error(found.reference, found.state)


def read_folder(path: Path) -> None:
    """The metadata of a bag."""
    with tempfile.TemporaryDirectory() as folder:
        for one in BAG.iterdir():
            shutil.copy(one, folder)
        shutil.copy(path, Path(folder) / "metadata.yaml")
        read_recording(Path(folder))


def read_goal(path: Path) -> None:
    from trajectory_msgs.msg import JointTrajectory

    from picker_dynamics.nodes.goal_messages import goal_from
    from picker_dynamics.nodes.runtime import stream_message

    message = stream_message(JointTrajectory, "goal", path.read_bytes(), 10_000_000)
    parse(goal_from(message, True, None), ("base", "shoulder", "elbow", "wrist", "scissor"))


def read_answers(path: Path) -> None:
    """What ``picker new --from`` makes of it, without its folder."""
    written("own", read_design(read_yaml(path, "answers")))


def read_overlay(path: Path) -> None:
    _, servos = servo_arm.load("", "", str(path))
    command("firmware", "header", "--servo-overlay", path, "--output", os.devnull)


def read_scene(path: Path) -> None:
    from picker_dynamics.nodes.marker_shapes.scene import scene_shapes

    scene_shapes(path, "base_link")
    load_scene(path, *servo_arm.load("", "", ""))


def read_csv(path: Path) -> None:
    sample_files.read(path, shipped_arm("rrp").description)
    command("identify", "predict", path, "--arm", "rrp", "--fit", "none")


def read_servo_log(path: Path) -> None:
    servo_log.require_both_sides([servo_log.read_csv(path, mass=0.4, length=0.2)])


# -- valid ones ------------------------------------------------------------------------------------------------------------


def texts(*names: str) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [resource(name).read_bytes() for name in names]


def servos_seed(folder: Path) -> list[bytes]:
    """The shipped map, and the same with every figure written out."""
    shipped = read_yaml(resource("config/servos.yaml"), "servo map")
    full = shipped | {"defaults": with_type(shipped["defaults"], 6.0, "")}
    return [*texts("config/servos.yaml")(folder), yaml.safe_dump(full).encode()]


def answers_seed(_folder: Path) -> list[bytes]:
    """Answers to ``picker new`` with every key."""
    joints = [
        b"{name: turn, type: revolute, axis: z, along: z, length_mm: 40, section_mm: 20, servo: MG995, channel: 3}",
        b"{name: lift, axis: y, length_mm: 110, mass_g: 140, limits_deg: [-80, 80]}",
        b"{name: out, type: prismatic, length_mm: 50, section_mm: [20, 10], material: pla, limits_mm: [0, 20], pinion_mm: 10}",
    ]
    top = b"supply_v: 6.0\nbase_mm: 60\nservo: MG996R\nmaterial: printed\n"
    return [
        top + b"gripper: {servo: MG90S, length_mm: 60, open_deg: 50}\njoints:\n" + b"".join(b"  - %s\n" % one for one in joints)
    ]


def csv_seed(_folder: Path) -> list[bytes]:
    t = np.arange(600) * 0.01
    arm = shipped_arm("rrp").description
    names, columns = ["time_s"], [t]
    for joint, unit in zip(arm.movable, arm.position_units):
        rate, effort = ("rad_s", "nm") if unit == "rad" else ("m_s", "n")
        names += [f"position_{joint.name}_{unit}", f"velocity_{joint.name}_{rate}", f"effort_{joint.name}_{effort}"]
        columns += [0.5 * (joint.lower + joint.upper) + 0.1 * np.sin(t), 0.1 * np.cos(t), np.sin(2 * t)]
    lines = [",".join(names), *(",".join(f"{value:.5g}" for value in row) for row in zip(*columns))]
    return ["\n".join(lines).encode(), "\r\n".join(lines[:20]).encode()]


def servo_seed(_folder: Path) -> list[bytes]:
    t = np.arange(400) * 0.01
    q = 0.5 * np.sin(2.0 * t)
    rows = zip(t, 1.1 * q, q, 7.0 + 0.1 * q, q * 0 + 1)
    lines = ["time_s,goal_rad,position_rad,voltage_v,enabled", *(",".join(f"{value:.5g}" for value in row) for row in rows)]
    return ["\n".join(lines).encode()]


def motion_seed(_folder: Path) -> list[bytes]:
    point = '{"time_from_start": %g, "positions": [0.1, 0.1, 0.1], "velocities": [0, 0, 0], "accelerations": [0, 0, 0]}'
    points = ", ".join(point % (0.1 * k) for k in range(20))
    head = '{"arm": "rrp", "joint_names": ["theta1", "theta2", "d3"], "units": ["rad", "rad", "m"], "condition": 3.5, "points": ['
    made = (head + points + "]}").encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.json"
        path.write_bytes(made)
        fourier.read(path)
    return [made]


def session_seed(folder: Path) -> list[bytes]:
    session = Session.open(folder / "session", {"urdf_sha256": "a", "servos_sha256": "b", "kind": "simulated"}, {"seed": 1})
    for k in range(5):
        session.record("droop", f"{k}", 0.1 * k, f"{k}")
    session.finish("trim")
    return [session.path.read_bytes()]


def report_seed(_folder: Path) -> list[bytes]:
    return [b'{"tip_uncertainty_95_mm": 1.25, "simulated": {"seed": 1, "plant_error": 0.1}, "joints": {"base": [1, 2, 3]}}']


def mcap_seed(folder: Path) -> list[bytes]:
    from picker_dynamics.recording import writer

    told = story()[:60]
    made = [written_by_us(folder / "whole.mcap", told).read_bytes()]
    before, writer.CHUNK_BYTES = writer.CHUNK_BYTES, 1
    try:
        made.append(written_by_us(folder / "chunks.mcap", told[:20]).read_bytes())
    finally:
        writer.CHUNK_BYTES = before
    made.append(plain_mcap(folder / "plain.mcap", told))
    return made


def plain_mcap(path: Path, told) -> bytes:
    """Without chunks and sums: what is changed arrives in the messages."""
    from mcap.writer import CompressionType, Writer

    from picker_dynamics.recording import definitions

    with open(path, "wb") as file:
        made = Writer(file, use_chunking=False, compression=CompressionType.NONE, enable_crcs=False)
        made.start("ros2")
        channels = {}
        for topic, kind, t, one in told:
            if topic not in channels:
                schema = made.register_schema(kind, "ros2msg", definitions.definition(kind).encode())
                channels[topic] = made.register_channel(topic, "cdr", schema)
            made.add_message(channels[topic], round(t * 1e9), bytes(STORE.serialize_cdr(one, kind)), round(t * 1e9))
        made.finish()
    return path.read_bytes()


BAG = SAMPLES = Path()


def bag_seed(folder: Path) -> list[bytes]:
    global BAG  # where the rest of the bag is
    BAG = written_elsewhere(folder / "bag", story()[:60], StoragePlugin.MCAP)
    return [(BAG / "metadata.yaml").read_bytes()]


def sqlite_seed(folder: Path) -> list[bytes]:
    made = written_elsewhere(folder / "sqlite", story()[:60], StoragePlugin.SQLITE3)
    return [next(made.glob("*.db3")).read_bytes()]


def goal_seed(_folder: Path) -> list[bytes]:
    message = [one for topic, _, _, one in story() if topic.endswith("reference")][0]
    point = message.points[0]
    still = np.zeros(5)
    message.points = [
        dataclasses.replace(
            point, velocities=still, accelerations=still, time_from_start=dataclasses.replace(point.time_from_start, sec=1 + k)
        )
        for k in range(5)
    ]
    return [bytes(STORE.serialize_cdr(message, "trajectory_msgs/msg/JointTrajectory"))]


def fit_seed(folder: Path) -> list[bytes]:
    """Of samples that are kept for whoever predicts."""
    global SAMPLES
    SAMPLES = folder / "samples.csv"
    SAMPLES.write_bytes(csv_seed(folder)[0])
    columns = Columns(shipped_arm("rrp").description)
    made = {"drives": list(columns.drives), "parameters": dict(zip(columns.names, columns.believed().tolist()))}
    return [json.dumps(made).encode()]


URDFS = [f"urdf/{name}.urdf" for name in ("picker", "rrp", "pendulum", "two_link")]
KINDS = {
    "urdf": Kind(texts(*URDFS), ".urdf", lambda path: command("check", path, "--samples", "20")),
    "servos": Kind(servos_seed, ".yaml", lambda p: command("firmware", "header", "--servos", p, "--output", "-")),
    "answers": Kind(answers_seed, ".yaml", read_answers),
    "overlay": Kind(texts("config/servos.sim.yaml"), ".yaml", read_overlay),
    "arms": Kind(texts("config/arms.yaml"), ".yaml", lambda path: [arms.load(name, path) for name in arms.names(path)]),
    "scene": Kind(texts("config/demo.yaml"), ".yaml", read_scene),
    "motion": Kind(motion_seed, ".json", fourier.read),
    "fit": Kind(fit_seed, ".json", lambda path: command("identify", "predict", SAMPLES, "--arm", "rrp", "--fit", path)),
    "session": Kind(session_seed, ".json", read_session),
    "report": Kind(report_seed, ".json", read_report),
    "csv": Kind(csv_seed, ".csv", read_csv),
    "servo_log": Kind(servo_seed, ".csv", read_servo_log),
    "mcap": Kind(mcap_seed, ".mcap", read_recording),
    "bag": Kind(bag_seed, ".yaml", read_folder),
    "sqlite": Kind(sqlite_seed, ".db3", read_recording),
    "goal": Kind(goal_seed, ".cdr", read_goal),
}

# -- what is done to them --------------------------------------------------------------------------------------------------

NUMBERS = [
    b"1e300",
    b"-1e300",
    b"nan",
    b".nan",
    b"inf",
    b"-.inf",
    b"1e-320",
    b"0",
    b"-0",
    b"-1",
    b"9" * 400,
    b"9" * 5000,
    b"1e999",
]
ODD = [
    *b"2026-13-45 2026-02-30T99:99:99Z 0001-01-01 1:2:3:4 0b !!python/object:os.system null [] {} '' NaN -Infinity &a;".split(),
    *(b"!!int ''", b"!!timestamp x", b"!!binary ===", b"&a [*a]", b"<<: [*a, *a]", b"? [a]", b"--- \n", b"0x" + b"f" * 300),
    *(b"\x00", b"\x1b[2J", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode()),
    *(b"<!DOCTYPE r [<!ENTITY a 'aaaa'>]>", b"<![CDATA["),
]
BOMB = b"\n".join(
    [b"a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [b"a%d: &a%d [%s]" % (k, k, b",".join([b"*a%d" % (k - 1)] * 9)) for k in range(1, 9)]
)
ENTITIES = (
    b"<!DOCTYPE robot ["
    + b"".join(b"<!ENTITY e%d '%s'>" % (k, b"&e%d;" % (k - 1) * 10 if k else b"x" * 10) for k in range(9))
    + b"]>"
)
TOKEN = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?|[A-Za-z_]\w*")


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """One to a few changes."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        made = bytearray(rng.choice(CHANGES)(bytes(made), others, rng))
        if len(made) > 40_000_000:
            break
    return bytes(made)


def _span(data: bytes, rng: random.Random, most: int = 400) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.randrange(most))


def _bytes(data, _others, rng):
    made = bytearray(data)
    for _ in range(rng.choice((1, 4, 32))):
        if made:
            made[rng.randrange(len(made))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return made


def _cut(data, _others, rng):
    begin, end = _span(data, rng)
    return data[:begin] + data[end:] if rng.random() < 0.6 else data[:begin]


def _splice(data, others, rng):
    other = rng.choice(others)
    (begin, end), at = _span(other, rng, 2000), rng.randrange(len(data) + 1)
    return data[:at] + other[begin:end] + data[at:]


def _token(data, _others, rng):
    found = [match.span() for match in TOKEN.finditer(data[:200_000])]
    if not found:
        return data
    begin, end = rng.choice(found)
    source = rng.choice(found)
    new = rng.choice([rng.choice(NUMBERS), rng.choice(ODD), data[slice(*source)], b"x" * rng.choice((300, 70_000, 1_000_000))])
    return data[:begin] + new + data[end:]


def _insert(data, _others, rng):
    at = rng.choice((0, len(data), rng.randrange(len(data) + 1)))
    return data[:at] + rng.choice(ODD + [BOMB, ENTITIES, b"\n" + BOMB]) + data[at:]


def _deep(data, _others, rng):
    at, depth = rng.randrange(len(data) + 1), rng.choice((40, 60, 1000, 100_000))
    opened, closed = rng.choice(((b"[", b"]"), (b"{a: ", b"}"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"- ", b""), (b"(", b")")))
    return data[:at] + opened * depth + b"1" + closed * (depth if rng.random() < 0.7 else 0) + data[at:]


CHANGES = (_bytes, _cut, _splice, _token, _token, _token, _insert, _deep)

# -- trying them -----------------------------------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What became of one file: why it is a failure (empty: it is none), and what was said."""

    failure: str
    said: str
    memory_mb: float
    cpu_s: float
    code: int


def tried(work: Callable[[Path], object], path: Path) -> Verdict:
    """Hand a file to what reads it, in a child."""
    told = tempfile.TemporaryFile()
    sys.stdout.flush()
    more_mb = max(resident_mb(os.getpid()) - PLAIN_MB, 0.0)
    child = os.fork()
    if child == 0:
        _child(work, path, told.fileno())
    until = time.monotonic() + WALL_S
    hung = False
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > until:
            hung = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    told.seek(0, 2)
    size = told.tell()
    told.seek(0)
    said = told.read(SAID_BYTES).decode("utf-8", "replace")
    told.close()
    memory_mb, cpu_s, code = used.ru_maxrss / 1024 - more_mb, used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status)
    failure = (
        "hung"
        if hung
        else f"took {cpu_s:.1f} s"
        if cpu_s > CPU_S
        else f"took {memory_mb:.0f} MB"
        if memory_mb > MEMORY_MB
        else "traceback"
        if code == TRACEBACK_CODE or "Traceback (most" in said
        else f"exit code {code}"
        if not 0 <= code <= MOST_CODE
        else f"said {size} bytes"
        if size > SAID_BYTES
        else ""
    )
    return Verdict(failure, said, memory_mb, cpu_s, code)


def _child(work: Callable[[Path], object], path: Path, told: int) -> None:
    code = TRACEBACK_CODE
    try:
        os.dup2(told, 1)
        os.dup2(told, 2)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8", write_through=True)
        system.setrlimit(system.RLIMIT_CPU, (CPU_S + 2, CPU_S + 5))
        system.setrlimit(system.RLIMIT_AS, (6 << 30, 6 << 30))
        try:
            work(path)
            code = 0
        except PickerError as error:
            print(f"error: {error}")
            code = error.exit_code
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else TRACEBACK_CODE
        except BaseException:
            traceback.print_exc()
    finally:
        os._exit(code)


def run(seconds: float, kinds: list[str], seed: int, out: Path | None, tell: Callable[[str], None] = print) -> list[str]:
    """Fuzz for that long; what failed, one line each, of which one of each sort is kept."""
    failed: dict[tuple[str, str], str] = {}
    counts, most = Counter(), {name: [0.0, 0.0] for name in kinds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = {kind: KINDS[kind].seeds(folder) for kind in kinds}
        for kind, valid in seeds.items():
            for number, data in enumerate(valid):
                path = folder / f"valid_{kind}{KINDS[kind].suffix}"
                path.write_bytes(data)
                verdict = tried(KINDS[kind].work, path)
                if verdict.failure:
                    failed[kind, "valid"] = f"{kind}: valid file {number}: {verdict.failure}\n{verdict.said}"
        every = [data for valid in seeds.values() for data in valid]
        until, case = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            kind, rng = kinds[case % len(kinds)], random.Random(f"{seed} {case}")
            data = mutated(rng.choice(seeds[kind]), every, rng)
            path = folder / f"case{KINDS[kind].suffix}"
            path.write_bytes(data)
            verdict = tried(KINDS[kind].work, path)
            counts[kind, verdict.code] += 1
            most[kind] = [max(most[kind][0], verdict.memory_mb), max(most[kind][1], verdict.cpu_s)]
            if verdict.failure:
                last = verdict.said.strip().splitlines()[-3:] if verdict.failure == "traceback" else []
                sort = (kind, verdict.failure.split()[0] + " ".join(last)[:200])
                if sort not in failed:
                    failed[sort] = f"{kind}, seed {seed}, case {case}: {verdict.failure}: {' | '.join(last)[:300]}"
                    tell(failed[sort])
                    if out is not None:
                        out.mkdir(parents=True, exist_ok=True)
                        stem = f"{kind}_{seed}_{case}"
                        (out / f"{stem}{KINDS[kind].suffix}").write_bytes(data)
                        (out / f"{stem}.txt").write_text(f"{verdict.failure}\n{verdict.said}", encoding="utf-8")
            case += 1
    for kind in kinds:
        codes = ", ".join(f"{count} x {code}" for (one, code), count in sorted(counts.items()) if one == kind)
        tell(f"{kind}: exit codes {codes}; at most {most[kind][0]:.0f} MB, {most[kind][1]:.1f} s")
    tell(f"{case} cases, {len(failed)} sorts of failures")
    return list(failed.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kind", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--file", type=Path, help="one file, kept before, of the one --kind")
    options = parser.parse_args()
    if options.file:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyError):
            KINDS[options.kind[0]].seeds(Path(folder))
            verdict = tried(KINDS[options.kind[0]].work, options.file)
        print(verdict._replace(said=""), verdict.said, sep="\n")
        return 1 if verdict.failure else 0
    return 1 if run(options.seconds, options.kind, options.seed, options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
