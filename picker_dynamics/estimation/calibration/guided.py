"""Runner of the calibration steps: from the first open one to the last, or some of them; goes on where it was left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from picker_dynamics.errors import InputError, PickerError

from .arm_estimate import ArmEstimate
from .person import OpenQuestionError, TakenBackError
from .step_context import StepContext
from .steps import STEPS

QUICK = ("map", "droop", "result")
"""Steps of a quick calibration."""


def table(session) -> list[tuple[str, str, str]]:
    """Table of the steps: name, what each is, how far it is."""
    rows = []
    for step in STEPS:
        count = session.count(step.NAME)
        state = f"done {session.done[step.NAME]}" if step.NAME in session.done else f"{count} answers" if count else "open"
        rows.append((step.NAME, f"{step.TITLE} (about {step.MINUTES} min)", state))
    return rows


def run_steps(context: StepContext, estimate: ArmEstimate, only: Sequence[str] = ()) -> ArmEstimate:
    """Walk all steps that are not done, or ``only`` those; what others told counts as far as it is on file.

    Raises:
        PickerError: see the steps; what was answered is kept.
    """
    only = only or (QUICK if context.quick else ())
    wanted = [step for step in STEPS if not only or step.NAME in only]
    all_done = all(step.NAME in context.session.done for step in wanted)
    for step in STEPS:
        here = step in wanted
        if here and only and all_done and step.NAME != "result" and not context.quick:
            _perhaps_again(context, step)
        before = step.NAME in context.session.done
        if not here or before and step.NAME != "result":
            estimate = _on_file(context, estimate, step) if before else estimate
            continue
        number = STEPS.index(step) + 1
        answers = context.session.count(step.NAME)
        progress = f", going on after {answers} answers" if answers else ""
        context.tell(f"\nStep {number} of {len(STEPS)}, {step.NAME}: {step.TITLE} (about {step.MINUTES} min){progress}", "title")
        began_s = time.monotonic()
        estimate = _run(context, estimate, step)
        context.session.finish(step.NAME)
        if step.NAME != "result":
            context.session.reopen("result")
        minutes, seconds = divmod(int(time.monotonic() - began_s), 60)
        context.tell(f"{step.NAME} is done, {minutes} min {seconds} s; kept in {context.session.path}", "hint")
    return estimate


def _run(context: StepContext, estimate: ArmEstimate, step) -> ArmEstimate:
    """A step, again where an answer was taken back: what else is on file is not asked again."""
    while True:
        try:
            return step.run_step(context.of(step.NAME), estimate)
        except TakenBackError:
            continue


def _on_file(context: StepContext, estimate: ArmEstimate, step) -> ArmEstimate:
    """What a step told before, from its answers alone."""
    quiet = replace(context, person=None, mover=None)
    with context.busy(f"{step.NAME}: as answered"):
        try:
            return step.run_step(quiet.of(step.NAME), estimate)
        except OpenQuestionError as error:
            context.session.reopen(step.NAME)
            raise InputError(
                f"{step.NAME} is open again, for something it rests on has changed ({error}): run the same command "
                "to go on with it",
                subject=step.NAME,
            ) from error


def _perhaps_again(context: StepContext, step) -> None:
    """A step that is done, and asked for by name: anew, if the person says so."""
    context = context.of(step.NAME)
    if (
        context.choose(
            "again",
            f"{step.NAME} is done. Again, from its start? What is there is kept as a backup.",
            (("yes", "anew"), ("no", "leave it")),
            keep=False,
        )
        == "yes"
    ):
        kept = context.session.backup()
        context.tell(f"the session as it was is kept as {kept.name}", "hint")
        context.forget()


def leave(context: StepContext) -> None:
    """Leave the arm at the end: it holds, or is switched off if the person says so."""
    if context.mover is None or not context.arm_is_on:
        return
    context = context.of("power")
    try:
        answer = context.choose(
            "leave",
            "The arm holds. Leave it so, or switch it off? It falls then: support it first.",
            (("", "it holds"), ("off", "all outputs off, I support it")),
            keep=False,
        )
        if answer == "off":
            context.mover.outputs.switch_off()
    except PickerError as error:
        context.tell(f"{error}; the arm holds", "warning")
