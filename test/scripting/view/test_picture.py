"""The arm as the page draws it: shapes, colours and limits; and which files a page may ask for."""

import json

import numpy as np

from picker_dynamics.robot import description
from picker_dynamics.robot.kinematic_tree import link_poses
from picker_dynamics.scripting.equipment import equipment
from picker_dynamics.scripting.view.picture import mesh_file, mesh_names, picture

MESHED = """<robot name="meshed"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0"
 iyy="1" iyz="0" izz="1"/></inertial>{visuals}</link><joint name="j" type="revolute"><parent link="base"/><child link="arm"/>
 <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def meshed(path, *files: str):
    visuals = "".join(f'<visual><geometry><mesh filename="{file}"/></geometry></visual>' for file in files)
    path.write_text(MESHED.format(visuals=visuals))
    return description.load(path)


def test_poses_lead_to_the_links_as_the_kinematic_tree_has_them():
    known, q = equipment(), np.array([0.3, 1.2, -1.0, -0.4, 0.2])
    json.dumps(picture(known), allow_nan=False)
    made, frames = picture(known), {"base_link": np.eye(4)}
    values = dict(zip(known.description.joint_names, q))
    for joint in made["joints"]:
        pose, turn = np.reshape(joint["pose"], (4, 4)), np.eye(4)
        axis, angle = np.array(joint["axis"]), values.get(joint["name"], 0.0)
        cross = np.cross(np.eye(3), axis)
        turn[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        frames[joint["child"]] = frames[joint["parent"]] @ pose @ (turn if joint["type"] != "fixed" else np.eye(4))
    for link, pose in link_poses(known.description, q).items():
        assert np.allclose(frames[link][:3, 3], pose.position, atol=1e-8)


def test_a_link_whose_mesh_is_missing_is_a_stick_figure(tmp_path):
    (tmp_path / "here.stl").write_text("solid")
    for file, kinds in (("here.stl", ["mesh"]), ("gone.stl", ["sphere"])):
        meshed(tmp_path / "arm.urdf", file)
        made = picture(equipment(tmp_path / "arm.urdf"))
        assert [shape["kind"] for shape in made["links"]["arm"]] == kinds and made["missing"] == [file] * (kinds == ["sphere"])


def test_a_page_gets_meshes_that_the_urdf_names_below_its_folder_and_nothing_else(tmp_path):
    home = tmp_path / "my_arm" / "urdf"
    (home / "meshes").mkdir(parents=True)
    for file in (home / "meshes" / "link.stl", tmp_path / "my_arm" / "hand.STL", tmp_path / "secret.stl", home / "notes.txt"):
        file.write_text("solid")
    (home / "linked.stl").symlink_to(tmp_path / "secret.stl")
    arm = meshed(
        home / "arm.urdf",
        "meshes/link.stl",
        "package://my_arm/hand.STL",
        "../../secret.stl",
        f"file://{tmp_path}/secret.stl",
        "package://my_arm/../secret.stl",
        "notes.txt",
        "linked.stl",
        "missing.stl",
    )
    found = [mesh_file(arm, number) for number in range(len(mesh_names(arm)))]
    assert found == [home / "meshes" / "link.stl", tmp_path / "my_arm" / "hand.STL", *[None] * 6]
    assert mesh_file(arm, 99) is None and mesh_file(arm, -1) is None
