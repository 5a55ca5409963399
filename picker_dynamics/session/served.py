"""Served session: what may be asked of a running arm, with arguments and answers as plain data, whoever asks from elsewhere.

Each public method of ``ServedSession`` is a call; ``LocalSession`` makes them in the process, ``Server`` for ``RemoteSession``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from picker_dynamics.board.session import Routine, next_command
from picker_dynamics.board.stamp_clock import clocks_apart_s
from picker_dynamics.controller.parameters import CONTROLLER
from picker_dynamics.controller.settings import Settings
from picker_dynamics.errors import GoalRefusedError, InputError, LinkError
from picker_dynamics.execution.driving import MARK
from picker_dynamics.execution.events import EventKind
from picker_dynamics.execution.goal import HAIR, Goal, OutdatedError
from picker_dynamics.execution.goal_manager import GoalRequest
from picker_dynamics.execution.lease import IF_FREE
from picker_dynamics.robot import arm_text
from picker_dynamics.robot.model import checked_number

from .entry import OK, number_in
from .report import Report
from .running_arm import RunningArm, straight_goal

STOPS = "stop", "relax"

ACTS = "goal", "move", "grip", "jog", "set", "reset", "enable", "disable"
"""Calls that are refused where they were asked for in an older epoch: all that move the arm, or could undo a stop."""

JOG_LATE_S = 0.3
"""Oldest jog that is followed [s]: later the button may have been released."""


class ServedSession:
    """Session of ``arm``; make calls by ``carry_out``, from any thread."""

    def __init__(self, arm: RunningArm, report: Report):
        self._arm, self._report = arm, report
        self._session, self._execution = arm.session, arm.controller.execution

    def carry_out(self, call: str, arguments: Mapping[str, Any], epoch: int | None = None) -> Any:
        """Make a call between two cycles, and return its answer.

        Args:
            epoch: of requests, in which it was asked for; None: who asks has heard of none.

        Raises:
            InputError: there is no such call; PickerError: as the call; TypeError: arguments that it does not have.
            GoalRefusedError: a stop, reset or enable has come since it was asked for.
        """
        if call.startswith("_") or call == "carry_out" or not callable(method := getattr(self, call, None)):
            raise InputError(f"there is no call {call!r}", "call")
        with self._session.turn:
            if call in ACTS:
                self._session.gate.require(epoch)
            return method(**arguments)

    # -- what is known ---------------------------------------------------------------------------------------

    def arm(self) -> str:
        """The arm as one text (``robot/arm_text.py``)."""
        return arm_text.text_of(self._arm.known)

    def snapshot(self) -> dict[str, Any]:
        """Newest status of hardware and controller, payload (mass [kg], centre [m]), and the wall clock against the arm's [s]."""
        return {
            "hardware": asdict(self._report.hardware_status()),
            "controller": asdict(self._report.controller_status()),
            "payload": [self._arm.controller.payload.mass, *self._arm.controller.payload.com],
            "ahead_s": clocks_apart_s(self._arm.clock.now, time.time)[0],
        }

    def diagnostics(self) -> list[dict[str, Any]]:
        """Newest entry of each part."""
        return [asdict(one) for one in self._report.entries.values()]

    def joints(self) -> dict[str, Any]:
        """Joints of the arm: names, units, limits, and the poses home and rest, (n,) each [rad or m]."""
        arm, (rest, home) = self._arm.description, self._arm.poses
        vectors = {"lower": arm.lower, "upper": arm.upper, "home": home, "rest": rest}
        plain = {name: np.asarray(one, dtype=float).tolist() for name, one in vectors.items()}
        return {"names": list(arm.joint_names), "units": list(arm.position_units), **plain}

    def facts(self) -> dict[str, Any]:
        """Facts about the arm now: what is wrong and what to do next, where joints and tip are and what that costs; SI units."""
        arm, parts, names = self._arm.description, self._report.entries, self._arm.description.joint_names
        said = self._report.hardware_status(), self._report.controller_status()
        hardware, controller = ({**one.values, "message": one.message} for one in said)

        def value(part: str, key: str) -> str | None:
            return parts[part].values.get(key) if part in parts else None

        found: dict[str, Any] = {
            "arm": arm.name,
            "hardware": {name: hardware[name] for name in ("state", "message")},
            "controller": {name: controller[name] for name in ("phase", "message")},
            "moved_by": controller["lease"],
            "provenance": hardware["provenance"],
            "next": next_command(hardware, controller),
            "compensation": value("dynamics", "compensation"),
            "supply_v": (number_in(value("hardware: supply", "measured_mv")) or 0.0) / 1000.0 or None,
            "supply_a": number_in(value("hardware: supply", "ampere")),
            "faults": [f"{name}: {one.message}" for name, one in parts.items() if one.level != OK],
            "celsius": [number_in(value("hardware: temperature", f"celsius.{name}")) for name in names],
            "payload_kg": self._arm.controller.payload.mass,
        }
        state, limits = self._session.state, self._execution.limits
        if state is None:
            return found
        q, torque, tip = state.q, limits.model.gravity(state.q), limits.model.forward_kinematics(state.q)
        vectors = {
            "position": (q, 5),
            "torque": (torque, 4),
            "of_stall": (np.abs(torque) / limits.torque.full, 4),
            "margin": (1.0 - np.abs(torque) / limits.torque.hold, 4),
        }
        rows = {what: np.round(vector, digits).tolist() for what, (vector, digits) in vectors.items()}
        rows |= {"unit": list(arm.position_units), "celsius": found["celsius"]}
        joints = {name: {what: row[j] for what, row in rows.items()} for j, name in enumerate(names)}
        limit = "effort limit" if self._arm.servos is None else "stall torque"
        return found | {"torque_limit": limit, "tool": arm.tool, "tip_m": np.round(tip, 5).tolist(), "joints": joints}

    def reference(self) -> list[float] | None:
        """Positions (n,) [rad or m] at which the joints should be now; None: the arm is not active."""
        reference = self._session.reference()
        return None if reference is None else reference.tolist()

    def setpoint(self) -> list[float] | None:
        """Set-point (n,) that was sent last [rad]; None: there is none."""
        command = self._session.newest.command if self._session.newest is not None else None
        return None if command is None or command.setpoint is None else command.setpoint.tolist()

    def surroundings(self) -> dict[str, Any]:
        """What motions are kept clear of: floor, margin, and the scene where collisions are looked at."""
        values, around = self._arm.settings[CONTROLLER], self._arm.surroundings
        held: dict[str, Any] = {"floor_z": values["floor_z"], "margin_m": values["collision.margin"], "scene": None}
        if around.enabled:
            held["scene"] = [
                {"name": name, "kind": one.kind, "size": list(one.size), "at": list(one.xyz), "rotation": one.rotation.tolist()}
                for name, one in around.scene.items()
            ]
            held["droops"] = around.droops
        return held

    def get(self, part: str, names: Sequence[str]) -> list[Any]:
        """Values of settings; None for one that the part does not have."""
        settings = self._settings(part)
        return [settings[name] if name in settings else None for name in names]

    def _settings(self, part: str) -> Settings:
        if part not in self._arm.settings:
            raise InputError(f"there is no part {part!r}; there are {', '.join(self._arm.settings)}", "part", part)
        return self._arm.settings[part]

    # -- what is asked ---------------------------------------------------------------------------------------

    def set(self, part: str, values: Mapping[str, Any]) -> None:
        """Change settings, all of them or none."""
        self._settings(part).change(values)

    def goal(
        self,
        name: str,
        joint_names: Sequence[str],
        times_s: Sequence[float],
        positions: Sequence[Sequence[float]],
        velocities: Sequence[Sequence[float]] | None = None,
        accelerations: Sequence[Sequence[float]] | None = None,
    ) -> None:
        """Ask for a motion; what becomes of it comes as events with its ``name``."""
        partial = self._arm.settings[CONTROLLER]["allow_partial_joints_goal"]
        self._submit(name, Goal(joint_names, times_s, positions, velocities, accelerations, None, partial=partial))

    def _submit(self, name: str, goal: Goal) -> None:
        self._session.submit(GoalRequest(lambda: goal, tracker=self._arm.tracker, **self._asker(name)))

    def move(self, name: str, joints: Mapping[str, float], relative: bool = False, least_s: float = 0.0) -> None:
        """Move joints to positions, or by so much, the others stay: for ``least_s``, or as long as the tip's way takes."""
        arm, held = self._arm.description, self._session.reference()
        if held is None:
            raise LinkError(f"there is no reference: {self._report.hardware_status().message}")
        within = np.clip(held, arm.lower, arm.upper)
        held = np.where(np.abs(held - within) < HAIR, within, held)
        target = held.copy()
        for joint, value in joints.items():
            j = arm.joint_names.index(joint)
            target[j] = checked_number(joint, value) + (held[j] if relative else 0.0)
        self._submit(name, straight_goal(arm, held, target, checked_number("least_s", least_s, "s")))

    def grip(self, name: str, position: float) -> None:
        """Move the gripper's joint to ``position`` [rad or m]: done there, or where what it grips stops it."""
        self._session.submit(self._arm.grip((position,), **self._asker(name)))

    def _asker(self, name: str) -> dict[str, Any]:
        driver = self._session.drivers.of_goal(name, self._arm.clock.now())
        if MARK in name and not driver:
            raise GoalRefusedError("refused: the sender no longer drives the arm", "driver")
        return {"identifier": name, "driver": driver, "if_free": name.startswith(IF_FREE)}

    def cancel(self) -> bool:
        """Decelerate whatever moves the arm to a hold; returns whether anything moved."""
        moved = self._session.cancel()
        self._execution.tell(EventKind.CANCELLED, "the motion under way is cancelled" if moved else "nothing to cancel")
        return moved

    def drive(self, name: str, leaves: bool = False) -> str:
        """Hear that ``name`` drives the arm, or does not any more; returns why it does not get it."""
        return str(self._session.drivers.hear(name, self._arm.clock.now(), leaves=leaves) or "")

    def jog(
        self,
        driver: str,
        seen_s: float,
        linear: Sequence[float] = (0.0, 0.0, 0.0),
        angular: Sequence[float] = (0.0, 0.0, 0.0),
        frame: str = "",
        joints: Mapping[str, float] | None = None,
        pose: Sequence[float] | None = None,
        speed: float = 1.0,
        by_hand: bool = False,
    ) -> None:
        """Jog the tip [m/s, rad/s] in the axes of a link, ``joints`` by name [rad/s, m/s], or all towards a pose, for a moment.

        Args:
            pose, speed: (n,) [rad or m], at most at this share of the speed that jogs may have; by_hand: a hand is on the arm.
            seen_s: time of the newest state that the driver has seen [s]: by the arm's clock, so it tells how old the jog is.
        """
        now_s, jogging = self._arm.clock.now(), self._session.jogging
        require_fresh(now_s - seen_s)
        if not (of := self._session.drivers.of_goal(driver, now_s)):
            return
        if pose is not None:
            jogging.pose(pose, speed, now_s, of, by_hand)
        elif joints:
            jogging.joints(list(joints), list(joints.values()), now_s, driver=of)
        else:
            jogging.twist(linear, angular, now_s, frame, driver=of)

    def stop(self) -> str:
        """Latch the stop."""
        self._session.stop()
        return f"stopped: {'braking' if self._arm.servos is None else 'decelerating'}, then holding; latched until reset"

    def relax(self) -> str:
        """Switch the outputs off and latch: the arm falls."""
        self._session.relax()
        return "relaxed: all outputs off"

    def reset(self) -> str:
        """Clear stop and faults whose cause is gone; nothing moves."""
        self._session.reset()
        return "reset: nothing moves; run picker enable to continue"

    def enable(self, at_rest_pose: bool) -> str:
        """Adopt outputs that run, or switch them on where a person says that the arm is at its rest pose."""
        return self._session.enable(at_rest_pose or self._arm.servos is None)

    def accept_board(self) -> str:
        """Take the board that is connected although it was flashed for other limits; nothing is enabled."""
        return self._arm.outputs.accept_board()

    def disable(self) -> str:
        """Switch all outputs off: the arm falls."""
        outputs = self._arm.outputs
        routine = not outputs.problem or isinstance(outputs.problem, Routine)
        self._session.disable()
        if routine:
            outputs.problem = Routine(outputs.problem)  # asked for, and done
        return "outputs off"


def require_fresh(age_s: float) -> None:
    """Raise an OutdatedError for a jog that is too old."""
    if age_s > JOG_LATE_S:
        raise OutdatedError(f"the jog is {age_s:.2f} s old, allowed {JOG_LATE_S} s", "jog", age_s, JOG_LATE_S)
