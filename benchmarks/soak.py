"""The whole graph on the virtual board for a long time, on a busy machine, with faults: ``python -m benchmarks.soak``.

The arm and its board run as processes, as with ``picker up``.  Random goals move the arm; in the midst of each
something happens to it: bytes on the wire are dropped or damaged, the board is reset, loses its outputs or its cable, the
servo supply dips, somebody stops the arm.  Then it is brought back, and on it goes.  Beside it other processes compute, so
that the machine is busy.  The books are kept twice: by the arm and by the board (``ledger``, ``kept_board``); at the end
they have to agree, and a list of invariants has to hold.  The document says of each what it was and what it had to be.

    python -m benchmarks.soak --minutes 10 --seed 1 --load 0.5 > soak.json

How long a stop takes is judged where somebody who only slept beside it was woken in time (within 5 ms): on a machine that
others keep busy the rest says nothing about the arm.  All of them are in the document, with how late that sleeper was.

It ends by itself; Ctrl-C ends it early, with the same document.  The exit code is 1 where an invariant does not hold.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions

from benchmarks import machine
from benchmarks.cpu_load import cpu_load
from benchmarks.domain import own_domain
from benchmarks.machine import CpuMeter
from benchmarks.soak_operator import PATIENCE_S, Machine, Operator, SoakError
from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import PickerError
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.sim.control_socket import BoardControl

RECOVERY_S, STOP_P99_MS = 3.0, 20.0
STOPS = "stop request to stop frame, p99 [ms], where the machine let nobody wait"
READY_S = 60.0
CONTROL_TIMEOUT_S = 10.0
END_S = 120.0
"""Longer than the soak may take beyond its time, for the load that runs beside it."""


def run(minutes: float = 10.0, seed: int = 0, load: float = 0.5, tell=lambda _text: None) -> dict:
    """Soak; ready for JSON.

    Args:
        minutes: how long.
        seed: of motions, faults and the damage on the wire.
        load: cores that are kept busy beside it.
        tell: called with a line about what is being done.
    """
    arm, servos = servo_arm.load(overlay=resource("config/servos.sim.yaml"))
    with own_domain(), tempfile.TemporaryDirectory(prefix="picker_soak_") as folder:
        graph = bringup.graph(bringup.Options(directory=folder))
        board = replace(graph.board, arguments=[*graph.board.arguments, "--seed", str(seed)], module="benchmarks.kept_board")
        log = Path(folder) / "nodes.log"
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        try:
            with (
                GraphRunner(replace(graph, board=board), log_path=log, grace_s=10.0) as runner,
                _side_door(graph.control, runner) as door,
                Machine() as watch,
                Operator(arm, servos, door, runner.dead, watch, seed) as operator,
                cpu_load(load, 60.0 * minutes + END_S),
            ):
                result = _soak(operator, runner, 60.0 * minutes, tell)
            ends = {name: process.returncode for name, process in runner.processes.items()}
        except (PickerError, SoakError):
            print(log.read_text()[-6000:], file=sys.stderr)
            raise
        finally:
            rclpy.try_shutdown()
    result["exit_codes"] = ends
    result["invariants"]["every process ended well"] = _held(max(abs(code) for code in ends.values()), "==", 0)
    return {
        "minutes": minutes,
        "seed": seed,
        "load_cores": load,
        "machine": machine.facts(),
        **result,
        "ok": all(one["ok"] for one in result["invariants"].values()),
    }


def _side_door(path: str, runner: GraphRunner) -> BoardControl:
    deadline = time.monotonic() + READY_S
    while not Path(path).exists():
        if runner.dead() is not None or time.monotonic() > deadline:
            raise SoakError(f"no board: {runner.dead()}")
        time.sleep(0.02)
    return BoardControl(path, timeout_s=CONTROL_TIMEOUT_S)


def _soak(operator: Operator, runner: GraphRunner, duration_s: float, tell) -> dict:
    trouble, rounds, told_s = "", 0, time.monotonic()
    interrupted: list[int] = []

    def interrupt(number, _frame) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    operator.until(lambda: operator.hardware.get("state") == "active", "bring-up", READY_S)
    tell("soak: the arm holds, and off it goes")
    cpu = CpuMeter({name: process.pid for name, process in runner.processes.items()})
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < duration_s:
            operator.play(operator.next_fault())
            rounds += 1
            if time.monotonic() - told_s > PATIENCE_S:
                told_s = time.monotonic()
                tell(f"soak: {told_s - begin:.0f} of {duration_s:.0f} s, {rounds} rounds")
    except (KeyboardInterrupt, RuntimeError):  # rclpy makes one of the other where a message is being converted
        if not interrupted:
            raise
        trouble = "interrupted"
    except (PickerError, SoakError) as error:
        trouble = str(error)
    lasted_s, shares = time.monotonic() - begin, cpu.shares()
    figures, books = operator.last_figures(), operator.board.command("ledger")
    truth = operator.board.truth()
    counts = _counts(figures, books)
    found = operator.findings
    result = {
        "lasted_s": round(lasted_s, 1),
        "broken_off": trouble,
        "rounds": found.rounds,
        "goals": found.goals,
        "counts": counts,
        "stop_ms": _spread(1e3 * np.array(found.stop_s)),
        "calm_stop_ms": _spread(1e3 * np.array(found.calm_stop_s)),
        "late_wake_up_ms": _spread(1e3 * np.array([late_s for _, late_s in operator.machine.late])),
        "recovery_s": _spread(np.array(found.recovery_s)),
        "cpu_percent": {name: round(share, 1) for name, share in shares.items()},
        "simulation": {"late_at_worst_s": round(truth.behind_max_s, 3), "left_out_s": round(truth.skipped_s, 3)},
        "board": {key: value for key, value in books.items() if not key.endswith("_times_s")},
    }
    result["invariants"] = invariants(result)
    return result


def _counts(figures: dict[str, dict[str, str]], books: dict) -> dict[str, int]:
    """From what the controller asked for to what the servos were told, each with where the rest went."""
    queue, board = figures["hardware: queue"], figures["hardware: board"]
    commands = {key.removeprefix("commands_"): int(value) for key, value in board.items() if key.startswith("commands_")}
    sent = int(queue["setpoints_sent"])
    return {
        "references_processed": int(figures["dynamics"]["processed"]),
        "commands_received": sum(commands.values()),
        **{f"commands_{key}": value for key, value in commands.items()},
        "setpoints_sent": sent,
        "setpoints_lost_on_the_wire": sent - books["arrived"],
        "setpoints_arrived": books["arrived"],
        "setpoints_while_booting": books["deaf"],
        "setpoints_rejected": books["rejected"],
        "setpoints_accepted": books["accepted"],
        "setpoints_executed": books["executed"],
        "setpoints_dropped_by_a_fault": books["dropped"],
        "setpoints_queued": books["queued"],
    }


def _spread(values: np.ndarray) -> dict:
    if not values.size:
        return {"count": 0, "median": None, "p99": None, "max": None}
    median, p99 = np.percentile(values, (50, 99))
    return {
        "count": values.size,
        "median": round(float(median), 3),
        "p99": round(float(p99), 3),
        "max": round(float(values.max()), 3),
    }


def _held(value, relation: str, bound) -> dict:
    ok = value is not None and {"==": value == bound, "<=": value <= bound, ">=": value >= bound}[relation]
    return {"value": value, "must_be": f"{relation} {bound}", "ok": bool(ok)}


def invariants(result: dict) -> dict[str, dict]:
    """What has to hold of a run: for each its value, what it must be, and whether it is."""
    books, counts, trouble = result["board"], result["counts"], result["broken_off"]
    disturbed = sum(result["rounds"][name] for name in ("drop", "corrupt", "unplug", "reset", "power"))
    held = {
        "the arm always came back": _held(trouble if trouble != "interrupted" else "", "==", ""),
        "what the host sent and what arrived differ only where the wire was disturbed": _held(
            counts["setpoints_lost_on_the_wire"] if not disturbed else 0, "==", 0
        ),
        "frames lost without a disturbance": _held(books["lost_frames_without_cause"], "==", 0),
        "arrived, less refused and accepted": _held(
            books["arrived"] - books["deaf"] - books["rejected"] - books["accepted"], "==", 0
        ),
        "accepted, less executed, dropped by a fault, and queued": _held(
            books["accepted"] - books["executed"] - books["dropped"] - books["queued"], "==", 0
        ),
        "accepted set-points lost without a fault": _held(books["dropped_without_cause"], "==", 0),
        "set-points executed twice": _held(books["repeated"], "==", 0),
        "frames in which the outputs were not where the set-points say": _held(books["frames_off_line"], "==", 0),
        "telemetry that disagrees with the books": _held(books["telemetry_wrong"], "==", 0),
        "largest step of an output in a frame, over what the servo can do": _held(round(books["worst_step_share"], 4), "<=", 1.0),
    }
    if result["calm_stop_ms"]["count"]:
        held[STOPS] = _held(result["calm_stop_ms"]["p99"], "<=", STOP_P99_MS)
    if result["recovery_s"]["count"]:
        held["from the port's return to a connected board [s]"] = _held(result["recovery_s"]["max"], "<=", RECOVERY_S)
    return held


def main(arguments: list[str] | None = None) -> int:
    """Run the soak and print its document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="of motions, faults and damage")
    parser.add_argument("--load", type=float, default=0.5, metavar="CORES", help="cores kept busy beside it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the document goes (default: standard output)")
    options = parser.parse_args(arguments)
    if not 0.0 < options.minutes <= 24 * 60 or not 0.0 <= options.load <= 64:
        parser.error("minutes must be above 0 and at most a day, load 0 to 64 cores")

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        result = run(options.minutes, options.seed, options.load, tell)
    except KeyboardInterrupt:
        tell("soak: ended before it began")
        return 130
    document = json.dumps(result, indent=2)
    if options.out is None:
        print(document)
    else:
        options.out.write_text(document + "\n")
    for name, one in result["invariants"].items():
        tell(f"{'held' if one['ok'] else 'BROKEN':8}{name}: {one['value']} (must be {one['must_be']})")
    if options.out is not None:
        tell(f"written to {options.out}")
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
