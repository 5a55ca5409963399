"""Pick and place: legs that are checked before the first begins, and made by a simulated arm."""

from dataclasses import replace

import any_arms
import numpy as np
from arm_fixtures import picker
from pytest import approx, mark, raises

from picker_dynamics import Arm
from picker_dynamics.errors import GoalRefusedError, InputError, LimitError, PickerError, UnreachableError
from picker_dynamics.robot.inverse_kinematics import ChainKinematics
from picker_dynamics.robot.kinematic_tree import sample_poses
from picker_dynamics.robot.scene import scene_shape
from picker_dynamics.robot.tip_target import tip_target
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.session.local import simulate
from picker_dynamics.trajectory.straight_line import off_line

BERRY, TRAY, UP = np.array([0.26, 0.08, 0.17]), np.array([0.10, -0.20, 0.11]), np.array([0.0, 0.0, 1.0])
TIP = ChainKinematics(picker())


def legs(found):
    return [leg.name for leg in found.legs]


def off_mm(tip, target):
    return 1e3 * float(np.linalg.norm(np.asarray(tip) - target))


def test_a_berry_is_picked_and_placed_by_typical_servos():
    """The true tip is near the berry when the jaws close on it, and stays on the straight ways in and out."""
    seen: dict[str, tuple] = {}
    with Arm.simulated(real_time=False) as arm:

        def tell(leg, share):
            if not share:
                seen.setdefault(leg.name, (arm.tip, arm.payload, float(arm.q[4])))

        found = arm.pick(BERRY, progress=tell)
        assert legs(found) == ["approach", "in", "pause of 0.5 s", "close", "payload 25 g", "pause of 0.5 s", "out"]
        assert off_mm(seen["in"][0], BERRY) == approx(40.0, abs=4.0) and seen["in"][2] == approx(1.2, abs=0.03)
        assert off_mm(seen["close"][0], BERRY) < 3.0 and seen["close"][1] == 0.0
        assert seen["out"][1] == 0.025 and seen["out"][2] == approx(0.0, abs=0.03)
        arm.wait(1.0)
        assert off_mm(arm.tip, BERRY + 0.03 * UP) < 4.0 and arm.payload == 0.025
        for name, begin, end in (("in", 1, BERRY), ("out", 6, BERRY + 0.03 * UP)):
            path = next(leg.path for leg in found.legs if leg.name == name)
            tips = TIP.forward(path.sample(np.linspace(0.0, path.duration, 200))[0])
            assert off_line(tips, tips[0], end).max() < 5e-4, (name, begin)
        placed = arm.place(TRAY, progress=tell)
        assert legs(placed) == ["above", "in", "pause of 0.5 s", "open", "payload 0 g", "pause of 0.5 s", "out"]
        assert off_mm(seen["open"][0], TRAY) < 4.0 and arm.payload == 0.0 and arm.q[4] == approx(1.2, abs=0.03)


def test_with_lift_0_it_comes_out_the_way_it_went_in():
    arm = Arm.offline()
    found = arm.pick(BERRY, lift=0.0, approach=0.05, pitch=0.0)
    ends = {leg.name: TIP.forward(leg.plan.target) for leg in found.legs}
    assert off_mm(ends["out"], ends["approach"]) < 0.1
    assert ends["approach"] == approx(BERRY - 0.05 * np.array([BERRY[0], BERRY[1], 0.0]) / np.hypot(*BERRY[:2]), abs=1e-4)
    assert {round(float(TIP.pitch(leg.plan.target)), 3) + 0.0 for leg in found.legs} == {0.0}


def test_nothing_moves_where_a_later_leg_may_not_be_made():
    """A berry of 90 g can be reached, and cannot be lifted out again."""
    with Arm.simulated(real_time=False) as arm:
        before = arm.q
        assert arm.pick(BERRY, check=True)
        with raises(GoalRefusedError, match=r"pick refused, nothing moves; (payload 90 g|out): shoulder needs"):
            arm.pick(BERRY, mass=0.09)
        arm.wait(0.2)
        assert arm.q == approx(before, abs=1e-3) and arm.payload == 0.0


REFUSED = {
    "2 kg": ({"mass": 2.0}, GoalRefusedError, "payload 2000 g: shoulder needs"),
    "in the table": ({"tip": (0.2, 0.0, -0.02)}, LimitError, "the target: .*below the floor"),
    "far away": ({"tip": (0.5, 0.0, 0.2)}, UnreachableError, "out of reach by"),
    "7 kg": ({"mass": 7.0}, InputError, r"mass is 7 kg, at most 5 kg: are these grams\?"),
    "no way in": ({"approach": 0.0}, InputError, "a way in"),
    "a long way in": ({"approach": 5.0}, InputError, r"approach is 5 m, at most 0.5 m: are these millimetres\?"),
    "jaws beyond their limit": ({"closed": -0.5}, LimitError, "closed is -28.6 deg, scissor goes from 0.0 deg to 68.8 deg"),
}


