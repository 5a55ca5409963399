"""Picking on the live graph: the real nodes on the virtual board, a client that picks, and the truth from the simulation."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.options import Options
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import GoalAbortedError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.scripting.arm import Arm
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.legs import Leg
from picker_dynamics.scripting.steps import Payload
from picker_dynamics.session import address
from picker_dynamics.session.remote import RemoteSession
from picker_dynamics.sim.control_socket import BoardControl

from .. import options as shared
from .scene import Scene

BRINGUP_S, AGAIN_S, BEYOND_RAD = 60.0, 3.0, 0.2


def pick_all(scene: Scene, known: Equipment, options: Options, log: Path) -> dict[str, Any]:
    """Bring the graph up, pick every berry, ask for a pose that cannot be held, and shut down.

    Returns:
        Of the summary: ``picks``, ``refused``, ``faults``, ``loop`` and ``cross_check_worst``.

    Raises:
        PickerError: another graph runs already, this one did not come up, or a process of it died; its words are in ``log``.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 100)))
    address.require_free("")
    log.unlink(missing_ok=True)
    graph = bringup.graph(options)
    log.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update(bringup.local_only(os.environ))
    found: dict[str, Any] = {"picks": [], "refused": {}, "faults": []}
    with GraphRunner(graph, log_path=log) as runner:
        client = shared.waited_for(RemoteSession, BRINGUP_S, lambda: runner.dead() is not None)
        if client is None:
            raise LinkError("the process of the arm has ended")
        print("started the simulated board and the process of the arm", flush=True)
        client.wait_holding(BRINGUP_S)
        with client, BoardControl(graph.control) as board:
            arm = Arm(known, client)
            try:
                for number in range(len(scene.picks)):
                    found["picks"].append(picked(number, scene, arm, board))
                found["refused"] = refusal_of(client, known)
                again(arm.home)
            except PickerError as error:
                found["faults"].append(str(error))
                print(f"the arm gave up: {error}", flush=True)
            found["faults"] += board.truth().faults
            parts = {one["name"]: one["values"] for one in client.call("diagnostics")}
            names = ("period_ms", "jitter_p99_ms", "ahead_least_ms", "missed")
            period, jitter, ahead, missed = (float(parts["hardware: timing"].get(name, 0.0)) for name in names)
            (lead_s,) = client.call("get", part="trajectory_controller", names=["lead_s"])
            found["loop"] = {
                "rate_hz": round(1e3 / period, 2) if period else 0.0,
                "jitter_p99_ms": round(jitter, 3),
                "latency_max_ms": round(1e3 * lead_s - ahead, 3),
                "missed": int(missed),
            }
            found["cross_check_worst"] = float(parts["dynamics"]["cross_check_worst"])
    return found


def picked(number: int, scene: Scene, arm: Arm, board: BoardControl) -> dict[str, Any]:
    """Pick one berry and put it on the tray; errors as of ``Arm.pick``.  What it weighs hangs on the simulated tool meanwhile.

    Returns:
        Where it hung, and how far the true tip was from it when the scissor closed.
    """
    found: dict[str, Any] = {}

    def tell(leg: Leg, share: float) -> None:
        if share or not isinstance(leg.step, Payload):
            return
        if leg.step.mass:
            target = arm.tip_at(leg.plan.target)
            error_m = float(np.linalg.norm(board.truth().tip - target))
            found.update(target_m=target.tolist(), tip_error_mm=round(1e3 * error_m, 3), ok=error_m <= scene.tolerance_m)
        board.attach(leg.step.mass)

    taken, put = (asdict(errand) for errand in scene.errands[number])
    again(lambda: arm.pick(**taken, progress=tell))
    again(lambda: arm.place(**{name: put[name] for name in ("tip", "pitch", "lift", "opened", "settle")}, progress=tell))
    print(f"berry {number + 1}: tip was {found['tip_error_mm']:.2f} mm away", flush=True)
    return found


def again(motion: Callable[[], object]) -> None:
    """Make it, a second time where it was aborted: a machine that stands still for a moment stops it, no more."""
    try:
        motion()
    except GoalAbortedError as error:
        print(f"{error}; once more", flush=True)
        time.sleep(AGAIN_S)
        motion()


def refusal_of(client: RemoteSession, known: Equipment) -> dict[str, Any]:
    """Ask on purpose for what cannot be: the stretched arm, or where servos can hold that, all joints beyond their limits."""
    pose, unit = np.zeros(known.description.n), "N·m"
    if (np.abs(known.model().gravity(pose)) <= known.limits.hold_share * known.limits.full).all():
        pose, unit = known.description.upper + BEYOND_RAD, "rad"
    try:
        client.move_to(4.0, pose)
    except GoalRefusedError as refusal:
        print(f"an impossible goal, sent on purpose, is refused: {refusal}", flush=True)
        return {"joint": refusal.subject, "value": refusal.value, "limit": refusal.limit, "unit": unit}
    raise PickerError("the validator accepted an impossible goal")
