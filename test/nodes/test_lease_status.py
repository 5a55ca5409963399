"""Who moves the arm is told by fields, whatever the names have in them."""

from picker_dynamics.nodes.lease_status import holder_fields, holders_in
from pytest import mark

from picker_dynamics.execution.lease import Holder, Kind
from picker_dynamics.nodes.diagnostics import OK, status, values_of


@mark.parametrize(
    "holders",
    [
        [],
        [Holder(Kind.DRIVER, "a, driver b")],
        [Holder(Kind.GOAL, identifier="goal, 7"), Holder(Kind.STREAM), Holder(Kind.GOAL, "ada", identifier="ada/1")],
    ],
    ids=["nobody", "one", "several"],
)
def test_holders_come_back_as_they_were_told(holders):
    assert holders_in(values_of(status(OK, "controller", "for people", **holder_fields(holders)))) == holders


def test_a_kind_that_is_not_known_is_nobody():
    assert holders_in({"holder.0.kind": "another", "holder.0.name": "a"}) == []
