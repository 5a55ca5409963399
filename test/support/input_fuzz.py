"""Fuzzer of file inputs: valid files of every kind, mutated with a seed, each handed to what reads it in a process of its own.

    PYTHONPATH=.:test/support python -m input_fuzz --seconds 1800 [--kind urdf ...] [--seed 1] [--out out/fuzz]

Allowed is what the documentation promises: the work is done, or one PickerError.  A traceback, another exit code, more than
500 MB, more than 10 s of the processor, more than a page of text: the file is kept in ``--out``.
"""

import argparse
import io
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
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from arm_fixtures import shipped_arm
from recordings import story, written_by_us, written_elsewhere
from rosbags.rosbag2 import StoragePlugin

from benchmarks.machine import resident_mb
from picker_dynamics.commands import cli
from picker_dynamics.dynamics import cross_check, lagrangian, rigid_body  # noqa: F401 (loaded once, for all children)
from picker_dynamics.errors import PickerError
from picker_dynamics.estimation.calibration.session import Session
from picker_dynamics.estimation.identification.samples import read_samples
from picker_dynamics.files.formats import read_yaml
from picker_dynamics.recording import reader, writer
from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, scene, servo_arm, servo_map
from picker_dynamics.robot.arm_design import read_design, written
from picker_dynamics.robot.servo_file import servo_type

PLAIN_MB = 100.0
"""Of a process that only reads files: what tests beside have left in this one is not the reader's."""

MEMORY_MB, CPU_S, WALL_S, SAID_BYTES = 500, 10, 120, 20_000
TRACEBACK_CODE, MOST_CODE = 99, 20
JOINTS = ("base", "shoulder", "elbow", "wrist", "scissor")


class Kind(NamedTuple):
    """One kind of file: valid ones, and what reads it."""

    seeds: Callable[[Path], list[bytes]]
    suffix: str
    work: Callable[[Path], object]


# -- what reads them, and valid ones ---------------------------------------------------------------------------------------


def check(path: Path) -> None:
    if code := cli.main(["check", str(path), "--samples", "20"]):
        raise SystemExit(code)


def in_folder(name: str, work: Callable[[Path], object], others: Callable[[], list[Path]] = list) -> Callable[[Path], None]:
    """Hand the folder in which the file has that name, beside ``others``, to what reads it."""

    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for one in others():
                shutil.copy(one, folder)
            shutil.copy(path, Path(folder) / name)
            work(Path(folder))

    return read


TIED = {"urdf_sha256": "a", "servos_sha256": "b", "kind": "simulated"}


def read_session(folder: Path) -> None:
    session = Session.open(folder, TIED, {})
    session.value("droop", "x")
    session.forget("droop")


def texts(*names: str) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [resource(name).read_bytes() for name in names]


def servos_seed(folder: Path) -> list[bytes]:
    """The shipped map, the same with every figure written out, and with servos on a bus."""
    shipped = read_yaml(resource("config/servos.yaml"), "servo map")
    own = {key: value for key, value in shipped["defaults"].items() if key != "type"}
    full = shipped | {"defaults": servo_type(shipped["defaults"]["type"]).figures_at(6.0) | own}
    defaults = full["defaults"] | {"p_gain": 16, "model_number": 777, "ticks": [0, 4095], "homing_offset": 3}
    joints = {joint: entry | {"id": entry["channel"]} for joint, entry in full["joints"].items()}
    return [
        *texts("config/servos.yaml")(folder),
        *(yaml.safe_dump(one).encode() for one in (full, full | {"defaults": defaults, "joints": joints})),
    ]


ANSWERS = b"""{supply_v: 6.0, base_mm: 60, servo: MG996R, material: printed, gripper: {servo: MG90S, open_deg: 50}, joints: [
  {name: turn, axis: z, along: z, length_mm: 40, section_mm: 20, servo: MG995, channel: 3},
  {name: lift, axis: y, length_mm: 110, mass_g: 140, limits_deg: [-80, 80]},
  {name: out, axis: x, length_mm: 50, section_mm: 10, material: pla}]}
"""


LEROBOT = b"""{"shoulder_pan": {"id": 1, "drive_mode": 0, "homing_offset": 12, "range_min": 740, "range_max": 3300},
  "gripper": {"id": 6, "drive_mode": 1, "homing_offset": -1, "range_min": 2030, "range_max": 3500}}"""


