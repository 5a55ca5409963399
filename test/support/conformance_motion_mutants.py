"""More firmwares that each break one rule: the queue, motion, braking, the watch over the host, resets."""

from dataclasses import replace

from conformance_mutants import Mutant, acked, breaks

from picker_dynamics.board.protocol import BoardState, Fault, Reason, ahead_us
from picker_dynamics.sim.output_motion import OutputMotion
from picker_dynamics.sim.setpoint_queue import Point, SetPointQueue

# -- the queue -----------------------------------------------------------------------------------------


@breaks("taken-points-are-counted-not-answered")
class AcksSetPoints(Mutant):
    def _set_point(self, raw, message, *rest):
        accepted = self._accepted
        super()._set_point(raw, message, *rest)
        if self._accepted != accepted:
            acked(self, raw)


@breaks("the-queue-is-as-long-as-it-says")
class OneTooFew(Mutant):
    def _info(self, request):
        return replace(super()._info(request), queue_capacity=self.config.queue_capacity + 1)


class Refuses(SetPointQueue):
    """Some reasons are not known to it."""

    unknown = ()

    def refusal(self, *rest):
        reason = super().refusal(*rest)
        return Reason.NONE if reason in self.unknown else reason


@breaks("points-come-in-order")
class TakesEqualTimes(SetPointQueue):
    def refusal(self, time_us, *rest):
        reason = super().refusal(time_us, *rest)
        return Reason.NONE if reason is Reason.NOT_LATER and time_us == self._points[-1].time_us else reason


@breaks("the-past-is-refused")
class TakesThePast(Refuses):
    unknown = (Reason.PAST,)


@breaks("the-past-begins-at-the-last-evaluation")
class PastIsBeforeNow(SetPointQueue):
    def refusal(self, time_us, now_us, played_us, max_lead_us):
        return super().refusal(time_us, now_us, now_us, max_lead_us)


@breaks("the-far-future-is-refused")
class TakesTheFarFuture(Refuses):
    unknown = (Reason.TOO_FAR,)


@breaks("the-lead-is-kept-closely")
class LongerLead(SetPointQueue):
    def refusal(self, time_us, now_us, played_us, max_lead_us):
        return super().refusal(time_us, now_us, played_us, max_lead_us + 40_000)


@breaks("points-leave-the-queue")
class KeepsPointsLonger(SetPointQueue):
    def pass_until(self, at_us, joints):
        super().pass_until(at_us - 60_000, joints)


@breaks("pulses-outside-are-refused")
class ClipsPulses(OutputMotion):
    def accept(self, point, now_us, max_lead_us):
        inside = tuple(self._bounded(joint, pulse) for joint, pulse in enumerate(point.pulses))
        return super().accept(Point(point.time_us, inside), now_us, max_lead_us)


@breaks("pulses-at-the-limits-are-taken")
class LimitsAreOutside(OutputMotion):
    def accept(self, point, *rest):
        for joint in self._joints(self.owned):
            if point.pulses[joint] in (self.limits[joint].lowest, self.limits[joint].highest):
                return Reason.OUT_OF_LIMITS, joint
        return super().accept(point, *rest)


# -- motion --------------------------------------------------------------------------------------------


@breaks("pulses-are-interpolated")
class Truncates(SetPointQueue):
    longer_than_us = shift = 0

    def at(self, at_us, joint):
        span = ahead_us(self._points[0].time_us, self.anchor.time_us) if len(self) else 0
        if span <= self.longer_than_us:
            return super().at(at_us, joint)
        start, elapsed = self.anchor.pulses[joint], ahead_us(at_us, self.anchor.time_us)
        return start + (self._points[0].pulses[joint] - start) * (elapsed >> self.shift) // (span >> self.shift)


