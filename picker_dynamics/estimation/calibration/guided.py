"""Runner of the calibration steps: from the first open one to the last, or some of them; goes on where it was left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from picker_dynamics.errors import InputError

from .arm_estimate import ArmEstimate
from .person import OpenQuestionError, TakenBackError
from .session import Session
from .step_context import StepContext
from .steps import STEPS

QUICK = ("map", "droop", "result")
"""Steps of a quick calibration."""


def table(session: Session) -> list[tuple[str, str, str]]:
    """Table of the steps: name, what each is, how far it is."""
    rows = []
    for step in STEPS:
        count, done = session.count(step.NAME), session.done.get(step.NAME)
        state = f"done {done}" if done else f"{count} answers" if count else "open"
        rows.append((step.NAME, f"{step.TITLE} (about {step.MINUTES} min)", state))
    return rows


def run_steps(context: StepContext, estimate: ArmEstimate, only: Sequence[str] = ()) -> ArmEstimate:
    """Walk all steps that are not done, or ``only`` those; what others told counts as far as it is on file.

    Raises:
        PickerError: see the steps; what was answered is kept.
    """
    session, chosen = context.session, only or (QUICK if context.quick else ())
    wanted = [step.NAME for step in STEPS if not chosen or step.NAME in chosen]
    again = bool(only) and all(name in session.done for name in wanted)
    for number, step in enumerate(STEPS, start=1):
        name, here = step.NAME, context.of(step.NAME)
        if again and name in wanted and name != "result":
            _perhaps_again(here)
        if name in session.done and (name not in wanted or name != "result"):
            estimate = _on_file(here, estimate, step)
        elif name in wanted:
            answers = session.count(name)
            progress = f", going on after {answers} answers" if answers else ""
            context.tell(f"\nStep {number} of {len(STEPS)}, {name}: {step.TITLE} (about {step.MINUTES} min){progress}", "title")
            began_s = time.monotonic()
            estimate = _run(here, estimate, step)
            session.finish(name)
            if name != "result":
                session.reopen("result")
            minutes, seconds = divmod(int(time.monotonic() - began_s), 60)
            context.tell(f"{name} is done, {minutes} min {seconds} s; kept in {session.path}", "hint")
    return estimate


def _run(context: StepContext, estimate: ArmEstimate, step) -> ArmEstimate:
    """Walk a step, again where an answer was taken back: what else is on file is not asked again."""
    while True:
        try:
            return step.run_step(context, estimate)
        except TakenBackError:
            continue


def _on_file(context: StepContext, estimate: ArmEstimate, step) -> ArmEstimate:
    """What a step told before, from its answers alone."""
    try:
        with context.busy(f"{step.NAME}: as answered"):
            return step.run_step(replace(context, person=None, mover=None), estimate)
    except OpenQuestionError as error:
        context.session.reopen(step.NAME)
        why = f"{step.NAME} is open again, for something it rests on has changed ({error}): run the same command to go on with it"
        raise InputError(why, subject=step.NAME) from error


def _perhaps_again(context: StepContext) -> None:
    """Open a step again that is done, and asked for by name, if the person says so."""
    text = f"{context.step} is done. Again, from its start? What is there is kept as a backup."
    if context.choose("again", text, {"yes": "anew", "no": "leave it"}, keep=False) == "yes":
        context.tell(f"the session as it was is kept as {context.session.backup().name}", "hint")
        context.forget()
