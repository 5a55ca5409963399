"""The picker's closed form: golden sample, physics, Pinocchio, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from dynamics_properties import (
    check_batch,
    check_composition,
    check_coriolis_matrix,
    check_gravity,
    check_jacobian,
    check_mass_matrix,
    check_power_balance,
    check_torque_rate,
    close,
    states,
)

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import DescriptionError, InputError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description

GOLDEN = Path(__file__).parents[1] / "data" / "golden_sample.json"
CASES = json.loads(GOLDEN.read_text(encoding="utf-8"))["systems"]["strawberry5"]["cases"]
ARMATURE = (6e-4, 7e-4, 8e-4, 5e-4, 9e-4)
URDF = resource("urdf/picker.urdf").read_text(encoding="utf-8")


def edited(*changes, extra: str = "") -> description.ArmDescription:
    """The picker's URDF with attributes set, each change (path, attributes), and more elements added."""
    robot = ElementTree.fromstring(URDF)
    for path, attributes in changes:
        element = robot.find(path)
        assert element is not None, path
        for key, value in attributes.items():
            element.set(key, value)
    robot.extend(ElementTree.fromstring(f"<robot>{extra}</robot>"))
    return description.parse(ElementTree.tostring(robot, encoding="unicode"))


def models():
    arm = description.parse(URDF)
    yield "notes", lagrangian.make("picker", **CASES[1]["params"])
    yield "general", lagrangian.make("picker", **CASES[3]["params"])
    yield "urdf", lagrangian.from_description(arm)
    with_rotors = lagrangian.from_description(arm, ARMATURE)
    yield "urdf, rotors, payload", with_rotors.with_payload(0.025, (0.02, 0, 0), np.diag((1, 2, 3)) * 1e-5)


MODELS = dict(models())
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


# --- golden sample ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_golden_sample(case):
    model = lagrangian.make("picker", **case["params"])
    q, v, a, j = (case[key] for key in ("q", "qd", "qdd", "qddd"))
    C = model.coriolis_matrix(q, v)
    actual = {
        "M": model.mass_matrix(q),
        "C": C,
        "Cqd": C @ v,
        "G": model.gravity(q),
        "tau": model.inverse_dynamics(q, v, a),
        "taudot": model.torque_rate(q, v, a, j),
        "T": model.kinetic_energy(q, v),
        "V": model.potential_energy(q),
        "fd_qdd": model.forward_dynamics(q, v, case["fd_tau"]),
        "fk": model.forward_kinematics(q),
        "J": model.jacobian(q),
    }
    for key, value in actual.items():
        expected = np.array(case[key])
        assert value.shape == expected.shape, key
        assert np.max(np.abs(value - expected)) <= 1e-12 * max(1.0, np.max(np.abs(expected))), key


# --- physics ---------------------------------------------------------------------------------------------


@every_model
def test_mass_matrix_is_symmetric_and_positive_definite(model):
    q, v, _, _ = states(model, 200, seed=1)
    check_mass_matrix(model, q, v)


@every_model
def test_coriolis_matrix_is_christoffels(model):
    q, v, _, _ = states(model, 20, seed=2)
    check_coriolis_matrix(model, q, v)


@every_model
def test_gravity_is_the_gradient_of_the_potential_energy(model):
    check_gravity(model, states(model, 20, seed=3)[0])


@every_model
def test_jacobian_is_the_gradient_of_the_tool_position(model):
    check_jacobian(model, states(model, 20, seed=4)[0])


@every_model
def test_written_out_torque_is_the_sum_of_the_matrices(model):
    check_composition(model, *states(model, 100, seed=5)[:3])


@every_model
def test_torque_rate_is_the_rate_of_the_torque(model):
    check_torque_rate(model, *states(model, 20, seed=6))


@every_model
def test_batch_equals_loop(model):
    check_batch(model, *states(model, 5, seed=7))


@every_model
def test_energy_gained_is_work_done(model):
    q, v, amplitude, _ = states(model, 1, seed=8, reach=1.0)[:, 0]
    check_power_balance(model, q, v, lambda t: 0.02 * amplitude * math.cos(5.0 * t), duration=0.4)


def test_energy_is_conserved_in_free_fall():
    model = MODELS["notes"]
    check_power_balance(model, np.full(5, 0.3), np.ones(5), lambda t: np.zeros(5), duration=0.4)