@mark.parametrize("what", REFUSED)
def test_what_cannot_be_picked_is_one_clear_answer(what):
    changes, kind, said = REFUSED[what]
    with raises(kind, match=said) as caught:
        Arm.offline().pick(**{"tip": BERRY} | changes)
    assert "\n" not in str(caught.value)


def test_an_arm_without_a_gripper_picks_nothing():
    with raises(InputError, match="rrp has no gripper"):
        Arm.offline("rrp").pick((1.0, 0.0, 0.5))


@mark.parametrize("name", ["so101", "the same as it is shipped"])
def test_an_arm_of_any_shape_that_has_a_gripper_picks_what_its_tip_reaches(name):
    arm = Arm.offline("so101" if name not in any_arms.NAMES else any_arms.urdf(name))
    chain, home = ChainKinematics(arm.description), arm.q
    poses = (home + 0.4 * (pose - home) for pose in sample_poses(arm.description, 5, 3))
    targets = [tip for tip in map(chain.forward, poses) if tip[2] > 0.05]
    assert len(targets) > 2
    for target in targets:
        found = arm.pick(target, mass=0.01)
        moves = {leg.name: leg.plan.target for leg in found.legs}
        assert off_mm(chain.forward(moves["in"]), target) < 0.1
        into = target - chain.forward(moves["approach"])
        assert np.linalg.norm(into) == approx(0.04, abs=1e-4) and into @ chain.direction(moves["in"]) > 0.98 * 0.04


def with_scene(**shapes):
    made = {name: scene_shape(name, "box", *one, np.eye(3), "scene") for name, one in shapes.items()}
    return Arm(replace(equipment(), scene=made))


def test_a_berry_in_a_box_or_below_a_shelf_is_not_touched():
    """In the box it cannot be reached; below the shelf it could be, but not lifted out."""
    crate = with_scene(crate=([0.1, 0.1, 0.1], [0.26, 0.08, 0.17]))
    with raises(PickerError, match="pick refused, nothing moves; .*crate"):
        crate.pick(BERRY)
    shelf = with_scene(shelf=([0.2, 0.2, 0.01], [0.24, 0.08, 0.30]))
    assert shelf.pick(BERRY, lift=0.0)
    with raises(PickerError, match="nothing moves; out: payload would come within .* of shelf"):
        shelf.pick(BERRY, lift=0.07)


def test_where_the_direct_way_is_blocked_it_goes_by_home():
    """The servo under the hand passes 21 mm over the post on the way home, where 19 are kept; on the direct one it hits it."""
    known, berry = equipment(overlay="typical"), (0.24, 0.1, 0.12)
    low = tip_target(picker(), (0.067, -0.241, 0.052), near=known.home)
    post = scene_shape("post", "box", [0.02, 0.02, 0.050], [0.2122, -0.1036, 0.025], np.eye(3), "scene")
    assert legs(Arm(replace(known, scene={}), pose=low).pick(berry))[0] == "approach"
    assert legs(Arm(replace(known, scene={"post": post}), pose=low).pick(berry))[:2] == ["by way of home", "approach"]


def test_jaws_close_where_the_servo_map_says_that_they_touch_and_a_straight_leg_goes_on_where_commands_began_anew():
    """They press no harder than the grip torque; commands begin anew a little off, as after a machine stood still."""
    known, shifts = equipment(overlay="typical"), []
    *others, scissor = known.servos.servos
    grip = replace(scissor.grip, contact=0.4)
    thick = replace(known, servos=replace(known.servos, servos=(*others, replace(scissor, grip=grip))))
    simulated = simulate(thick.known)
    with Arm(thick, simulated) as arm:

        def tell(leg, share):
            if leg.name == "payload 25 g" and not shifts:
                shifts.append(arm.held + [0.0, 0.0, 0.0, 0.0, -0.02])
                arm.session.arm.controller.execution.start(shifts[0])

        arm.pick(BERRY, progress=tell)
        assert shifts and arm.held[4] == approx(0.4) and off_mm(arm.tip, BERRY + 0.03 * UP) < 4.0
        arm.grip(0.39)
        arm.wait(0.5)
        assert 0.0 < -simulated.plant.torque[4] <= grip.torque + scissor.coulomb + 0.01
        with raises(GoalRefusedError, match="scissor needs its set-point .* its pulses allow"):
            arm.grip(0.0)