def csv_seed(_folder: Path) -> list[bytes]:
    t, names, columns = np.arange(300) * 0.01, ["time_s"], []
    for joint, unit in zip(shipped_arm("rrp").description.movable, ("rad", "rad", "m")):
        rate, effort = ("rad_s", "nm") if unit == "rad" else ("m_s", "n")
        names += [f"position_{joint.name}_{unit}", f"velocity_{joint.name}_{rate}", f"effort_{joint.name}_{effort}"]
        columns += [0.5 * (joint.lower + joint.upper) + 0.1 * np.sin(t), 0.1 * np.cos(t), np.sin(2 * t)]
    rows = [",".join(names), *(",".join(f"{value:.5g}" for value in row) for row in zip(t, *columns))]
    return ["\n".join(rows).encode()]


def session_seed(folder: Path) -> list[bytes]:
    session = Session.open(folder / "session", TIED, {"seed": 1})
    for k in range(5):
        session.record("droop", f"{k}", 0.1 * k, f"{k}")
    session.finish("trim")
    return [session.path.read_bytes()]


def mcap_seed(folder: Path) -> list[bytes]:
    made = [written_by_us(folder / "whole.mcap", story()[:60]).read_bytes()]
    before, writer.CHUNK_BYTES = writer.CHUNK_BYTES, 1
    try:
        return [*made, written_by_us(folder / "chunks.mcap", story()[:20]).read_bytes()]
    finally:
        writer.CHUNK_BYTES = before


BAG = Path()


def bag_seed(folder: Path) -> list[bytes]:
    global BAG  # where the rest of the bag is
    BAG = written_elsewhere(folder / "bag", story()[:60], StoragePlugin.MCAP)
    return [(BAG / "metadata.yaml").read_bytes()]


URDFS = [f"urdf/{name}.urdf" for name in ("picker", "rrp", "two_link")]
KINDS = {
    "urdf": Kind(texts(*URDFS), ".urdf", check),
    "servos": Kind(servos_seed, ".yaml", lambda path: servo_map.load(path, JOINTS)),
    "answers": Kind(lambda _folder: [ANSWERS], ".yaml", lambda path: written("own", read_design(read_yaml(path, "answers")))),
    "overlay": Kind(texts("config/servos.sim.yaml"), ".yaml", lambda path: servo_arm.load("", "", str(path))),
    "lerobot": Kind(lambda _: [LEROBOT], ".json", lambda path: servo_arm.load(resource("urdf/so101.urdf"), "", path)),
    "arms": Kind(texts("config/arms.yaml"), ".yaml", lambda path: [arms.load(name, path) for name in arms.names(path)]),
    "scene": Kind(texts("config/scene.yaml"), ".yaml", lambda path: scene.read_scene(path, "base_link")),
    "session": Kind(session_seed, ".json", in_folder("session.json", read_session)),
    "csv": Kind(csv_seed, ".csv", lambda path: read_samples(path, shipped_arm("rrp").description)),
    "mcap": Kind(mcap_seed, ".mcap", reader.read),
    "bag": Kind(bag_seed, ".yaml", in_folder("metadata.yaml", reader.read, lambda: list(BAG.iterdir()))),
}

# -- what is done to them --------------------------------------------------------------------------------------------------

