"""Picking on the live graph: the real nodes on the virtual board, a client that picks, and the truth from the simulation."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from picker_dynamics.bringup import bringup
from picker_dynamics.bringup.runner import GraphRunner
from picker_dynamics.errors import GoalAbortedError, GoalCancelledError, GoalRefusedError, LinkError, PickerError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.scripting.arm import Arm
from picker_dynamics.scripting.connected import ConnectedBody
from picker_dynamics.scripting.equipment import Equipment
from picker_dynamics.scripting.replay import Leg, Replay
from picker_dynamics.scripting.taught import Payload
from picker_dynamics.session import address
from picker_dynamics.session.arm_client import ArmClient
from picker_dynamics.session.entry import Condition
from picker_dynamics.sim.control_socket import BoardControl

from .scene import SURROUNDINGS, Scene, is_pickers

BRINGUP_S, LOOK_S = 60.0, 0.05
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
    """Record of the picks on the live graph, and of what else happened there."""

    picks: list[Pick] = field(default_factory=list)
    refused: dict = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    loop: dict = field(default_factory=dict)
    cross_check_worst: float = float("nan")


def pick_all(scene: Scene, known: Equipment, options: bringup.Options, log: Path, show) -> Live:
    """Bring the graph up, pick every berry, ask for a pose that cannot be held, and shut down.

    Raises:
        PickerError: another graph runs already, this one did not come up, or a process of it died; its words are in ``log``.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randrange(1, 100)))
    address.require_free("")
    log.unlink(missing_ok=True)
    if scene.errands:
        options = replace(options, scene=str(SURROUNDINGS))
    graph = bringup.graph(options)
    os.environ.update(graph.environment)
    live = Live()
    with GraphRunner(graph, log_path=log) as runner, up(runner) as client:
        what = "virtual board" if options.board == "virtual" else "real firmware on a simulated Uno"
        show.say(f"started the {what} and the process of the arm")
        client.wait_ready(BRINGUP_S)
        with BoardControl(graph.control) as board:
            arm = Arm(known, ConnectedBody(client))
            try:
                for number in range(len(scene.picks)):
                    live.picks.append(_Errand(number, scene, arm, client, board, show).run())
                live.refused = _refusal(known.description, client, show)
                _again(arm.home, client, show)
            except PickerError as error:
                live.faults.append(str(error))
                show.say(f"the arm gave up: {error}")
            live.faults += board.truth().faults
            condition = client.condition()
            live.loop = _loop(condition, client.call("get", part="trajectory_controller", names=["lead_s"])[0])
            live.cross_check_worst = condition.number("dynamics", "cross_check_worst") or 0.0
        ended = runner.dead()
        if ended is not None:
            live.faults.append(f"{ended[0]} ended with exit code {ended[1]}")
    return live


@contextmanager
def up(runner: GraphRunner) -> Iterator[ArmClient]:
    """Client of the arm that ``runner`` has started, once its process answers."""
    ends_s = time.monotonic() + BRINGUP_S
    while True:
        try:
            client = ArmClient()
            break
        except LinkError:
            if time.monotonic() > ends_s or runner.dead() is not None:
                raise
            time.sleep(LOOK_S)
    with client:
        yield client


def _loop(condition: Condition, lead_s: float) -> dict[str, float]:
    """Figures of the control loop in its last second: rate, jitter, the longest way from tick to wire, and missed periods."""
    period_ms, jitter_ms, ahead_ms, missed = (
        condition.number("hardware: timing", name) or math.nan
        for name in ("period_ms", "jitter_p99_ms", "ahead_least_ms", "missed")
    )
    return {
        "rate_hz": round(1e3 / period_ms, 2),
        "jitter_p99_ms": round(jitter_ms, 3),
        "latency_p99_ms": round(1e3 * lead_s - ahead_ms, 3),
        "missed": 0 if math.isnan(missed) else int(missed),
    }


class _Errand:
    """One berry, picked and put on the tray; what it weighs hangs on the simulated tool meanwhile."""

    def __init__(self, number: int, scene: Scene, arm: Arm, client: ArmClient, board: BoardControl, show):
        self.name, self.scene, self.arm = f"berry {number + 1}", scene, arm
        self.client, self.board, self.show = client, board, show
        self.legs, self.pick = scene.picks[number], None
        self.asked = scene.errands[number] if scene.errands else ()
        self.leg: Leg | None = None

    def run(self) -> Pick:
        """Pick and place, each again where the machine stood still; errors as of ``Arm.pick``."""
        if not self.asked:
            _again(lambda: self.arm.play(Replay(self.legs), self.tell), self.client, self.show)
        for motion, how in zip((self.arm.pick, self.arm.place), self.asked):
            carries = motion == self.arm.place
            given = {
                name: value for name, value in asdict(how).items() if not (carries and name in ("mass", "approach", "closed"))
            }
            _again(lambda motion=motion, given=given: motion(**given, progress=self.tell), self.client, self.show)
        where = ", ".join(f"{1e3 * x:.0f}" for x in self.pick.target_m)
        self.show.say(f"{self.name} at ({where}) mm: tip was {1e3 * self.pick.tip_error_m:.2f} mm away")
        return self.pick

    def tell(self, leg: Leg, _share: float) -> None:
        """Called with each leg as it begins and goes on."""
        if leg is self.leg:
            return
        self.leg = leg
        self.show.step(f"{self.name}: {leg.name}")
        if not isinstance(leg.step, Payload):
            return
        if not leg.step.mass:
            self.board.detach()
            return
        target = self.arm.tip_at(leg.plan.target)
        error = float(np.linalg.norm(self.board.truth().tip - target))
        self.pick = Pick(target.tolist(), error, error <= self.scene.tolerance_m)
        self.board.attach(leg.step.mass)


def _again(motion, client: ArmClient, show) -> None:
    """Make it, from where the arm is, again where it was aborted: a machine that stands still for a moment stops it, no more."""
    for left in reversed(range(TRIES)):
        try:
            motion()
            return
        except GoalAbortedError as error:
            if not left or isinstance(error, GoalCancelledError):
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
        unit = "N·m" if is_pickers(arm) else "m" if arm.movable[0].type == "prismatic" else "rad"
        return {"joint": refusal.subject, "value": refusal.value, "limit": refusal.limit, "unit": unit}
    raise PickerError(f"the validator let a goal pass that asks for {what}")
