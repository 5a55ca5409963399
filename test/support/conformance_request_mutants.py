"""More firmwares that each break one rule: sequences, requests, stop and faults, switching outputs on and off."""

from conformance_mutants import Mutant, Obeys, breaks, message_of

from picker_dynamics.board.protocol import (
    Adopt,
    BoardState,
    Disable,
    Fault,
    Hello,
    Ping,
    Reason,
    Relax,
    Reset,
    SetPoint,
    Stop,
    TelemetryPeriod,
    ahead_us,
)
from picker_dynamics.board.protocol.messages import Unknown
from picker_dynamics.sim.output_motion import OutputMotion

# -- sequences and requests ----------------------------------------------------------------------------


@breaks("gaps-are-counted")
class CountsOneTooMany(Mutant):
    def _age(self, sequence):
        missed = self._missed
        age = super()._age(sequence)
        self._missed += self._missed > missed
        return age


@breaks("the-sequence-wraps")
class WrapIsAGap(Mutant):
    def _age(self, sequence):
        self._missed += self._newest is not None and sequence < self._newest - 60_000
        return super()._age(sequence)


@breaks("only-good-frames-are-counted")
class CountsOtherVersions(Mutant):
    def _handle(self, raw, *rest):
        if raw.version != 1:
            self._age(raw.sequence)
        super()._handle(raw, *rest)


@breaks("a-request-is-carried-out-once")
class CarriesOutAgain(Mutant):
    def _handle(self, raw, now_us):
        message = message_of(raw)
        repeated = isinstance(message, TelemetryPeriod) and self._newest == raw.sequence
        if repeated:
            self._carry_out(message, now_us)
        super()._handle(raw, now_us)


@breaks("enable-is-carried-out-once")
class AnswersAnew(Mutant):
    def _handle(self, raw, *rest):
        if raw.sequence == self._newest:
            self._request_age = 0xFFFF
        super()._handle(raw, *rest)


@breaks("an-older-request-is-stale")
class NothingIsStale(Mutant):
    def _handle(self, raw, *rest):
        if self._newest is not None and (self._newest - raw.sequence & 0xFFFF) > self._request_age:
            self._request_age = 0xFFFF
        super()._handle(raw, *rest)


@breaks("a-lost-request-is-carried-out-late")
class LateIsStale(Mutant):
    def _handle(self, raw, *rest):
        request = not isinstance(message_of(raw), (Hello, Ping, SetPoint, Unknown))
        if request and self._newest is not None and ahead_us(raw.sequence << 16, self._newest << 16) < 0:
            self._request_age = 0
        super()._handle(raw, *rest)


@breaks("what-is-not-understood-is-not-remembered")
class RemembersNonsense(Mutant):
    def _refuse(self, raw, reason, detail):
        super()._refuse(raw, reason, detail)
        if reason is Reason.BAD_LENGTH:
            self._request_reply, self._request_age = (reason, detail), 0


@breaks("hello-begins-anew")
class RemembersTheLastHost(Mutant):
    def _handle(self, raw, *rest):
        newest, age = self._newest, self._request_age
        super()._handle(raw, *rest)
        if isinstance(message_of(raw), Hello) and newest is not None:
            self._newest, self._request_age = newest, age


@breaks("a-long-stream-makes-nothing-stale")
class AgeWraps(Mutant):
    def _age(self, sequence):
        newest, old = self._newest, self._request_age
        age = super()._age(sequence)
        if newest is not None and old != 0xFFFF:
            ahead = sequence - newest & 0xFFFF
            self._request_age = old + (ahead if ahead < 0x8000 else 0) & 0xFFFF
        return age


# -- stop, faults, an idle board -----------------------------------------------------------------------


@breaks("stop-is-latched-and-reset-clears-it")
class StopsOnlyMotions(Obeys):
    kind = Stop

    def obey(self, message):
        return (Reason.NONE, 0) if self.state is not BoardState.MOVE else None


@breaks("faults-refuse")
class AdoptsInFault(Obeys):
    kind = Adopt

    def obey(self, message):
        return self._motion.adopt(message.mask) if self.faults else None


@breaks("refusals-are-counted")
class CountsNoRefusals(Mutant):
    def _set_point(self, raw, message, *rest):
        before = self._rejected
        super()._set_point(raw, message, *rest)
        self._rejected = before


@breaks("idle-reasons-in-order")
class OwnerFirst(Mutant):
    def _set_point(self, raw, message, *rest):
        faults, self.faults = self.faults, self.faults if self.owned else 0
        super()._set_point(raw, message, *rest)
        self.faults = faults


@breaks("adopt-needs-a-live-joint")
class AdoptsWhatIsOff(OutputMotion):
    def adopt(self, mask):
        return super().adopt(mask & self.live)


@breaks("an-idle-board-misses-no-host")
class AlwaysWatches(Mutant):
    def _frame(self, start_us):
        if start_us - self._heard_us > 1000 * self.config.host_timeout_ms:
            self._latch(Fault.HOST_LOST)
        super()._frame(start_us)