BOMB = b"\n".join(
    [b"a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [b"a%d: &a%d [%s]" % (k, k, b",".join([b"*a%d" % (k - 1)] * 9)) for k in range(1, 9)]
)
ENTITIES = b"".join(b"<!ENTITY e%d '%s'>" % (k, b"&e%d;" % (k - 1) * 10 if k else b"x" * 10) for k in range(9))
ODD = [
    *b"1e300 -1e300 nan .nan -.inf 1e-320 0 -1 1e999 2026-13-45 1:2:3:4 0b !!python/object:os.system null [] {} '' &a;".split(),
    *(b"9" * 5000, b"!!int ''", b"!!binary ===", b"&a [*a]", b"<<: [*a, *a]", b"? [a]", b"0x" + b"f" * 300, b"x" * 70_000),
    *(b"\x00", b"\x1b[2J", b"\xff\xfe", "\u202e".encode(), b"<![CDATA[", b"\n" + BOMB, b"<!DOCTYPE robot [" + ENTITIES + b"]>"),
]
BRACKETS = (b"[", b"]"), (b"{a: ", b"}"), (b'{"a":', b"}"), (b"<a>", b"</a>")
TOKEN = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?|[A-Za-z_]\w*")


def mutated(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """One to a few pieces (bytes, or a word or number) replaced: by nothing, a byte, what is odd, another file's, or brackets."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.randrange(400))
        if (found := [match.span() for match in TOKEN.finditer(data[:200_000])]) and rng.random() < 0.5:
            at, end = rng.choice(found)
        other, (opened, closed) = rng.choice(others), rng.choice(BRACKETS)
        begin, depth = rng.randrange(len(other) + 1), rng.choice((40, 60, 1000, 100_000))
        piece, deep = other[begin : begin + rng.randrange(2000)], opened * depth + b"1" + closed * depth
        new = rng.choice((b"", bytes([rng.randrange(256)]), rng.choice(ODD), rng.choice(ODD), piece, deep))
        data = data[:at] + new + data[end:]
    return data


# -- trying them -----------------------------------------------------------------------------------------------------------


def tried(work: Callable[[Path], object], path: Path) -> tuple[str, str, int]:
    """Hand a file to what reads it, in a child: why it is a failure (empty: it is none), what was said, and the exit code."""
    told = tempfile.TemporaryFile()
    sys.stdout.flush()
    more_mb = max(resident_mb(os.getpid()) - PLAIN_MB, 0.0)
    child = os.fork()
    if child == 0:
        _child(work, path, told.fileno())
    _, status, used = os.wait4(child, 0)
    size = told.seek(0, 2)
    told.seek(0)
    said = told.read(SAID_BYTES).decode("utf-8", "replace")
    told.close()
    memory_mb, cpu_s, code = used.ru_maxrss / 1024 - more_mb, used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status)
    failures = {
        f"took {cpu_s:.1f} s": cpu_s > CPU_S,
        f"took {memory_mb:.0f} MB": memory_mb > MEMORY_MB,
        "traceback": code == TRACEBACK_CODE or "Traceback (most" in said,
        f"exit code {code}": not 0 <= code <= MOST_CODE,
        f"said {size} bytes": size > SAID_BYTES,
    }
    return next((what for what, failed in failures.items() if failed), ""), said, code


def _child(work: Callable[[Path], object], path: Path, told: int) -> None:
    """Do the work under limits; the clock ends what waits, too."""
    code = TRACEBACK_CODE
    try:
        os.dup2(told, 1)
        os.dup2(told, 2)
        sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8", write_through=True)
        signal.alarm(WALL_S)
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


def run(seconds: float, kinds: list[str], seed: int, out: Path) -> list[str]:
    """Fuzz for that long; what failed, one line each, of which one of each sort is kept."""
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        seeds = {kind: KINDS[kind].seeds(Path(name)) for kind in kinds}
        every = [data for valid in seeds.values() for data in valid]
        waiting = [(kind, data) for kind, valid in seeds.items() for data in valid]
        until, case = time.monotonic() + seconds, 0
        while waiting or time.monotonic() < until:
            rng, valid = random.Random(f"{seed} {case}"), bool(waiting)
            kind = kinds[case % len(kinds)]
            kind, data = waiting.pop() if valid else (kind, mutated(rng.choice(seeds[kind]), every, rng))
            path = Path(name) / f"case{KINDS[kind].suffix}"
            path.write_bytes(data)
            failure, said, code = tried(KINDS[kind].work, path)
            last = said.strip().splitlines()[-3:] if failure == "traceback" else []
            failure = failure or (f"valid, but: {said}" if valid and code else "")
            sort = f"{kind} {failure.split()[:1]} {last}"
            if failure and sort not in failed:
                failed[sort] = f"{kind}, seed {seed}, case {case}: {failure}: {' | '.join(last)[:300]}"
                print(failed[sort])
                out.mkdir(parents=True, exist_ok=True)
                (out / f"{kind}_{seed}_{case}{KINDS[kind].suffix}").write_bytes(data)
            case += 1
    print(f"{case} cases, {len(failed)} sorts of failures")
    return list(failed.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kind", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    return 1 if run(options.seconds, options.kind, options.seed, options.out) else 0


if __name__ == "__main__":
    sys.exit(main())