def test_mass_matrix_in_the_notes_letters():
    """M00, M11, M12 and M22 expanded by hand, as docs/derivations.md prints them."""
    p = CASES[3]["params"]
    L1, L2, L3, m1, m2, m3 = (p[key] for key in ("L1", "L2", "L3", "m1", "m2", "m3"))
    m4, I1y, I2y, I3y = p["m4"] + p["m_p"], p["I1y"], p["I2y"], p["I3y"]
    for q in states(MODELS["general"], 5, seed=12)[0]:
        c2, c3, c23 = np.cos((q[2], q[3], q[2] + q[3]))
        a = np.cumsum(q[1:4])
        reach = np.cos(a) * (L1, L2, L3)
        about = sum(p[f"I{i}x"] * np.sin(a[i - 1]) ** 2 + p[f"I{i}z"] * np.cos(a[i - 1]) ** 2 for i in (1, 2, 3))
        expected = {
            (0, 0): p["I0z"]
            + about
            + m1 * (reach[0] / 2) ** 2
            + m2 * (reach[0] + reach[1] / 2) ** 2
            + m3 * (reach[0] + reach[1] + reach[2] / 2) ** 2
            + m4 * reach.sum() ** 2,
            (1, 1): I1y
            + m1 * L1**2 / 4
            + I2y
            + m2 * (L1**2 + L2**2 / 4 + L1 * L2 * c2)
            + I3y
            + m3 * (L1**2 + L2**2 + L3**2 / 4 + 2 * L1 * L2 * c2 + L2 * L3 * c3 + L1 * L3 * c23)
            + m4 * (L1**2 + L2**2 + L3**2 + 2 * L1 * L2 * c2 + 2 * L2 * L3 * c3 + 2 * L1 * L3 * c23),
            (1, 2): I2y
            + m2 * (L2**2 / 4 + L1 * L2 * c2 / 2)
            + I3y
            + m3 * (L2**2 + L3**2 / 4 + L1 * L2 * c2 + L2 * L3 * c3 + L1 * L3 * c23 / 2)
            + m4 * (L2**2 + L3**2 + L1 * L2 * c2 + 2 * L2 * L3 * c3 + L1 * L3 * c23),
            (2, 2): I2y
            + m2 * L2**2 / 4
            + I3y
            + m3 * (L2**2 + L3**2 / 4 + L2 * L3 * c3)
            + m4 * (L2**2 + L3**2 + 2 * L2 * L3 * c3),
        }
        M = MODELS["general"].mass_matrix(q)
        for entry, value in expected.items():
            assert M[entry] == pytest.approx(value, rel=1e-12), entry


def test_stretched_arm_needs_the_known_shoulder_torque():
    """Sum of m g x by hand: 0.9785 N·m without, 1.0828 N·m with a 25 g berry at the tip."""
    bare, berry = (lagrangian.make("picker", **case["params"]) for case in CASES[:2])
    analytic_model = 9.81 * (0.15 * 0.1 + 0.12 * 0.2725 + 0.08 * 0.385 + 0.05 * 0.425)
    assert bare.gravity(np.zeros(5))[1] == pytest.approx(analytic_model, rel=1e-12)
    assert berry.gravity(np.zeros(5))[1] == pytest.approx(analytic_model + 9.81 * 0.025 * 0.425, rel=1e-12)


# --- the URDF's numbers, against Pinocchio ------------------------------------------------------------------


def agrees_with_pinocchio(arm, analytic_model, pinocchio, seed=9, count=300):
    q, v, a, j = states(analytic_model, count, seed)
    tau = pinocchio.inverse_dynamics(q, v, a)
    wrench = np.random.default_rng(seed).normal(size=(count, 6))
    for name, arguments in {
        "mass_matrix": (q,),
        "coriolis_matrix": (q, v),
        "gravity": (q,),
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, tau),
        "torque_rate": (q, v, a, j),
        "kinetic_energy": (q, v),
        "potential_energy": (q,),
        "forward_kinematics": (q,),
        "jacobian": (q,),
        "angular_jacobian": (q,),
        "required_torque": (q, v, a, wrench),
    }.items():
        close(getattr(analytic_model, name)(*arguments), getattr(pinocchio, name)(*arguments), 1e-11)


def test_agrees_with_pinocchio_with_rotors_friction_and_payload():
    arm = edited(("joint[@name='shoulder']/dynamics", {"damping": "0.03", "friction": "0.02"}))
    payload = (0.025, (0.03, 0.0, 0.0), np.diag((2.0, 3.0, 4.0)) * 1e-6)
    analytic_model, pinocchio = lagrangian.from_description(arm, ARMATURE), RigidBody(arm, ARMATURE)
    assert analytic_model.viscous[1] == 0.03 and analytic_model.coulomb[1] == 0.02
    agrees_with_pinocchio(arm, analytic_model, pinocchio)
    agrees_with_pinocchio(arm, analytic_model.with_payload(*payload), pinocchio.with_payload(*payload))


