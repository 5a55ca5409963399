"""What the hardware says is decided on by its fields, whatever it says for people."""

import pytest

from picker_dynamics.board.session import State
from picker_dynamics.nodes.diagnostics import OK, status
from picker_dynamics.nodes.hardware_status import HardwareStatus


@pytest.mark.parametrize("commanded", [True, False])
@pytest.mark.parametrize("state", list(State))
def test_each_field_is_read_as_it_is_published(state, commanded):
    said = status(
        OK, "hardware", "for people", state=state.value, problem="p", commanded=commanded, confirmed=False, provenance="modelled"
    )
    assert HardwareStatus.of(said) == HardwareStatus(state, "p", commanded, False, "modelled", "for people")
    assert HardwareStatus.of(said).active == (state is State.ACTIVE)


def test_what_is_not_said_is_not_believed_to_be_active():
    assert HardwareStatus.of(status(OK, "hardware", "active")) == HardwareStatus(message="active")
    assert not HardwareStatus.of(status(OK, "hardware", "active", state="another")).active
