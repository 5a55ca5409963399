"""docs/ros.md and docs/ros_parameters.md say what the nodes that run say: every topic, service, action and parameter.

In `make test`: only running nodes tell all that rclpy adds to what they declare.
"""

import re

import pytest
from places import ROOT, loaded
from ros_graph import own_domain

pytestmark = pytest.mark.ros


reference = loaded(ROOT / "tools" / "ros_reference.py")
DOC = "".join(page.read_text(encoding="utf-8") for page in reference.DOCS)
TABLES = reference.tables(DOC)
KEYS = [("topics", ""), ("services", ""), ("actions", ""), *(("parameters", table) for table in reference.PARAMETERS)]


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("mujoco", reason="a simulated torque-controlled arm needs MuJoCo")
    with own_domain():
        return reference.collect()


def test_it_has_a_table_for_everything():
    assert sorted(TABLES) == sorted(KEYS)


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
def test_a_table_is_what_the_running_nodes_say(found, key):
    wanted = reference.as_it_should_be(key[0], found[key], TABLES[key])
    assert TABLES[key] == wanted, "python tools/ros_reference.py writes the tables anew"
    assert found[key] or (key[0] == "actions" and not reference.HAVE_CONTROL_MSGS)


def test_every_row_is_explained():
    lifecycle = {
        "`hardware/get_available_states`",
        "`hardware/get_available_transitions`",
        "`hardware/get_state`",
        "`hardware/get_transition_graph`",
    }
    for rows in TABLES.values():
        assert [row for row in rows if row[-1] in ("", "?") and row[0] not in lifecycle] == []


def test_numbers_have_units():
    """A number that is no count, share or factor is said in a unit."""
    free = {"seed", "speed_scaling"}
    for key, rows in TABLES.items():
        for row in (row for row in rows if key[0] == "parameters" and row[1] in ("double", "int", "double[]")):
            assert row[0].strip("`") in free or re.search(r"\[[^\]]+\]", row[-1]) or "relative" in row[-1], row
