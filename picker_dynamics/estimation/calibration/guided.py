"""A calibration from its first open step to the last one, or some of its steps; goes on where it was left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from picker_dynamics.errors import InputError, PickerError

from .belief import Belief
from .person import OpenQuestionError, TakenBackError
from .steps import STEPS
from .workplace import Workplace


def table(session) -> list[tuple[str, str, str]]:
    """Of every step: name, what it is, how far it is."""
    rows = []
    for step in STEPS:
        count = session.count(step.NAME)
        state = f"done {session.done[step.NAME]}" if step.NAME in session.done else f"{count} answers" if count else "open"
        rows.append((step.NAME, f"{step.TITLE} (about {step.MINUTES} min)", state))
    return rows


def walk(work: Workplace, belief: Belief, only: Sequence[str] = ()) -> Belief:
    """Walk all steps that are not done, or ``only`` those; what others told counts as far as it is on file.

    Raises:
        PickerError: see the steps; what was answered is kept.
    """
    wanted = [step for step in STEPS if not only or step.NAME in only]
    all_done = all(step.NAME in work.session.done for step in wanted)
    for step in STEPS:
        here = step in wanted
        if here and only and all_done and step.NAME != "result":
            _perhaps_again(work, step)
        before = step.NAME in work.session.done
        if not here or before and step.NAME != "result":
            belief = _on_file(work, belief, step) if before else belief
            continue
        number = STEPS.index(step) + 1
        answers = work.session.count(step.NAME)
        goes_on = f", going on after {answers} answers" if answers else ""
        work.person.tell(
            f"\nStep {number} of {len(STEPS)}, {step.NAME}: {step.TITLE} (about {step.MINUTES} min){goes_on}", "title"
        )
        began_s = time.monotonic()
        belief = _walked(work, belief, step)
        work.session.finish(step.NAME)
        if step.NAME != "result":
            work.session.reopen("result")
        minutes, seconds = divmod(int(time.monotonic() - began_s), 60)
        work.person.tell(f"{step.NAME} is done, {minutes} min {seconds} s; kept in {work.session.path}", "hint")
    return belief


def _walked(work: Workplace, belief: Belief, step) -> Belief:
    """A step, again where an answer was taken back: what else is on file is not asked again."""
    while True:
        try:
            return step.walk(work, belief)
        except TakenBackError:
            continue


def _on_file(work: Workplace, belief: Belief, step) -> Belief:
    """What a step told before, from its answers alone."""
    quiet = replace(work, person=None, mover=None)
    with work.person.busy(f"{step.NAME}: as answered"):
        try:
            return step.walk(quiet, belief)
        except OpenQuestionError as error:
            work.session.reopen(step.NAME)
            raise InputError(
                f"{step.NAME} is open again, for something it rests on has changed ({error}): run the same command "
                "to go on with it",
                subject=step.NAME,
            ) from error


def _perhaps_again(work: Workplace, step) -> None:
    """A step that is done, and asked for by name: anew, if the person says so."""
    guide = work.guide(step.NAME)
    if (
        guide.choose(
            "again",
            f"{step.NAME} is done. Again, from its start? What is there is kept as a backup.",
            (("yes", "anew"), ("no", "leave it")),
            keep=False,
        )
        == "yes"
    ):
        kept = work.session.backup()
        work.person.tell(f"the session as it was is kept as {kept.name}", "hint")
        work.session.forget(step.NAME)


def leave(work: Workplace) -> None:
    """At the end: the arm holds, or is switched off if the person says so."""
    if work.mover is None or not work.arm_is_on:
        return
    guide = work.guide("power")
    try:
        answer = guide.choose(
            "leave",
            "The arm holds. Leave it so, or switch it off? It falls then: support it first.",
            (("", "it holds"), ("off", "all outputs off, I support it")),
            keep=False,
        )
        if answer == "off":
            work.mover.outputs.switch_off()
    except PickerError as error:
        guide.tell(f"{error}; the arm holds", "warning")