@breaks("hello-changes-nothing")
class HelloResets(Mutant):
    def _handle(self, raw, *rest):
        if isinstance(message_of(raw), Hello):
            self.faults = 0
        super()._handle(raw, *rest)


@breaks("disable-is-always-carried-out")
class NoDisableInFault(Obeys):
    kind = Disable

    def obey(self, message):
        return (Reason.FAULT, self.faults) if self.faults else None


# -- outputs -------------------------------------------------------------------------------------------


@breaks("adopt-keeps-the-pulses")
class AdoptRounds(OutputMotion):
    def adopt(self, mask):
        refusal = super().adopt(mask)
        self.pulses = [pulse and pulse // 39 * 39 for pulse in self.pulses]
        return refusal


@breaks("hold-stands-still")
class Creeps(OutputMotion):
    def frame(self, at_us):
        super().frame(at_us)
        if self.state is BoardState.HOLD:
            self.pulses = [pulse + bool(pulse) for pulse in self.pulses]


@breaks("enable-refuses-what-is-live")
class EnablesAgain(OutputMotion):
    def enable(self, mask, pulses):
        self.live &= ~mask
        return super().enable(mask, pulses)


@breaks("enable-starts-where-told")
class EnablesAll(OutputMotion):
    def enable(self, mask, pulses):
        refusal = super().enable(mask, pulses)
        if refusal[0] is Reason.NONE:
            self.live = (1 << len(self.limits)) - 1
            self.pulses = [pulse or 12000 for pulse in self.pulses]
        return refusal


@breaks("enable-is-all-or-nothing")
class EnablesWhatItCan(OutputMotion):
    def enable(self, mask, pulses):
        refusal = super().enable(mask, pulses)
        if refusal[0] is Reason.ALREADY_LIVE:
            super().enable(mask & ~self.live, pulses)
        return refusal


@breaks("enable-refuses-pulses-outside")
class EnablesAnywhere(OutputMotion):
    def enable(self, mask, pulses):
        return super().enable(mask, [self._bounded(joint, pulse) for joint, pulse in enumerate(pulses)])


@breaks("switching-on-waits-for-standstill")
class AdoptsInMotion(OutputMotion):
    def adopt(self, mask):
        self.owned |= mask & self.live
        return Reason.NONE, 0


@breaks("enable-waits-for-standstill")
class EnablesInMotion(OutputMotion):
    def enable(self, mask, pulses):
        motion, self._motion = self._motion, BoardState.HOLD
        refusal = super().enable(mask, pulses)
        self._motion = motion
        return refusal


@breaks("pulses-of-others-are-ignored")
class ChecksAllPulses(OutputMotion):
    def accept(self, point, *rest):
        if self.owned and not all(self._within(joint, pulse) for joint, pulse in enumerate(point.pulses)):
            return Reason.OUT_OF_LIMITS, 0
        return super().accept(point, *rest)


@breaks("disable-leaves-the-others")
class DisableFlushes(OutputMotion):
    def disable(self, mask):
        super().disable(mask)
        self.queue.clear()


@breaks("disable-of-the-last-flushes")
class DisableKeepsTheQueue(OutputMotion):
    def disable(self, mask):
        for joint in self._joints(mask):
            self.pulses[joint] = 0
        self.live &= ~mask
        self.owned &= ~mask


@breaks("relax-lets-go")
class RelaxStops(Obeys):
    kind = Relax

    def obey(self, message):
        self._latch(Fault.STOPPED)


@breaks("relax-needs-no-reset")
class NoRelaxInFault(Obeys):
    kind = Relax

    def obey(self, message):
        return (Reason.FAULT, self.faults) if self.faults else None


@breaks("stop-and-reset-switch-nothing")
class StopSwitchesOff(Obeys):
    kind = Stop

    def obey(self, message):
        self._motion.disable(self.live)


# -- the owner's faults --------------------------------------------------------------------------------


@breaks("outputs-carry-the-pulses")
class OffByFive(Mutant):
    @property
    def pulses_us(self):
        return tuple(pulse and pulse + 5.0 for pulse in super().pulses_us)


@breaks("a-low-supply-is-a-fault")
@breaks("a-dead-output-is-a-fault")
class ResetForgives(Obeys):
    kind = Reset

    def obey(self, message):
        self.faults = 0
        return Reason.NONE, 0


@breaks("a-reset-keeps-the-outputs")
class ForgetsOutputs(Mutant):
    def reboot(self, now_us, *, keep_outputs=True, silence_us=0, fault=None):
        super().reboot(now_us, keep_outputs=False, silence_us=silence_us, fault=fault)


@breaks("a-restart-is-latched")
class RestartsInSilence(Mutant):
    def reboot(self, now_us, *, fault=None, **options):
        super().reboot(now_us, **options)
