"""The board's outputs from servo frame to servo frame: follow the queue, brake, hold, within the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from picker_dynamics.board.protocol import BoardState, JointLimits, Reason

from .setpoint_queue import Point, SetPointQueue

STILL = 8
"""A joint that moves by no more than this per frame [1/8 us] stands; 1 us is below any deadband."""


def clip(value: int, bound: int) -> int:
    """``value`` within [-bound, bound]."""
    return max(-bound, min(bound, value))


def decay(speed: int, brake: int) -> int:
    """``speed`` nearer to zero by ``brake``, not beyond."""
    return speed - clip(speed, brake)


class OutputMotion:
    """Pulses, speeds and owners of all joints, in 1/8 us and 1/8 us per frame.

    Args:
        limits: What each joint may do.
        queue_capacity: Set-points that fit.
        adopt_slack: How far outside its limits a pulse found at boot may lie to be adopted [1/8 us]: a coarse
            output cannot hold a limit exactly.
    """

    def __init__(self, limits: Sequence[JointLimits], queue_capacity: int, adopt_slack: int):
        self.limits = tuple(limits)
        self.queue = SetPointQueue(queue_capacity)
        self.pulses = [0] * len(self.limits)
        self.live = self.owned = self.limited = 0
        self.underruns = 0
        self.played_us = 0
        self._adopt_slack = adopt_slack
        self._motion = BoardState.HOLD
        self._speed = [0] * len(self.limits)

    @property
    def state(self) -> BoardState:
        """State of the motion; IDLE while the host owns nothing."""
        return self._motion if self.owned else BoardState.IDLE

    # -- outputs on and off --------------------------------------------------------------------------------

    def enable(self, mask: int, pulses: Sequence[int]) -> tuple[Reason, int]:
        """Switch on the joints in ``mask`` at ``pulses``; the refusal and the joint it is about otherwise."""
        if self._motion is not BoardState.HOLD:
            return Reason.BUSY, 0
        for joint in self._joints(mask):
            if self.live >> joint & 1:
                return Reason.ALREADY_LIVE, joint
            if not self._within(joint, pulses[joint]):
                return Reason.OUT_OF_LIMITS, joint
        for joint in self._joints(mask):
            self.pulses[joint] = pulses[joint]
        self.live |= mask
        self.owned |= mask
        return Reason.NONE, 0

    def adopt(self, mask: int) -> tuple[Reason, int]:
        """Take over the live joints in ``mask`` where they are; the refusal otherwise."""
        if self._motion is not BoardState.HOLD:
            return Reason.BUSY, 0
        for joint in self._joints(mask):
            if not self.live >> joint & 1:
                return Reason.NOT_LIVE, joint
            if not self._within(joint, self.pulses[joint], self._adopt_slack):
                return Reason.OUT_OF_LIMITS, joint
        for joint in self._joints(mask):
            self.pulses[joint] = self._bounded(joint, self.pulses[joint])
        self.owned |= mask
        return Reason.NONE, 0

    def disable(self, mask: int) -> None:
        """Switch off the joints in ``mask``."""
        for joint in self._joints(mask):
            self.pulses[joint] = self._speed[joint] = 0
        self.live &= ~mask
        self.owned &= ~mask
        if not self.owned:
            self.queue.clear()
            self._motion = BoardState.HOLD

    # -- motion --------------------------------------------------------------------------------------------

    def accept(self, point: Point, now_us: int, max_lead_us: int) -> tuple[Reason, int]:
        """Queue a set-point; the refusal, and the joint it is about, otherwise."""
        if not self.owned:
            return Reason.NOT_ENABLED, 0
        for joint in self._joints(self.owned):
            if not self._within(joint, point.pulses[joint]):
                return Reason.OUT_OF_LIMITS, joint
        refusal = self.queue.refusal(point.time_us, now_us, self.played_us, max_lead_us)
        if refusal is not Reason.NONE:
            return refusal, 0
        if not len(self.queue):  # the line starts where the arm is, or, if it lags, where it shall be
            start = self.queue.anchor.pulses if self._motion is BoardState.MOVE else tuple(self.pulses)
            self.queue.anchor = Point(self.played_us, start)
            self._motion = BoardState.MOVE
        self.queue.push(point)
        return Reason.NONE, 0

    def brake(self) -> None:
        """Flush the queue and decelerate from the next frame on."""
        self.queue.clear()
        if self._motion is BoardState.MOVE:
            self._motion = BoardState.BRAKE

    def frame(self, at_us: int) -> None:
        """Run one servo frame, whose queue is evaluated at board time ``at_us`` (its start + half a frame)."""
        self.limited = 0
        self.played_us = at_us
        if self._motion is BoardState.MOVE:
            self._follow(at_us)
        elif self._motion is BoardState.BRAKE:
            self._slow_down(lambda joint: 0)  # no way to go: plain braking

    def _follow(self, at_us: int) -> None:
        self.queue.pass_until(at_us, self._joints(self.owned))
        if not len(self.queue) and not self.queue.ends_at_rest and self._moves():
            self.underruns += 1
            self._motion = BoardState.BRAKE
            self._slow_down(self._remaining_to_anchor)
            return
        for joint in self._joints(self.owned):
            target = self.queue.at(at_us, joint)
            self._speed[joint] = clip(target - self.pulses[joint], self.limits[joint].speed)
            self.pulses[joint] += self._speed[joint]
            if self.pulses[joint] != target:
                self.limited |= 1 << joint
        if not len(self.queue) and not self.limited:
            self._speed = [0] * len(self.limits)
            self._motion = BoardState.HOLD

    def _slow_down(self, remaining: Callable[[int], int]) -> None:
        for joint in self._joints(self.owned):
            limits = self.limits[joint]
            speed = decay(self._speed[joint], limits.brake)
            rest = remaining(joint)
            step = rest if rest * speed >= 0 and abs(rest) > abs(speed) else speed
            wanted = self.pulses[joint] + clip(step, limits.speed)
            self.pulses[joint] = self._bounded(joint, wanted)
            self._speed[joint] = speed if self.pulses[joint] == wanted else 0
        if not any(self._speed[joint] for joint in self._joints(self.owned)):
            self._motion = BoardState.HOLD

    def _remaining_to_anchor(self, joint: int) -> int:
        """Way to the last accepted point: in the frame in which the queue runs out it is at least reached."""
        return self.queue.anchor.pulses[joint] - self.pulses[joint]

    # -- helpers -------------------------------------------------------------------------------------------

    def _moves(self) -> bool:
        return any(abs(self._speed[joint]) > STILL for joint in self._joints(self.owned))

    def _joints(self, mask: int) -> Iterator[int]:
        return (joint for joint in range(len(self.limits)) if mask >> joint & 1)

    def _within(self, joint: int, pulse: int, slack: int = 0) -> bool:
        return self.limits[joint].lowest - slack <= pulse <= self.limits[joint].highest + slack

    def _bounded(self, joint: int, pulse: int) -> int:
        return max(self.limits[joint].lowest, min(self.limits[joint].highest, pulse))
