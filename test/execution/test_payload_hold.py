"""Payload hold: what is told to hang at the tool against what Pinocchio says the servos bear, where the arm may be."""

import arm_fixtures
import numpy as np
import pytest

from picker_dynamics.errors import InfeasibleError
from picker_dynamics.execution.checks import TorqueLimits
from picker_dynamics.execution.validator import require_graspable, require_holdable, unbearable

MODEL, SERVOS = arm_fixtures.rigid_body(), arm_fixtures.servos()
LIMITS = TorqueLimits.of_servos(SERVOS)
HOME, REST = np.array(SERVOS.home), np.array(SERVOS.rest)


def heaviest(q, limit) -> float:
    """With which a joint gives exactly its limit: gravity grows in proportion to the payload."""
    empty = MODEL.gravity(q)
    kilogram = MODEL.with_payload(1.0).gravity(q) - empty
    return float(min((np.sign(k) * limit - g) / k for k, g, limit in zip(kilogram, empty, limit) if abs(k) > 1e-6))


def test_a_payload_is_held_to_the_poses_where_the_arm_may_be():
    at_home, at_rest = (heaviest(q, SERVOS.hold_share * (SERVOS.stall_torque + 0.0216) - 0.0216) for q in (HOME, REST))
    assert at_home < at_rest
    require_holdable(MODEL.with_payload(0.99 * at_home), LIMITS, (HOME,))
    with pytest.raises(InfeasibleError, match="shoulder needs 0.6419 N·m to hold its pose, allowed 0.6394") as refused:
        require_holdable(MODEL.with_payload(1.01 * at_home), LIMITS, (HOME,))
    assert (refused.value.subject, refused.value.value > refused.value.limit) == ("shoulder", True)
    require_holdable(MODEL.with_payload(0.99 * at_rest), LIMITS, (HOME, REST))
    with pytest.raises(InfeasibleError, match="shoulder needs"):
        require_holdable(MODEL.with_payload(1.01 * at_rest), LIMITS, (HOME, REST))


def test_an_arm_is_driven_with_what_a_motion_may_bear_and_always_without_payload():
    """More than it may stay with: a stop on the way is no lock."""
    stays, borne = heaviest(HOME, LIMITS.hold), 1.05 * heaviest(HOME, LIMITS.hold)
    assert unbearable(MODEL.with_payload(borne), LIMITS, borne, HOME) == "" and borne > stays
    heavy = heaviest(HOME, LIMITS.peak)
    said = unbearable(MODEL.with_payload(heavy), LIMITS, heavy, HOME)
    assert "cannot be borne where the arm stands: shoulder needs" in said and "picker payload 0" in said
    stretched = np.array([0.0, 0.0, 0.0, 0.0, 0.0])
    assert np.abs(MODEL.with_payload(1.0).gravity(stretched)).max() > LIMITS.peak.max()
    assert unbearable(MODEL.with_payload(1.0), LIMITS, 0.0, stretched) == ""


@pytest.mark.parametrize("com", [(0.9, 0.0, 0.0), (0.0, 0.0, -0.9), (0.0, 0.9, 0.0)])
def test_a_payload_far_from_the_tool_is_refused_in_whatever_direction_it_is(com):
    require_graspable(0.05, com, LIMITS)
    with pytest.raises(InfeasibleError, match=r"0.3 kg, 0.90 m from the tool .*2.65 N·m, more than any joint holds, base"):
        require_graspable(0.3, com, LIMITS)
