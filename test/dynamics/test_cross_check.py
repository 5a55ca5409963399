"""Two models compared: what agrees passes, every kind of difference is found and named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.cross_check import UNITS, compare, sample_states
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import CrossCheckError
from picker_dynamics.robot import description

ARM = picker()
LIMITS = (ARM.lower, ARM.upper, ARM.velocity)


def analytic_model(text: str = ARM.urdf):
    return lagrangian.from_description(description.parse(text), ARMATURE)


def pinocchio(text: str = ARM.urdf):
    return RigidBody(description.parse(text), ARMATURE)


def compared(ours=None, theirs=None, samples=20, **options):
    """Our model of the picker, or the one given, against Pinocchio's."""
    return compare(ours or analytic_model(), theirs or pinocchio(), *LIMITS, samples=samples, **options)


def test_the_picker_agrees_with_payload_rotors_and_friction():
    friction = ARM.urdf.replace('damping="0" friction="0"', 'damping="0.02" friction="0.01"')
    assert friction != ARM.urdf
    report = compared(analytic_model(friction), pinocchio(friction), samples=1000, payload=0.025)
    assert list(report.residuals) == list(UNITS)
    assert report.worst <= 1e-12
    assert report.worst <= 1e-9
    report.require(1e-9)


@pytest.mark.parametrize(
    "old, new, term",
    [
        ('<mass value="0.12"/>', '<mass value="0.1200001"/>', "g"),
        ('iyy="3.000e-4"', 'iyy="3.001e-4"', "M"),
        ('<origin xyz="0.145 0 0"/>', '<origin xyz="0.1451 0 0"/>', "tool"),
        ('damping="0" friction="0"', 'damping="0.001" friction="0"', "tau"),
    ],
)
def test_a_difference_in_the_urdf_is_found(old, new, term):
    assert old in ARM.urdf
    report = compared(analytic_model(ARM.urdf.replace(old, new)), samples=50)
    assert report.residuals[term] > 1e-9
    with pytest.raises(CrossCheckError) as caught:
        report.require()
    assert caught.value.value == report.worst and caught.value.limit == 1e-9


def test_a_wrong_payload_is_found_though_the_bare_arms_agree():
    class Forgetful(RigidBody):
        def with_payload(self, mass, com=(0.0, 0.0, 0.0), inertia=None):
            return super().with_payload(0.9 * mass, com, inertia)

    forgetful = Forgetful(ARM, ARMATURE)
    assert compared(forgetful).worst <= 1e-9
    report = compared(forgetful, payload=0.025)
    assert not report.worst <= 1e-9
    with pytest.raises(CrossCheckError, match=r"payload 0.025 kg"):
        report.require()


def test_nan_is_no_agreement():
    class Broken(RigidBody):
        def gravity(self, q):
            g = super().gravity(q)
            g[7, 2] = math.nan
            return g

    for pair in ((Broken(ARM, ARMATURE), pinocchio()), (pinocchio(), Broken(ARM, ARMATURE))):
        report = compared(*pair)
        assert report.worst_term == "g" and math.isnan(report.worst) and not report.worst <= 1e-9
        with pytest.raises(CrossCheckError, match="disagree in g of elbow: .*nan"):
            report.require()


def test_what_vanishes_is_not_divided_by_nothing():
    """A turntable: g, the tool and its Jacobian are zero, up to rounding that is nobody's mistake."""
    text = """<robot name="turntable"><link name="base"/><link name="plate"><inertial><mass value="1"/>
        <inertia ixx="1e-2" ixy="0" ixz="0" iyy="1e-2" iyz="0" izz="2e-2"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="plate"/><axis xyz="0 0 1"/>
      </joint></robot>"""

    class Rounding(RigidBody):
        def gravity(self, q):
            return super().gravity(q) + 1e-18

        def forward_kinematics(self, q):
            return super().forward_kinematics(q) + 1e-18

        def jacobian(self, q):
            return super().jacobian(q) + 1e-18

        def coriolis_matrix(self, q, v):
            return super().coriolis_matrix(q, v) + 1e-18

    arm = description.parse(text)
    compare(Rounding(arm), RigidBody(arm), arm.lower, arm.upper, arm.velocity, samples=10).require()


def test_samples_are_seeded_and_within_the_limits():
    q, v, a = sample_states(*LIMITS, samples=500, seed=3)
    again = sample_states(*LIMITS, samples=500, seed=3)
    other = sample_states(*LIMITS, samples=500, seed=4)
    assert all(np.array_equal(x, y) for x, y in zip((q, v, a), again))
    assert not np.array_equal(q, other[0])
    assert (q >= ARM.lower).all() and (q <= ARM.upper).all() and (np.abs(v) <= ARM.velocity).all()
    assert np.ptp(q, axis=0) == pytest.approx(ARM.upper - ARM.lower, rel=0.05)
    assert (np.abs(a).max(axis=0) > 5 * ARM.velocity).all()
