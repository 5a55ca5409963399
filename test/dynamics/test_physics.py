"""What holds for any arm, of every model: golden sample, matrices, energies, batches, payload, and what is refused."""

import math

import dynamics_properties as properties
import numpy as np
from dynamics_models import BRANCHED_URDF, CONSTANT_INERTIA, LOAD, MODELS, WITHOUT_TIP
from dynamics_properties import close, states
from golden import agrees, check_dynamics, load_cases, model_of
from pytest import mark, raises
from small_urdfs import TWO_LINKS

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.systems import spatial_2r
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import InputError
from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import tool_pose

every_model = mark.parametrize("name", MODELS)
every_builder = mark.parametrize("build", [RigidBody, lagrangian.ChainModel])
GOLDEN = [(system, i) for system, cases in load_cases().items() for i in range(len(cases))]


@mark.parametrize("system, case", GOLDEN)
def test_golden_sample(system, case):
    model, case = model_of(system, case), load_cases()[system][case]
    q, more = case["q"], {}
    if system == "chain":
        B, Cc, pairs = model.velocity_product_matrices(q)
        assert [list(pair) for pair in pairs] == case["pairs"]
        more = {"b": model.christoffel(q), "B": B, "Cc": Cc}
        more |= {"fk_pos": model.forward_kinematics(q), "fk_R": tool_pose(model.description, q).rotation}
    if system == "spatial_2r":
        more = {"R": spatial_2r.tip_rotation(model.constants, q), "Jw": spatial_2r.tip_angular_jacobian(model.constants, q)}
    if system == "rrp":
        more = {"detJ": np.linalg.det(model.jacobian(q))}
    if system == "two_link":
        A, B = lagrangian.linearise(model, q, case["qd"], case["lin"]["T"])
        agrees(A, case["lin"]["A"], "A")
        agrees(B, case["lin"]["B"], "B")
    assert set(case) >= {"C", "T", "V"} | ({"fk", "J"} if system not in WITHOUT_TIP else set()) or system == "chain"
    check_dynamics(model, case, **more)


@every_model
def test_every_term_fits_the_others(name):
    """M, C, g and J are what differences of energies and of the tool say; torques are their sum, and change as motion does."""
    model = MODELS[name]
    q, v, a, j = states(model, 20, seed=1)
    properties.check_mass_matrix(model, q)
    if name in CONSTANT_INERTIA:
        assert np.all(model.mass_matrix(q) == model.mass_matrix(q[0])) and not model.coriolis_matrix(q, v).any()
    else:
        properties.check_coriolis_matrix(model, q, v)
    properties.check_gravity(model, q)
    properties.check_composition(model, q, v, a)
    properties.check_torque_rate(model, q, v, a, j)
    if name not in WITHOUT_TIP:
        properties.check_jacobian(model, q)
    properties.check_batch(model, *states(model, 3, seed=7), tip=name not in WITHOUT_TIP)


@every_model
def test_energy_gained_is_work_done(name):
    model = MODELS[name]
    q, v, amplitude, _ = (x[0] / 3.0 for x in states(model, 1, seed=8))
    amplitude = 3.0 * amplitude * np.diag(model.mass_matrix(q))
    properties.check_power_balance(model, q, v, lambda t: amplitude * math.cos(5.0 * t), duration=0.2)


# --- payload ---------------------------------------------------------------------------------------------


@every_builder
@mark.parametrize("text", [TWO_LINKS, BRANCHED_URDF], ids=["two links", "branched"])
def test_payload_is_a_link_at_the_tool(build, text):
    """The same as a URDF in which the payload is a link on a fixed joint."""
    arm = description.parse(text)
    load = f"""<link name="berry"><inertial><origin xyz="0.05 0.02 -0.1"/><mass value="0.3"/>
        <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
      <joint name="grip" type="fixed"><parent link="{arm.tool}"/><child link="berry"/></joint></robot>"""
    bare, built_in = build(arm), build(description.parse(text.replace("</robot>", load)))
    loaded = bare.with_payload(*LOAD)
    q, v, a, _ = states(bare, 10, seed=11)
    close(loaded.inverse_dynamics(q, v, a), built_in.inverse_dynamics(q, v, a), 1e-13)
    close(loaded.mass_matrix(q), built_in.mass_matrix(q), 1e-13)
    assert (bare.payload_mass, loaded.payload_mass) == (0.0, 0.3)


@mark.parametrize(
    "arguments, message",
    [
        ((-0.1,), "payload mass is -0.1 kg"),
        ((0.1, (1e300, 0, 0)), "payload com is 1e[+]300 m, at most 2"),
        ((1e3,), "payload mass is 1000 kg, at most 100"),
    ],
)
def test_payload_refused(arguments, message):
    for name in ("picker, urdf", "tree, rotors", "Pinocchio, rotors"):
        with raises(InputError, match=message):
            MODELS[name].with_payload(*arguments)


# --- refused ---------------------------------------------------------------------------------------------


@every_model
def test_states_refused(name):
    model = MODELS[name]
    n, good = model.n, np.zeros(model.n)
    for call, message in (
        (lambda: model.mass_matrix(np.zeros(n + 1)), rf"q has shape \({n + 1},\), expected \(..., {n}\)"),
        (lambda: model.inverse_dynamics(good, np.full(n, math.nan), good), r"v\[0\] is nan"),
        (lambda: model.forward_dynamics(good, good, "hold"), "tau is 'hold', must be a finite number"),
        (lambda: model.forward_dynamics(np.zeros((3, n)), np.zeros((2, n)), good), "do not broadcast: q"),
    ):
        with raises(InputError, match=message):
            call()