def test_agrees_with_pinocchio_for_another_arm_of_this_shape():
    """Centres of mass anywhere along the links, scissor short of the tool, base moved, turret lopsided."""
    arm = edited(
        ("joint[@name='base']/origin", {"xyz": "0.3 -0.2 0.1"}),
        ("link[@name='turret']/inertial/origin", {"xyz": "0.01 0.02 0.03"}),
        ("link[@name='upper_arm']/inertial/origin", {"xyz": "-0.03 0 0"}),
        ("link[@name='forearm']/inertial/origin", {"xyz": "0.16 0 0"}),
        ("joint[@name='scissor']/origin", {"xyz": "0.05 0 0"}),
    )
    agrees_with_pinocchio(arm, lagrangian.from_description(arm), RigidBody(arm))


def test_bodies_on_fixed_joints_are_part_of_their_link():
    """Two servos welded to the forearm, above and below, so that the pair is balanced on its axis."""
    servo = """<link name="servo{i}"><inertial><origin xyz="0.01 0 0" rpy="0.3 0 0"/><mass value="0.055"/>
        <inertia ixx="2e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
      <joint name="weld{i}" type="fixed"><parent link="forearm"/><child link="servo{i}"/>
        <origin xyz="0.09 0 {z}" rpy="{roll} 0 0"/></joint>"""
    above = servo.format(i=1, z=0.02, roll=-0.3)
    below = servo.format(i=2, z=-0.02, roll=math.pi - 0.3)
    arm = edited(extra=above + below)
    analytic_model = lagrangian.from_description(arm)
    assert analytic_model.parameters.masses[1] == pytest.approx(0.12 + 2 * 0.055)
    agrees_with_pinocchio(arm, analytic_model, RigidBody(arm))


def test_scissor_is_coupled_in_a_urdf_and_decoupled_in_the_notes():
    """A link turns with the yaw, M04 = I4 cos a3; the notes' 1/2 I4 thetadot4² has no such term."""
    q = np.array([0.4, 0.3, 0.2, 0.1, 0.7])
    assert MODELS["notes"].mass_matrix(q)[0, 4] == 0.0
    coupled = MODELS["urdf"]
    expected = coupled.parameters.I4 * math.cos(0.6)
    assert coupled.mass_matrix(q)[0, 4] == pytest.approx(expected, rel=1e-12)
    assert RigidBody(description.parse(URDF)).mass_matrix(q)[0, 4] == pytest.approx(expected, rel=1e-9)


# --- payload ---------------------------------------------------------------------------------------------


def test_payload_at_the_tool_is_the_notes_payload():
    q, v, a, _ = states(MODELS["notes"], 10, seed=10)
    bare, berry = (lagrangian.make("picker", **case["params"]) for case in CASES[:2])
    carrying = bare.with_payload(berry.payload_mass)
    assert np.array_equal(carrying.inverse_dynamics(q, v, a), berry.inverse_dynamics(q, v, a))
    assert bare.payload_mass == 0.0


