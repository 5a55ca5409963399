"""Runner of the calibration steps: from the first open one to the last, or some of them; goes on where it was left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace

from picker_dynamics.errors import InputError

from .arm_estimate import ArmEstimate
from .questions import Context, OpenQuestionError, TakenBackError
from .session import backup_name
from .steps import STEPS


def run_steps(context: Context, estimate: ArmEstimate, only: Sequence[str] = ()) -> ArmEstimate:
    """Walk all steps that are not done, or ``only`` those; what others told counts as far as it is on file.

    Raises:
        PickerError: see the steps; what was answered is kept.
    """
    session, wanted = context.session, [step.NAME for step in STEPS if not only or step.NAME in only]
    again = bool(only) and all(name in session.done for name in wanted)
    for step in STEPS:
        name = context.step = step.NAME
        if again and name in wanted and name != "result":
            shutil.copy2(session.path, kept := backup_name(session.path))
            context.tell(f"{name} is done: again, from its start; the session as it was is kept as {kept.name}", "hint")
            context.forget()
        if name in session.done and (name not in wanted or name != "result"):
            try:
                estimate = step.run_step(replace(context, person=None, mover=None), estimate)
            except OpenQuestionError as error:
                session.reopen(name)
                why = f"{name} is open again: what it rests on has changed ({error}). Run the same command to continue"
                raise InputError(why, name) from error
        elif name in wanted:
            answers = session.count(name)
            progress = f", going on after {answers} answers" if answers else ""
            context.tell(f"\n{name}: {step.TITLE} (about {step.MINUTES} min){progress}", "title")
            context.tell(step.INTRODUCTION)
            estimate = _walked(context, estimate, step.run_step)
            session.finish(name)
            if name != "result":
                session.reopen("result")
            context.tell(f"{name} is done, and kept in {session.path}", "hint")
    return estimate


def _walked(context: Context, estimate: ArmEstimate, run_step: Callable[[Context, ArmEstimate], ArmEstimate]) -> ArmEstimate:
    """Walk a step, again where an answer was taken back: what else is on file is not asked again."""
    while True:
        try:
            return run_step(context, estimate)
        except TakenBackError:
            continue
