"""Collisions: what looking for them costs, whom it refuses, and whether anything is hit: ``python -m benchmarks.collision``.

Motions of the picker between random poses among the shapes of ``SCENE``, of 2 s, from rest to rest, that pass every other check.
Distances and contacts are MuJoCo's, of what the URDF draws.  Accepted ones are made, one after the other, by the simulated arm
with typical servos and compensation ``full``, and its true pose is looked at for contacts 100 times a second.  It makes 200;
``python -m benchmarks.collision 2000`` takes more than ten minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace

import numpy as np

from benchmarks.mujoco_shapes import MujocoShapes
from picker_dynamics.errors import GoalRefusedError, InfeasibleError, LimitError
from picker_dynamics.execution.collision import CollisionCheck
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.session.local import simulate
from picker_dynamics.trajectory.trajectory import from_points

MOTIONS, CHECKS, DURATION_S, SEED = 200, 300, 2.0, 1
LOOKS = 41
"""Instants along a motion at which MuJoCo measures distances."""

REFUSALS = GoalRefusedError, InfeasibleError, LimitError
SCENE = """
frame: base_link
shapes:
  crate: {box_m: [0.10, 0.16, 0.08], at_m: [0.24, 0.05, 0.04]}
  post: {cylinder_m: [0.01, 0.40], at_m: [0.12, -0.18, 0.20]}
  lamp: {sphere_m: 0.04, at_m: [0.05, 0.16, 0.36]}
"""


def run(motions: int = MOTIONS, checks: int = CHECKS, tell=lambda _text: None) -> dict:
    """Figures; ``motions``: accepted ones that are made, ``checks``: motions that are timed and measured."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(SCENE)
        file.flush()
        arm = equipment(overlay="typical", scene=file.name)
        truth, session = MujocoShapes(arm.description, arm.scene, 0.0, drawn=True), simulate(arm.known, scene=file.name)
        return {"checked": _checked(arm, truth, checks), "made": _made(arm, truth, session, motions, tell)}


def _checked(arm, truth: MujocoShapes, count: int) -> dict:
    """Processor time of a check [ms], and who is refused; one check for all, as in the controller."""
    validator = arm.validator()
    (collision,) = (check for check in validator.further if isinstance(check, CollisionCheck))
    others = replace(validator, further=tuple(check for check in validator.further if check is not collision))
    targets, took, alone = _targets(arm.description, count, SEED), [], []
    clear = refused_clear = refused = near = 0
    begin, still = arm.home, np.zeros(arm.description.n)
    while len(took) < count:
        way = from_points(
            [DURATION_S], [next(targets)(begin)], start=(begin, still, still), joint_names=validator.model.joint_names
        )
        try:
            others.validate(way)
        except REFUSALS:
            continue
        started = time.thread_time()
        broken = any([usage.broken for usage in validator.usages(validator.sampled(way))])
        took.append(1e3 * (time.thread_time() - started))
        motion = validator.sampled(way)
        started = time.thread_time()
        collision.worst(motion)
        alone.append(1e3 * (time.thread_time() - started))
        kept = {}
        for pair, least in zip(collision.collision.pairs, collision.kept(motion, False).tolist()):
            kept[pair.names] = max(kept.get(pair.names, 0.0), least)
        looks = way.sample(np.linspace(0.0, DURATION_S, LOOKS))[0]
        shares = [min(truth.distance(q, *names) for q in looks) / least for names, least in kept.items() if least > 0.0]
        clear, refused_clear = clear + (min(shares) >= 2.0), refused_clear + (broken and min(shares) >= 2.0)
        refused, near = refused + broken, near + (not broken and min(shares) < 1.0 - 1e-3)
        if not broken:
            begin = way.end
    return {
        "motions": count,
        "ms": {"median": _rounded(np.median(took)), "p95": _rounded(np.percentile(took, 95)), "max": _rounded(max(took))},
        "collision_alone_ms": {"median": _rounded(np.median(alone)), "p95": _rounded(np.percentile(alone, 95))},
        "refused": refused,
        "of_twice_the_margin": clear,
        "refused_of_twice_the_margin_percent": _rounded(100.0 * refused_clear / max(clear, 1)),
        "accepted_below_the_margin": near,
    }


def _targets(description, count: int, seed: int):
    """Functions of a pose to one some way, a tenth to all of it, towards a random one."""
    shares = np.random.default_rng(seed).uniform(0.1, 1.0, 400 * count)
    for pose, share in zip(sample_poses(description, 400 * count, seed), shares):
        yield lambda begin, pose=pose, share=share: begin + share * (pose - begin)


def _rounded(value: float) -> float:
    return round(float(value), 2)


def _made(arm, truth: MujocoShapes, session, count: int, tell) -> dict:
    """Accepted motions made by the simulated arm."""
    session.listeners.append(lambda rows: contacts.extend(truth.contacts(row[1]) for row in rows))
    targets, contacts, asked, done = _targets(arm.description, count, SEED + 1), [], 0, 0
    while done < count:
        asked += 1
        try:
            session.move_to(DURATION_S, next(targets)(session.reference()))
        except REFUSALS:
            continue
        done += 1
        if done % 100 == 0:
            tell(f"  {done} motions made, {sum(1 for one in contacts if one)} samples with contact")
    touching = sorted({name for one in contacts for name in one})
    return {
        "motions": done,
        "asked": asked,
        "samples": len(contacts),
        "with_contact": sum(map(bool, contacts)),
        "touching": touching,
    }


if __name__ == "__main__":
    asked = {"motions": int(sys.argv[1])} if sys.argv[1:] else {}
    print(json.dumps(run(**asked, tell=lambda text: print(text, file=sys.stderr, flush=True)), indent=2))