def test_payload_is_replaced_not_added():
    bare = MODELS["urdf"]
    q = states(bare, 3, seed=11)[0]
    twice, once = bare.with_payload(0.3).with_payload(0.1), bare.with_payload(0.1)
    assert np.array_equal(twice.mass_matrix(q), once.mass_matrix(q))
    assert np.array_equal(bare.with_payload(0.3).with_payload(0.0).mass_matrix(q), bare.mass_matrix(q))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((0.1, (0, 0.01, 0)), "payload com y is 0.01 m"),
        ((0.1, (0, 0, -0.02)), "payload com z is -0.02 m"),
        ((0.1, (0, 0, 0), [[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]), "not diagonal"),
        ((0.1, (0, 0, 0), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        ((-0.1,), "payload mass is -0.1 kg"),
        ((math.nan,), "payload mass is nan kg"),
        (("heavy",), "payload mass is 'heavy', not a number"),
        ((0.1, (0, 0, 0), np.diag((1.0, 1.0, -1.0))), "principal moments -1, 1, 1"),
        ((0.1, (0, 0, 0), np.diag((1.0, 1.0, 3.0))), "principal moments 1, 1, 3"),
        ((0.1, (0, 0)), r"payload com has shape \(2,\)"),
        ((0.1, (math.inf, 0, 0)), "not a finite number"),
    ],
)
def test_payload_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        MODELS["urdf"].with_payload(*arguments)


# --- make ------------------------------------------------------------------------------------------------


def test_names():
    assert "picker" in lagrangian.names()


@pytest.mark.parametrize(
    "change, message, about",
    [
        ({"m5": 1.0}, "unknown parameter m5; it takes g, L1", "m5"),
        ({"m1": None}, "missing parameter m1; it takes g, L1", "m1"),
        ({"m1": -0.1}, "m1 is -0.1, must be >= 0", "m1"),
        ({"I2y": math.nan}, "I2y is nan", "I2y"),
        ({"L1": "long"}, "L1 is 'long', not a number", "L1"),
    ],
)
def test_make_refuses(change, message, about):
    parameters = {k: v for k, v in (CASES[0]["params"] | change).items() if v is not None}
    with pytest.raises(InputError, match=message) as caught:
        lagrangian.make("picker", **parameters)
    assert caught.value.subject == about


def test_make_refuses_unknown_system():
    with pytest.raises(InputError, match="no system 'crane'; there are .*picker"):
        lagrangian.make("crane", g=9.81)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.mass_matrix(np.zeros(4)), r"q has shape \(4,\), expected \(..., 5\)"),
        (lambda m: m.gravity([0, math.nan, 0, 0, 0]), r"q\[1\] is nan"),
        (lambda m: m.inverse_dynamics(np.zeros(5), np.full(5, math.inf), np.zeros(5)), r"v\[0\] is inf"),
        (lambda m: m.inverse_dynamics(np.zeros((3, 5)), np.zeros((2, 5)), np.zeros(5)), "do not broadcast"),
        (lambda m: m.torque_rate(*[np.zeros(5)] * 3, "x"), "j is 'x', not an array"),
        (lambda m: m.mass_matrix(0.0), r"q has shape \(\)"),
    ],
)
def test_states_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(MODELS["notes"])


# --- from_description: every assumption of the closed form ------------------------------------------------


@pytest.mark.parametrize(
    "changes, about, message",
    [
        ([("joint[@name='elbow']/axis", {"xyz": "0 1 0"})], "elbow", "axis"),
        ([("joint[@name='wrist']/origin", {"xyz": "0.145 0.01 0"})], "wrist", "0.01"),
        ([("joint[@name='shoulder']/origin", {"xyz": "0.02 0 0.045"})], "shoulder", "0.02"),
        ([("joint[@name='elbow']", {"type": "prismatic"})], "elbow", "slides"),
        ([("joint[@name='scissor']/axis", {"xyz": "0 1 0"})], "scissor", r"axis is \(0, 1, 0\)"),
        ([("joint[@name='scissor']", {"type": "prismatic"})], "scissor", "type is prismatic"),
        ([("joint[@name='scissor']/origin", {"xyz": "0.08 0 0.01"})], "scissor", "origin in the hand"),
        ([("joint[@name='scissor']/origin", {"rpy": "0.1 0 0"})], "scissor", "frame"),
        ([("joint[@name='scissor']/parent", {"link": "forearm"})], "scissor", "parent link is forearm"),
        ([("link[@name='forearm']/inertial/origin", {"xyz": "0.07 0 0.01"})], "forearm", "centre of mass"),
        ([("link[@name='hand']/inertial/inertia", {"ixy": "1e-6"})], "hand", "product of inertia .* is 1e-06"),
        ([("link[@name='scissor']/inertial/origin", {"xyz": "0.01 0 0"})], "scissor", "on the scissor's axis"),
        ([("link[@name='scissor']/inertial/inertia", {"ixx": "1.5e-5", "iyy": "1e-5"})], "scissor", "ixx - iyy"),
    ],
)
def test_from_description_refuses(changes, about, message):
    with pytest.raises(DescriptionError, match=message) as caught:
        lagrangian.from_description(edited(*changes))
    assert about in str(caught.value)
    assert "\n" not in str(caught.value)


def test_from_description_refuses_another_kind_of_arm():
    one_joint = description.parse("""<robot name="pendulum"><link name="base"/><link name="rod"/>
        <joint name="swing" type="continuous"><parent link="base"/><child link="rod"/></joint></robot>""")
    with pytest.raises(DescriptionError, match="pendulum"):
        lagrangian.from_description(one_joint)


def test_from_description_refuses_wrong_armature():
    with pytest.raises(InputError, match="armature"):
        lagrangian.from_description(description.parse(URDF), [1e-3] * 4)
    with pytest.raises(InputError, match=r"armature has shape \(1, 5\), expected a number or \(5,\)"):
        lagrangian.from_description(description.parse(URDF), [[1e-3] * 5])
    with pytest.raises(InputError, match="armature of joint elbow is -0.001"):
        lagrangian.from_description(description.parse(URDF), [0, 0, -1e-3, 0, 0])
