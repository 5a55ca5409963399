"""The scene file: what it says, and one error for each thing that is wrong with it."""

from pytest import approx, mark, raises

from picker_dynamics.errors import ConfigurationError
from picker_dynamics.robot.scene import MAX_SHAPES, read_scene

CRATE = "shapes: {crate: {box_m: [0.2, 0.3, 0.1], at_m: [0.3, 0, 0.05]}}"


def written(tmp_path, text: str):
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    return path


def test_a_scene_has_its_shapes_where_the_file_says(tmp_path):
    text = """
        frame: base_link
        shapes:
          crate: {box_m: [0.2, 0.3, 0.1], at_m: [0.3, 0, 0.05], rpy_deg: [0, 0, 90]}
          post: {cylinder_m: [0.01, 0.4], at_m: [0.1, 0.25, 0.2]}
          lamp: {sphere_m: 0.04, at_m: [0, 0.2, 0.5]}
    """
    scene = read_scene(written(tmp_path, text), "base_link")
    assert {name: (shape.kind, shape.size) for name, shape in scene.items()} == {
        "crate": ("box", (0.2, 0.3, 0.1)),
        "post": ("cylinder", (0.01, 0.4)),
        "lamp": ("sphere", (0.04,)),
    }
    assert scene["crate"].rotation @ [1.0, 0.0, 0.0] == approx([0.0, 1.0, 0.0], abs=1e-12)
    assert scene["post"].xyz == approx([0.1, 0.25, 0.2])


@mark.parametrize(
    "text, said",
    [
        (CRATE.replace("0.3,", "-0.3,", 1), "crate: box_m has -0.3 m, must be above 0"),
        (CRATE.replace("0.05]", "50]"), "crate: at_m is 50, must be <= 10"),
        (CRATE.replace("box_m: [0.2, 0.3, 0.1], ", ""), "crate: must have one of box_m, cylinder_m, sphere_m"),
        ("frame: map\n" + CRATE, "frame is 'map', must be base_link"),
        ("shapes: {" + ", ".join(f"s{k}: 1" for k in range(MAX_SHAPES + 1)) + "}", f"201 shapes, at most {MAX_SHAPES}"),
    ],
)
def test_what_is_wrong_with_a_scene_is_said_at_once(tmp_path, text, said):
    with raises(ConfigurationError, match=said):
        read_scene(written(tmp_path, text), "base_link")
