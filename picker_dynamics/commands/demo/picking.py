"""Picking on the live graph: the real nodes on the virtual board, a client that picks, and the truth from the simulation."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import GoalAbortedError, GoalRefusedError, PickerError
from picker_dynamics.nodes import claims
from picker_dynamics.nodes.client import ArmClient
from picker_dynamics.nodes.loop_meter import LoopMeter
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.sim.control_socket import BoardControl

from .scene import Scene, Stop, is_pickers

BRINGUP_S = 25.0
SHORTEST_S, SHORTEST_S_M = 0.6, 1.0
"""Each move asks for this, or for so long for each metre of its tip's way; the controller slows it to what is allowed."""

TRIES, AGAIN_S = 3, 1.0

BEYOND = 0.5
"""How far beyond its range a joint is asked to go [rad or m]."""


@dataclass
class Pick:
    """One berry: where it hung, and how far the true tip was from it when the scissor closed."""

    target_m: list[float]
    tip_error_m: float
    ok: bool


@dataclass
class Live:
    """What happened on the live graph."""

    picks: list[Pick] = field(default_factory=list)
    refused: dict = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    loop: dict = field(default_factory=dict)
    cross_check_worst: float = float("nan")


def pick_all(scene: Scene, arm: ArmDescription, options: bringup.Options, log: Path, show) -> Live:
    """Bring the graph up, pick every berry, ask for a pose that cannot be held, and shut down.

    Raises:
        PickerError: another graph runs already, this one did not come up, or a process of it died; its words are in ``log``.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 100)))
    claims.require_free("")
    log.unlink(missing_ok=True)
    graph = bringup.graph(options)
    os.environ.update(graph.environment)
    live = Live()
    with GraphRunner(graph, log_path=log) as runner, ArmClient(arm.joint_names) as client:
        what = "virtual board" if options.board == "virtual" else "real firmware on a simulated Uno"
        show.say(f"starting the {what} and the three nodes (trajectory_controller, dynamics, hardware)")
        client.wait_ready(BRINGUP_S)
        with BoardControl(graph.control) as board:
            meter = LoopMeter(client)
            client.set_parameters("dynamics", payload__mass=0.0)
            try:
                for number, stops in enumerate(scene.picks, 1):
                    live.picks.append(_pick(number, stops, scene, arm, client, board, show))
                live.refused = _refusal(arm, client, show)
                _go(scene.home, arm, client, show)
            except PickerError as error:
                live.faults.append(str(error))
                show.say(f"the arm gave up: {error}")
            live.faults += board.truth().faults
            live.loop = meter.summary()
            live.cross_check_worst = client.diagnostic("dynamics", "cross_check_worst")
        ended = runner.dead()
        if ended is not None:
            live.faults.append(f"{ended[0]} ended with exit code {ended[1]}")
    return live


def _pick(
    number: int, stops: tuple[Stop, ...], scene: Scene, arm: ArmDescription, client: ArmClient, board: BoardControl, show
) -> Pick:
    pick = None
    for stop in stops:
        show.step(f"berry {number}: {stop.kind}")
        if stop.kind == "leave":
            board.detach()
            client.set_parameters("dynamics", payload__mass=0.0)
        _go(stop.q, arm, client, show)
        if stop.kind == "berry":
            client.spin(scene.settle_s)
            error = float(np.linalg.norm(board.truth().tip - stop.target))
            pick = Pick(stop.target.tolist(), error, error <= scene.tolerance_m)
        elif stop.kind == "close":
            board.attach(scene.payload_kg)
            client.set_parameters("dynamics", payload__mass=scene.payload_kg)
    where = ", ".join(f"{1e3 * x:.0f}" for x in pick.target_m)
    show.say(f"berry {number} at ({where}) mm: tip was {1e3 * pick.tip_error_m:.2f} mm away")
    return pick


def _go(q: np.ndarray, arm: ArmDescription, client: ArmClient, show) -> None:
    """Move there, again where the motion was aborted: a machine that stands still for a moment stops the arm, and no more."""
    for left in reversed(range(TRIES)):
        way = tip_way(arm, client.reference(), q)
        try:
            client.move_through([max(SHORTEST_S, SHORTEST_S_M * way)], [q])
            return
        except GoalAbortedError as error:
            if not left:
                raise
            show.say(f"{error}; once more")
            client.wait_ready(BRINGUP_S)
            client.spin(AGAIN_S)


def _refusal(arm: ArmDescription, client: ArmClient, show) -> dict:
    """Ask on purpose for what cannot be: a stretched picker, another arm with its first joint beyond its range."""
    what, pose = "full reach", np.zeros(arm.n)
    if not is_pickers(arm):
        what, pose = f"{arm.joint_names[0]} beyond its range", client.reference()
        pose[0] = (arm.upper[0] if np.isfinite(arm.upper[0]) else np.pi) + BEYOND
    try:
        client.move_through([4.0], [pose])
    except GoalRefusedError as refusal:
        show.say(f"asked for {what} on purpose: {refusal}")
        return {"joint": refusal.subject, "torque_nm": refusal.value, "limit_nm": refusal.limit}
    raise PickerError(f"the validator let a goal pass that asks for {what}")
