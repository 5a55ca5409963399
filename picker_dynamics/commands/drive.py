"""``picker drive``: an arm by the keys of a terminal, in bounded steps of the tip or of a joint.

A terminal tells when a key is pressed, not when it is let go, so a key that is held must not mean moving on: each press is
one step, a goal like any other, checked as any other; what is pressed before it has ended is dropped, and said.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from textwrap import wrap

import numpy as np

from picker_dynamics.errors import PickerError
from picker_dynamics.execution.guiding import HandGuide
from picker_dynamics.robot.kinematic_tree import tip_way
from picker_dynamics.robot.tip_target import tip_step
from picker_dynamics.robot.units import told

from . import keyboard
from . import options as shared

LOOK_S = 0.01
"""How long a key is waited for, which is answered at once [s]."""

SHORTEST_S, SPEED_M_S = 0.15, 0.1
"""A step takes so long, or its tip goes at this mean speed."""

DRAWN_S, STALE_S = 0.1, 0.5
"""How often the status is drawn; from which age on data is called old [s]."""

LEFT_S = 0.3
"""How long it may take until the controller says that the arm was left [s]; else it notices the silence."""

GUIDE = "b"
"""Key with which a hand guides the arm."""

HOLDS_S = 1.0
"""How long an arm that was let go may take until it holds [s]."""

SAID = 3
"""Lines that stay in front of the person."""


def add_parser(commands) -> None:
    """Register ``drive`` and ``guide``."""
    drive = commands.add_parser("drive", help="drive the arm by keyboard, in bounded steps")
    guide = commands.add_parser("guide", help="move the arm by hand: it bears itself, and stays where you leave it")
    for parser in (drive, guide):
        shared.add(parser, "--namespace", "--host")


def run(options, make_seat: Callable[..., Seat] | None = None) -> int:
    """Have a person drive the arm that runs until q, Ctrl-C or Ctrl-D; returns the exit code."""
    with keyboard.keyboard() as pressed, shared.client(options) as client:
        arm = shared.equipment(client)
        client.take_arm()
        try:
            seat = (make_seat or Seat)(client, arm)
            if options.command == "guide":
                seat.keep(GUIDE)
            seat.drive(pressed)
        except (EOFError, OSError, KeyboardInterrupt):  # the terminal is gone, or Ctrl-C
            pass
        finally:
            client.leave()
            client.wait_at_most(LEFT_S, lambda: not client.drives)
    return 0


class Seat:
    """Seat of a person who drives: keys in, steps out, and what is to be seen.

    Args:
        client: a session that drives the arm.
        arm: that runs.
    """

    help = f"""{(keyboard.__doc__ or "").split(chr(10) * 2)[1]}
    {GUIDE}             guide the arm by hand, where it measures its joints; any other key lets go"""

    def __init__(self, client, arm):
        self.client, self.arm, self.description = client, arm, arm.description
        self.keys = keyboard.Keys(arm.description.n)
        self.kinematics = arm.model().forward_kinematics
        self.said = ["h: which keys there are"]
        self._goal = ""
        self.hand: HandGuide | None = None
        self._drawn_s, self._lines = -math.inf, 0

    def drive(self, pressed: Callable[[float], list[str]]) -> None:
        """Take keys and make steps, until the person quits."""
        while True:
            for key in pressed(LOOK_S):
                action = self.keys.press(key, time.monotonic())
                if action is not None and action.what == "quit":
                    return
                try:
                    self.act(action)
                except PickerError as error:
                    self.say(str(error))
            self.client.spin(0.0)
            self.turn()
            if self._goal and not self.client.under_way:
                ended, self._goal = self.client.outcomes[self._goal], ""
                if ended.values["outcome"] != "done":
                    self.say(ended.message)
            if time.monotonic() - self._drawn_s >= DRAWN_S:
                self.draw()

    # -- what keys mean ----------------------------------------------------------------------------------------

    def act(self, action: keyboard.Action | None) -> None:
        """Do what a key asks for; raises a PickerError where that cannot be.  A hand that guides lets go at any key."""
        if self.hand is not None:
            self.let_go("let go: the arm holds")
            self.client.wait_at_most(HOLDS_S, lambda: not self.hindrance())
        if action is None:
            return
        if action.what == "stop":
            self.say(self.client.stop())
        elif action.what == "help":
            self.say(*self.help.splitlines())
        elif action.what not in ("tip", "joint", "gripper"):
            self.keep(action.what)
        elif why := self.hindrance():
            if self.said[-1] != f"dropped: {why}":
                self.say(f"dropped: {why}")
        else:
            held = self.held()
            target = self.target(action, held)
            duration_s = max(SHORTEST_S, tip_way(self.description, held, target) / SPEED_M_S)
            self._goal = self.client.submit(self.client.message(duration_s, target), as_driver=True)

    def keep(self, key: str) -> None:
        """Do what a key means that is no step; raises a PickerError where that cannot be."""
        if key == GUIDE:
            if why := self.hindrance():
                raise PickerError(f"not guided: {why}")
            self.hand = HandGuide(self.description.position_units, self.client.hardware.get("provenance"))
            self.say("move the arm by hand; any key lets go")

    def turn(self) -> None:
        """Do what is due without a key: follow a hand, until that cannot be any more."""
        if self.hand is not None:
            if why := self.lost():
                self.let_go(f"let go, the arm holds: {why}")
            else:
                held = self.held()
                pose = self.hand.target(np.array(self.client.state), held, self.client.seen_s)
                self.client.jog({"pose": pose.tolist(), "by_hand": True})

    def lost(self) -> str:
        """Why the arm follows no longer; empty: it does."""
        client = self.client
        if client.hardware.get("state") != "active" or client.desired is None or client.state is None:
            return f"hardware: {client.hardware.get('message', 'not heard')}"
        return client.refusal or ("" if client.drives else "the arm was left")

    def let_go(self, why: str) -> None:
        """Let the arm come to rest."""
        self.hand = None
        self.client.jog({})
        self.say(why)

    def held(self) -> np.ndarray:
        """The pose that is held, (n,) [rad or m], within the limits."""
        return np.clip(self.client.desired, self.description.lower, self.description.upper)

    def hindrance(self) -> str:
        """Why no step can begin now; empty: one can."""
        client = self.client
        if client.under_way:
            return "the step before has not ended"
        if client.hardware.get("state") != "active":
            return f"hardware: {client.hardware.get('message', 'not heard')}"
        if not client.drives:
            return client.refusal or "the arm was left"
        if client.controller.get("phase") != "holding" or client.desired is None:
            return f"controller: {client.controller.get('message', 'not heard')}"
        return ""

    def target(self, action: keyboard.Action, held: np.ndarray) -> np.ndarray:
        """The pose after a step, (n,) [rad or m].

        Raises:
            PickerError: there is none.
        """
        size = action.sign * self.keys.step
        if action.what == "tip" and action.which == 3:
            return tip_step(self.description, held, pitch_rad=math.radians(size))
        if action.what == "tip":
            return tip_step(self.description, held, 1e-3 * size * np.eye(3)[action.which])
        grips = action.what == "gripper"
        joint = self.arm.require_gripper() if grips else action.which
        target = held.copy()
        target[joint] += 1e-3 * size if self.description.position_units[joint] == "m" else math.radians(size)
        return np.clip(target, self.description.lower, self.description.upper) if grips else target  # as far as it goes

    # -- what is to be seen --------------------------------------------------------------------------------------

    def say(self, *lines: str) -> None:
        """Put lines in front of the person."""
        self.said = [*self.said, *lines][-max(SAID, len(lines)) :]
        self._drawn_s = -math.inf

    def draw(self) -> None:
        """Draw the status anew, where it stood before."""
        self._drawn_s = time.monotonic()
        width = max(shutil.get_terminal_size().columns - 1, 20)
        lines = [part for line in (*self.status(), *self.said) for part in wrap(line, width, subsequent_indent="  ")]
        up = f"\033[{self._lines}A" if self._lines else ""
        print(f"\r{up}\033[J" + "\r\n".join(lines), end="\r\n", flush=True)
        self._lines = len(lines)

    def status(self) -> list[str]:
        """Status in lines: where the arm is, what it carries, what is chosen."""
        client, names, units = self.client, self.description.joint_names, self.description.position_units
        lines, joint = [], self.keys.joint
        if client.state is not None:
            age_s = time.monotonic() - client.heard_s
            tip = ", ".join(f"{1e3 * x:.1f}" for x in self.kinematics(np.array(client.state)))
            how = f"{client.hardware.get('provenance') or 'not known how'}{', OLD' if age_s > STALE_S else ''}"
            lines = ["  ".join(f"{name} {told(*at)}" for name, *at in zip(names, client.state, units))]
            lines.append(f"tip {tip} mm ({how})   payload {1e3 * client.payload_kg:.0f} g")
        state = f"{client.hardware.get('message', '?')}, {client.controller.get('phase', '?')}"
        size, unit = self.keys.step, "mm" if units[joint] == "m" else "deg"
        return [*lines, f"{state}   step: {size} mm of the tip, {size} {unit} of {joint + 1} {names[joint]}"]