@breaks("frames-play-their-middle")
class PlaysTheStart(Mutant):
    def _frame(self, start_us):
        super()._frame(start_us - self.config.frame_us // 2)


@breaks("long-lines-are-interpolated")
class CoarseOnLongLines(Truncates):
    longer_than_us, shift = 999_999, 14


@breaks("a-line-starts-where-the-arm-is")
class StartsFromTheLastPoint(OutputMotion):
    def accept(self, *rest):
        begins, anchor = not len(self.queue) and self._motion is not BoardState.MOVE, self.queue.anchor
        refusal = super().accept(*rest)
        if begins and anchor.pulses:
            self.queue.anchor = Point(self.queue.anchor.time_us - 100_000 & 0xFFFF_FFFF, self.queue.anchor.pulses)
        return refusal


@breaks("a-motion-ends-at-rest")
class AlwaysUnderruns(SetPointQueue):
    def pass_until(self, at_us, joints):
        super().pass_until(at_us, joints)
        self.ends_at_rest = False


@breaks("a-creeping-end-is-no-underrun")
class CreepingCounts(OutputMotion):
    def _moves(self):
        return any(self._speed)


@breaks("an-underrun-is-braked-and-counted")
class UnderrunIsNotCounted(OutputMotion):
    def frame(self, at_us):
        super().frame(at_us)
        self.underruns = 0


@breaks("a-late-host-is-joined-again")
class AnchorStaysBehind(OutputMotion):
    def accept(self, *rest):
        anchor, begins = self.queue.anchor, not len(self.queue)
        refusal = super().accept(*rest)
        if begins and self.underruns and anchor.pulses and refusal[0] is Reason.NONE:
            self.queue.anchor = Point(self.queue.anchor.time_us, tuple(pulse and pulse + 9 for pulse in anchor.pulses))
        return refusal


@breaks("stop-ends-a-motion")
class StopKeepsTheQueue(OutputMotion):
    def brake(self):
        if self._motion is BoardState.MOVE:
            self._motion = BoardState.BRAKE


@breaks("jitter-changes-nothing")
class PlaysByArrival(OutputMotion):
    def accept(self, point, now_us, max_lead_us):
        return super().accept(Point(now_us + 60_000 & 0xFFFF_FFFF, point.pulses), now_us, max_lead_us)


# -- speed and braking ---------------------------------------------------------------------------------


class OtherLimits(OutputMotion):
    """Plays its frames within limits that ``other`` makes of a joint's."""

    def frame(self, at_us):
        limits, self.limits = self.limits, tuple(map(self.other, self.limits))
        super().frame(at_us)
        self.limits = limits


@breaks("the-speed-limit-holds")
class Rushes(OtherLimits):
    def other(self, limit):
        return replace(limit, speed=limit.speed + 1)


class BrakesHarder(OtherLimits):
    """Twice the deceleration."""

    def other(self, limit):
        return replace(limit, brake=min(limit.speed, 2 * limit.brake))


breaks("stop-brakes-evenly")(BrakesHarder)
breaks("an-underrun-brakes-evenly")(BrakesHarder)


@breaks("braking-ends-at-the-limit")
class BrakesBeyond(OtherLimits):
    def other(self, limit):
        return replace(limit, lowest=1, highest=32767)


@breaks("a-lagging-arm-is-led-from-its-target")
class LeadsFromTheArm(OutputMotion):
    def accept(self, *rest):
        begins = not len(self.queue)
        refusal = super().accept(*rest)
        if begins:
            self.queue.anchor = Point(self.played_us, tuple(self.pulses))
        return refusal


@breaks("a-motion-leaves-no-speed-behind")
class KeepsItsSpeed(OutputMotion):
    def _follow(self, at_us):
        before = list(self.pulses)
        super()._follow(at_us)
        if self._motion is BoardState.HOLD:
            self._speed = [now - then for now, then in zip(self.pulses, before)]


# -- the watch over the host ---------------------------------------------------------------------------


class TimesOut(Mutant):
    """Watches with another patience than INFO says."""

    patience_ms = 0

    def _frame(self, start_us):
        config, self.config = self.config, replace(self.config, host_timeout_ms=self.patience_ms)
        super()._frame(start_us)
        self.config = config


@breaks("a-silent-host-is-lost")
class Impatient(TimesOut):
    patience_ms = 220


@breaks("a-lost-host-is-not-followed")
class FollowsTheLost(Mutant):
    def _latch(self, fault):
        if fault is Fault.HOST_LOST:
            self.faults |= fault.bit
        else:
            super()._latch(fault)


@breaks("only-valid-frames-count")
class HearsNoise(Mutant):
    def receive(self, data, now_us):
        self._heard_us = now_us
        super().receive(data, now_us)
