"""rviz/picker.rviz: what it shows is what the nodes publish, and it fits any namespace."""

import yaml
from arm_fixtures import picker

from picker_dynamics.bringup.rviz_config import fitted
from picker_dynamics.nodes import shapes
from picker_dynamics.resources import resource

TEXT = resource("rviz/picker.rviz").read_text(encoding="utf-8")
PLUGINS = {"Grid", "RobotModel", "TF", "MarkerArray"}


def displays(config: dict) -> dict[str, dict]:
    return {display["Name"]: display for display in config["Visualization Manager"]["Displays"]}


def test_it_shows_model_frames_and_both_kinds_of_markers():
    config = yaml.safe_load(TEXT)
    shown = displays(config)
    assert len(shown) == len(config["Visualization Manager"]["Displays"]) and all(one["Enabled"] for one in shown.values())
    assert {one["Class"] for one in shown.values()} == {f"rviz_default_plugins/{name}" for name in PLUGINS}
    assert config["Visualization Manager"]["Global Options"]["Fixed Frame"] == picker().root
    marker_displays = [one for one in shown.values() if one["Class"].endswith("MarkerArray")]
    groups = {one["Topic"]["Value"]: set(one["Namespaces"]) for one in marker_displays}
    assert groups == {"markers": {shapes.TORQUE, shapes.REFERENCE}, "markers/fixed": {shapes.NOT_HELD, shapes.SCENE}}


def test_a_namespace_changes_frames_and_nothing_else():
    before, after = yaml.safe_load(TEXT), yaml.safe_load(fitted(TEXT, "mount", "cell/left/"))
    assert after["Visualization Manager"]["Global Options"].pop("Fixed Frame") == "cell/left/mount"
    assert displays(after)["Arm as it is"].pop("TF Prefix") == "cell/left"
    assert displays(after)["TF"].pop("Filter (whitelist)") == "cell/left/.*"
    before["Visualization Manager"]["Global Options"].pop("Fixed Frame")
    displays(before)["Arm as it is"].pop("TF Prefix")
    displays(before)["TF"].pop("Filter (whitelist)")
    assert after == before
