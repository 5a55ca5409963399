"""What holds for any arm, of every model: golden sample, matrices, energies, batches, payload, and what is refused."""

from __future__ import annotations

import math

import dynamics_properties as properties
import numpy as np
from dynamics_models import BRANCHED, BRANCHED_URDF, CONSTANT_INERTIA, LOAD, MODELS, WITHOUT_TIP
from dynamics_properties import close, states
from golden import check_dynamics, load_cases, model_of
from pytest import mark, raises
from small_urdfs import TOOL_ON_THE_BASE, TWO_LINKS, broken

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.robot import description

every_model = mark.parametrize("name", MODELS)
every_tip = mark.parametrize("name", [name for name in MODELS if name not in WITHOUT_TIP])
every_builder = mark.parametrize("build", [RigidBody, lagrangian.chain_of])
loaded_models = mark.parametrize("name", ["picker, urdf", "tree, rotors", "Pinocchio, rotors"])


def sampled(name, count, seed):
    """A model, and random states of it."""
    return MODELS[name], *states(MODELS[name], count, seed)


# --- golden sample ---------------------------------------------------------------------------------------


@mark.parametrize("system, case", [(system, i) for system, cases in load_cases().items() for i in range(len(cases))])
def test_golden_sample(system, case):
    model, case = model_of(system, case), load_cases()[system][case]
    more = {}
    if system == "chain":
        q = case["q"]
        B, Cc, pairs = model.velocity_product_matrices(q)
        assert [list(pair) for pair in pairs] == case["pairs"]
        more = {"b": model.christoffel(q), "B": B, "Cc": Cc}
        more |= {"fk_pos": model.forward_kinematics(q), "fk_R": model.orientation(q)}
    if system == "spatial_2r":
        more = {"R": model.orientation(case["q"]), "Jw": model.angular_jacobian(case["q"])}
    assert set(case) >= {"C", "T", "V"} | ({"fk", "J"} if system not in WITHOUT_TIP else set()) or system == "chain"
    check_dynamics(model, case, **more)


# --- physics ---------------------------------------------------------------------------------------------


@every_model
def test_mass_matrix_is_symmetric_and_positive_definite(name):
    model, q, v, _, _ = sampled(name, 200, seed=1)
    properties.check_mass_matrix(model, q)


@every_model
def test_coriolis_matrix_is_christoffels(name):
    model, q, v, _, _ = sampled(name, 20, seed=2)
    if name in CONSTANT_INERTIA:
        assert np.all(model.mass_matrix(q) == model.mass_matrix(q[0]))
        assert not model.coriolis_matrix(q, v).any()
    else:
        properties.check_coriolis_matrix(model, q, v)


@every_model
def test_gravity_is_the_gradient_of_the_potential_energy(name):
    properties.check_gravity(*sampled(name, 20, seed=3)[:2])


@every_tip
def test_jacobian_is_the_gradient_of_the_tool_position(name):
    properties.check_jacobian(*sampled(name, 20, seed=4)[:2])


@every_model
def test_inverse_dynamics_is_the_sum_of_the_matrices(name):
    properties.check_composition(*sampled(name, 100, seed=5)[:4])


@every_model
def test_torque_rate_is_the_rate_of_the_torque(name):
    properties.check_torque_rate(*sampled(name, 20, seed=6))


@every_model
def test_batch_equals_loop(name):
    properties.check_batch(*sampled(name, 5, seed=7), tip=name not in WITHOUT_TIP)


@every_model
def test_energy_gained_is_work_done(name):
    model, q, v, amplitude, _ = sampled(name, 1, seed=8)
    q, v, amplitude = q[0] / 3.0, v[0] / 3.0, amplitude[0] * np.diag(model.mass_matrix(q[0]))
    properties.check_power_balance(model, q, v, lambda t: amplitude * math.cos(5.0 * t), duration=0.4)


@every_builder
def test_continuous_joints_are_angles(build):
    for arm in (BRANCHED, description.parse(broken(('type="revolute"', 'type="continuous"')))):
        model = build(arm)
        q, v, a, _ = states(model, 5, seed=10)
        turns = 2 * math.pi * np.array([joint.type == "continuous" for joint in arm.movable]) * (1, -2, 1, -2)[: arm.n]
        close(model.inverse_dynamics(q + turns, v, a), model.inverse_dynamics(q, v, a), 1e-12)


# --- payload ---------------------------------------------------------------------------------------------


@every_builder
@mark.parametrize("text", [TWO_LINKS, BRANCHED_URDF], ids=["two links", "branched"])
def test_payload_is_a_link_at_the_tool(build, text):
    """The same as a URDF in which the payload is a link on a fixed joint."""
    arm = description.parse(text)
    load = f"""<link name="berry"><inertial><origin xyz="0.05 0.02 -0.1"/><mass value="0.3"/>
        <inertia ixx="3e-3" ixy="1e-3" ixz="0" iyy="2e-3" iyz="0" izz="4e-3"/></inertial></link>
      <joint name="grip" type="fixed"><parent link="{arm.tool}"/><child link="berry"/></joint></robot>"""
    bare, built_in = build(arm), build(description.parse(text.replace("</robot>", load)))
    loaded = bare.with_payload(*LOAD)
    q, v, a, _ = states(bare, 10, seed=11)
    close(loaded.inverse_dynamics(q, v, a), built_in.inverse_dynamics(q, v, a), 1e-13)
    close(loaded.mass_matrix(q), built_in.mass_matrix(q), 1e-13)
    assert (bare.payload_mass, loaded.payload_mass) == (0.0, 0.3)


@loaded_models
@mark.parametrize(
    "arguments, message",
    [
        ((-0.1,), "payload mass is -0.1 kg"),
        ((0.1, (1e300, 0, 0)), "payload com is 1e[+]300 m, at most 2"),
        ((1e3,), "payload mass is 1000 kg, at most 100"),
        ((0.1, (0, 0, 0), np.eye(3) * 1e300), "beyond that of the largest payload"),
        ((0.1, (0, 0, 0), np.arange(9.0).reshape(3, 3)), "not symmetric"),
        ((0.1, (0, 0, 0), np.diag((1.0, 1.0, 3.0))), "principal moments 1, 1, 3"),
    ],
)
def test_payload_refused(name, arguments, message):
    with raises(InputError, match=message):
        MODELS[name].with_payload(*arguments)


@every_builder
def test_payload_is_refused_where_no_joint_carries_it(build):
    with raises(InputError, match="fixed to the base: no joint would carry the payload"):
        build(description.parse(TOOL_ON_THE_BASE)).with_payload(0.1)


# --- refused ---------------------------------------------------------------------------------------------


@every_model
def test_states_refused(name):
    model = MODELS[name]
    n, good = model.n, np.zeros(model.n)
    for call, message in (
        (lambda: model.mass_matrix(np.zeros(n + 1)), rf"q has shape \({n + 1},\), expected \(..., {n}\)"),
        (lambda: model.inverse_dynamics(good, np.full(n, math.nan), good), r"v\[0\] is nan"),
        (lambda: model.forward_dynamics(good, good, "hold"), "tau is 'hold', not an array"),
        (lambda: model.forward_dynamics(np.zeros((3, n)), np.zeros((2, n)), good), "do not broadcast: q"),
    ):
        with raises(InputError, match=message):
            call()
