"""Arms from their URDF alone: commands on a simulated arm, home, tip, park, status, a refused pose; processes that hold one."""

import json
import re

import any_arms
import numpy as np
from pytest import approx, mark
from ros_graph import own_domain, running_graph, running_nodes
from served_arm import Served

from picker_dynamics.bringup import bringup
from picker_dynamics.resources import resource
from picker_dynamics.robot import servo_arm
from picker_dynamics.robot.inverse_kinematics import ChainKinematics

SERVOS = str(any_arms.urdf("four_joint").with_suffix(".servos.yaml"))
OFF_M = 0.005
"""How far the true tip may be from where it was told to be: 5 mm, the demo's tolerance, for each 0.425 m of arm."""


def moved(run_picker, *words):
    """What the command said."""
    code, said, complaints = run_picker(*words)
    assert code == 0, complaints
    return said


@mark.long
@mark.parametrize("name", [*any_arms.NAMES, "shipped"])
def test_an_arm_moves_from_its_urdf_alone(name, run_picker):
    urdf = resource("urdf/so101.urdf") if name == "shipped" else any_arms.urdf(name)
    with Served(str(urdf), SERVOS if name == "four_joint" else "") as served:
        arm, own = served.session.arm.description, served.session.arm.servos
        chain = ChainKinematics(arm)
        target = np.round(chain.forward(own.home + 0.2 * (own.rest - own.home)), 4)
        if not np.linalg.norm(own.rest - own.home):
            target = np.round(chain.forward(own.home + 0.1 * (np.array(arm.upper) - own.home)), 4)
        assert moved(run_picker, "home").startswith("there after")
        moved(run_picker, "move", "--tip", *map(str, target))
        served.spend(1.0)
        assert np.linalg.norm(served.tip - target) < OFF_M * max(1.0, chain.length / 0.425)
        if servo_arm.gripper_of(arm, own) is not None:
            at = "--payload", "0", "--approach-mm", "10", "--lift-mm", "0"
            assert moved(run_picker, "pick", *map(str, target), *at).rstrip().splitlines()[-1].startswith("picked in")
        code, _, complaints = run_picker("move", "--tip", "9", "9", "9")
        assert code == 5 and re.search(r"out of reach by \d+\.\d mm; the nearest point .* mm$", complaints.strip())
        unit = "0.5" if arm.position_units[0] == "m" else "720"
        code, _, complaints = run_picker("move", "--joints", f"{arm.joint_names[0]}={unit}")
        assert code == 6 and arm.joint_names[0] in complaints
        moved(run_picker, "park")
        served.spend(0.5)
        assert np.linalg.norm(served.tip - chain.forward(own.rest)) < OFF_M * max(1.0, chain.length / 0.425)
        code, said, _ = run_picker("status")
        assert code == 0 and "active" in said and "holding" in said
        assert all(f"  {joint} " in said for joint in arm.joint_names)


@mark.long
@mark.ros
@mark.parametrize("name, servos", [("four_joint", SERVOS), ("so101", "")])
def test_the_processes_of_an_arm_of_ones_own_know_the_same_arm(name, servos, tmp_path, run_picker):
    """By a servo map and by assumed servos.  Nothing moves: an arm whose processes have to wait for a processor stops."""
    path = str(any_arms.urdf(name))
    arm, _ = servo_arm.load(path, servos)
    chain = ChainKinematics(arm)
    with own_domain(), running_graph(tmp_path, urdf=path, servos=servos) as running:
        told = json.loads(moved(run_picker, "status", "--json"))
        assert told["arm"] == arm.name and tuple(told["joints"]) == arm.joint_names
        running.stands()
        assert np.linalg.norm(running.board.truth().tip - told["tip_m"]) < OFF_M * max(1.0, chain.length / 0.425)


ARMS = """
defaults: {bandwidth_rad_s: 20, peak_share: 0.9, hold_share: 0.7, tip_speed_m_s: 0.4}
arms:
  pan_tilt: {control: torque, home: {pan: 0.2, tilt: 0.3}}
"""


@mark.long
@mark.ros
def test_a_torque_controlled_arm_of_ones_own_moves_too(tmp_path, run_picker):
    (tmp_path / "arms.yaml").write_text(ARMS)
    urdf = str(any_arms.urdf("pan_tilt"))
    made = bringup.graph(bringup.Options(urdf=urdf, arms=str(tmp_path / "arms.yaml")))
    with own_domain(), running_nodes(made, tmp_path / "nodes.log", ("pan", "tilt")) as running:
        running.client.wait_holding()
        assert moved(run_picker, "jog", "pan", "5").endswith("pan 16.5 deg, tilt 17.2 deg\n")
        assert moved(run_picker, "park").endswith("pan 11.5 deg, tilt 17.2 deg\n"), "home: its joints are measured"
        told = json.loads(moved(run_picker, "status", "--json"))
        assert told["arm"] == "pan_tilt" and told["joints"]["tilt"]["position"] == approx(0.3, abs=0.02)
        code, _, complaints = run_picker("weigh")
        assert code == 5 and "set the payload by picker payload" in complaints


# -- without a graph ---------------------------------------------------------------------------------------


def test_a_real_board_is_never_driven_by_assumed_servos(run_picker, tmp_path):
    path = str(any_arms.urdf("four_joint"))
    code, _, complaints = run_picker("up", "--port", str(tmp_path / "tty"), "--urdf", path)
    assert code == 4 and "four_joint on hardware needs its servo map: give --servos" in complaints
    code, _, complaints = run_picker("firmware", "header", "--urdf", path, "--output", "-")
    assert code == 4 and "needs its servo map: give --servos" in complaints


def test_an_arm_that_is_too_strong_to_sag_by_25_g_says_so(run_picker):
    """How well it could tell is said before anybody is asked to do anything, and no mass is told that may be nothing."""
    code, said, complaints = run_picker("weigh", "--simulated", "--urdf", str(any_arms.urdf("z1")), "--visits", "4", "--json")
    (half_g,) = re.search(r"the mass to ± (\S+) g \(95 %\), too uncertain: such stiff servos", complaints).groups()
    assert (code, said) == (5, "") and float(half_g) > 1.96 * 25.0 and complaints.count("\n") == 1


@mark.long
@mark.parametrize("name, grams, seed", [("four_joint", 25, 1), ("so101", 25, 0), ("z1", 200, 1), ("panda", 1000, 0)])
def test_what_an_arm_holds_is_weighed_by_an_inclinometer_on_one_of_its_links(name, grams, seed, run_picker):
    """Four poses, the arm known as by a calibration: the interval has the truth; a heavy one is known well (seeded).

    Of the z1 the intervals of seeds 0 to 39 had the truth, all 40; errors were 0.81 sd (root mean square), 1.9 sd at seed 0.
    """
    words = "--payload", str(grams), "--heaviest", str(max(grams, 100)), "--visits", "4", "--seed", str(seed)
    code, said, complaints = run_picker("weigh", "--simulated", "--urdf", str(any_arms.urdf(name)), *words, "--json")
    assert code == 0, complaints
    weighed = json.loads(said)
    (low, high), truth = weighed["interval_kg"], weighed["truth_kg"]
    assert low < truth < high and (grams == 25 or high - low < truth)
