"""urchin as a third reader of the URDF, which shares no code with ours or with Pinocchio's."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from small_urdfs import TWO_LINKS, broken

from picker_dynamics.resources import resource
from picker_dynamics.robot import arms, description
from picker_dynamics.robot.kinematic_tree import link_poses, sample_poses

urchin = pytest.importorskip("urchin", reason="the optional third reader (extra: peer)")

TURNED = broken(
    ('<origin xyz="0.1 0 0" rpy="0 0 0"/>', '<origin xyz="0.1 0.01 -0.02" rpy="0.3 -0.4 0.5"/>'),
    ('ixy="0" ixz="0"', 'ixy="1e-5" ixz="-2e-5"'),
    ('<origin xyz="0.2 0 0" rpy="0 0 0"/>', '<origin xyz="0.2 0.1 0" rpy="0.1 0.2 0.3"/>'),
    ('<axis xyz="0 -1 0"/>', '<axis xyz="1 -2 3"/>'),
)
TEXTS = {name: resource(f"urdf/{name}.urdf").read_text(encoding="utf-8") for name in arms.names()}
TEXTS |= {"two links": TWO_LINKS, "everything turned": TURNED}


def read(arm):
    """Without materials, whose textures urchin would open."""
    robot = ElementTree.fromstring(arm.urdf)
    for parent in [*robot.iter()]:
        for child in parent.findall("material"):
            parent.remove(child)
    file = io.BytesIO(ElementTree.tostring(robot))
    file.name = "arm.urdf"  # where urchin would look for meshes
    return urchin.URDF.load(file, lazy_load_meshes=True)


@pytest.mark.parametrize("name", TEXTS)
def test_a_third_reader_reads_the_same(name):
    arm = description.parse(TEXTS[name])
    robot, q = read(arm), sample_poses(arm, 50)
    for link in robot.links:
        ours = arm.links[link.name]
        if ours.has_inertial:  # urchin gives 1 kg to others
            rotation = link.inertial.origin[:3, :3]
            np.testing.assert_allclose(ours.mass, link.inertial.mass, rtol=1e-13)
            np.testing.assert_allclose(ours.com, link.inertial.origin[:3, 3], rtol=0, atol=1e-13)
            np.testing.assert_allclose(ours.inertia, rotation @ link.inertial.inertia @ rotation.T, rtol=0, atol=1e-13)
    frames = robot.link_fk_batch(cfgs=dict(zip(arm.joint_names, q.T)), use_names=True)
    for link, pose in link_poses(arm, q).items():
        np.testing.assert_allclose(pose.rotation, frames[link][:, :3, :3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pose.position, frames[link][:, :3, 3], rtol=0, atol=1e-12)
