"""The arm that runs in another process, for a script: goals, states and settings by its session; nothing is enabled from here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from picker_dynamics.errors import ConfigurationError, GoalRefusedError
from picker_dynamics.robot import servo_arm, servo_map
from picker_dynamics.robot.model import Array
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.session.arm_client import ArmClient, GoalData
from picker_dynamics.trajectory.trajectory import Trajectory

from .body import Sample
from .equipment import Equipment

STEP_S = 0.01
"""How long states are waited for at a time [s]."""


def arm_that_runs(client: ArmClient, arm: str = "", urdf: str | Path = "", servos: str | Path = "") -> Equipment:
    """The arm of the running graph, as the graph tells it; what is named besides has to be that one.

    Args:
        client: of the running arm.
        arm: name of the arm.
        urdf, servos: files that describe it.

    Raises:
        LinkError: nobody answers.
        ConfigurationError: another arm is named than the one that runs; nothing was done.
        DescriptionError, ConfigurationError: a file that cannot be used.
    """
    runs = Equipment(*client.running_arm())
    there = runs.description
    if arm and arm != there.name:
        raise ConfigurationError(f"the running graph has the arm {there.name}, not {arm}", subject="arm", value=arm)
    if urdf:
        here = servo_arm.read_arm(urdf)
        if (here.name, here.joint_names) != (there.name, there.joint_names):
            raise ConfigurationError(
                f"the running graph has the arm {there.name} ({', '.join(there.joint_names)}), this command means {here.name} "
                f"({', '.join(here.joint_names)}): nothing was done; say which with --arm or --urdf",
                subject="arm",
                value=here.name,
            )
        if here.urdf != there.urdf:
            raise _differs(there.name, "--urdf", urdf)
    if servos:
        if runs.servos is None:
            raise _differs(there.name, "--servos", servos)
        told = servo_map.load(servos, there.joint_names)
        if any(
            (one.home, one.rest, one.channel) != (other.home, other.rest, other.channel)
            for one, other in zip(told.servos, runs.servos.servos)
        ):
            raise _differs(there.name, "--servos", servos)
    return runs


def _differs(name: str, option: str, path: object) -> ConfigurationError:
    return ConfigurationError(
        f"the arm {name} of the running graph is not as {path} says: nothing was done; leave out {option}, the graph tells",
        subject=option,
        value=str(path),
    )


class ConnectedGoal:
    """A goal that the controller took."""

    def __init__(self, client: ArmClient, name: str, duration_s: float):
        self.client, self.name, self.duration_s = client, name, duration_s
        self._begin_s, self._done = time.monotonic(), False
        self._error: GoalRefusedError | None = None

    def ended(self) -> bool:
        if self._error is not None:  # the client forgets what it was told
            raise self._error
        try:
            self._done = self._done or self.client.ended(self.name)
        except GoalRefusedError as error:
            self._error = error
            raise
        return self._done

    def progress(self) -> float:
        passed = (time.monotonic() - self._begin_s) / max(self.duration_s, 1e-9)
        return 1.0 if self._done else min(passed, 0.99)

    def cancel(self) -> None:
        if not self._answered():
            self.client.cancel()
            self.client.wait(self._answered, "the cancelled motion does not end")

    def _answered(self) -> bool:
        try:
            return self.ended()
        except GoalRefusedError:  # or aborted, as one that was cancelled is
            return True


def surroundings(known: Equipment, told: Mapping[str, Any]) -> Equipment:
    """The arm ``known`` with what the running arm's motions are kept clear of, as its session says."""
    held = {"floor_z": told["floor_z"], "margin_m": told["margin_m"], "scene": None}
    if told["scene"] is not None:
        held["scene"] = {
            one["name"]: scene_shape(one["name"], one["kind"], one["size"], one["at"], np.array(one["rotation"]), "scene")
            for one in told["scene"]
        }
        held |= {"droops": told["droops"], "allowed": frozenset(frozenset(pair) for pair in told["allowed"])}
    return replace(known, **held)


class ConnectedBody:
    """The arm behind a client whose joints are known."""

    def __init__(self, client: ArmClient):
        self.client = client
        self.on_sample: Callable[[Sample], None] | None = None
        self._told: list[float] | None = None

    @property
    def now_s(self) -> float:
        return time.monotonic()

    @property
    def q(self) -> Array:
        """Joint positions (n,) that come next [rad or m]."""
        return self.client.next_state()

    @property
    def held(self) -> Array:
        return self.client.reference()

    @property
    def payload(self) -> float:
        return self.client.payload()

    def set_payload(self, mass: float) -> None:
        self.client.set("dynamics", {"payload.mass": float(mass)})

    def begin(self, target: Array, duration_s: float) -> ConnectedGoal:
        return self._begun(self.client.message([duration_s], [target]))

    def follow(self, trajectory: Trajectory) -> ConnectedGoal:
        return self._begun(self.client.message_along(trajectory))

    def grip(self, joint: int, at: float) -> ConnectedGoal:
        return self._begun(self.client.gripper_message(joint, at))

    def tip_speed(self) -> float:
        return self.client.tip_speed()

    def surrounded(self, known: Equipment) -> Equipment:
        return surroundings(known, self.client.call("surroundings"))

    def _begun(self, message: GoalData) -> ConnectedGoal:
        self.client.require_free()
        self.client.wait_holding()
        with self.client.cancelling():
            return ConnectedGoal(self.client, *self.client.begin(message))

    def step(self) -> None:
        client = self.client
        client.spin(STEP_S)
        if (
            self.on_sample is not None
            and client.state is not None
            and client.desired is not None
            and client.state is not self._told
        ):
            self._told = client.state
            effort = np.full(len(client.state), np.nan) if client.effort is None else client.effort
            self.on_sample(Sample(self.now_s, np.array(client.state), np.array(client.desired), np.array(effort)))

    def close(self) -> None:
        self.client.close()
