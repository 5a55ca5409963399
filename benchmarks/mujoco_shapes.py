"""An arm's collision shapes and a scene in MuJoCo, contacts on: distances and contacts as another engine finds them."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

import mujoco
import numpy as np

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import Scene

KINDS = {"box": mujoco.mjtGeom.mjGEOM_BOX, "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER, "sphere": mujoco.mjtGeom.mjGEOM_SPHERE}


class MujocoShapes:
    """Shapes of links, of a scene and of the floor, posed at joint angles (n,); ``drawn``: what is drawn of the links instead."""

    def __init__(self, description: ArmDescription, scene: Scene, floor_z: float | None = None, drawn: bool = False):
        urdf = description.urdf
        if drawn:
            urdf = re.sub("<(/?)visual>", r"<\1collision>", re.sub("<collision>.*?</collision>", "", urdf, flags=re.DOTALL))
        spec = mujoco.MjSpec.from_string(urdf)
        spec.compiler.fusestatic, spec.compiler.discardvisual = False, True
        for name, shape in scene.items():
            size = [0.5 * x for x in shape.size] if shape.kind == "box" else list(shape.size)
            if shape.kind == "cylinder":
                size[1] *= 0.5
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(shape.rotation).ravel())
            spec.worldbody.add_geom(name=name, type=KINDS[shape.kind], size=[*size, 0.0, 0.0][:3], pos=shape.xyz, quat=quaternion)
        if floor_z is not None:
            spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], pos=[0, 0, floor_z])
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.geoms = defaultdict(list)
        for i in range(self.model.ngeom):
            geom = self.model.geom(i)
            body = self.model.body(self.model.geom_bodyid[i]).name
            self.geoms[geom.name or (description.root if body == "world" else body)].append(i)
        self.names = {i: name for name, members in self.geoms.items() for i in members}
        self.index = [self.model.joint(name).qposadr[0] for name in description.joint_names]

    def at(self, q) -> None:
        self.data.qpos[self.index] = q
        mujoco.mj_kinematics(self.model, self.data)

    def distance(self, q, one: str, other: str) -> float:
        """Least distance of the shapes of two links or scene shapes [m]; below 0 where they overlap."""
        self.at(q)
        pairs = itertools.product(self.geoms[one], self.geoms[other])
        return min(mujoco.mj_geomDistance(self.model, self.data, a, b, 2.0, None) for a, b in pairs)

    def contacts(self, q) -> set[str]:
        """Pairs that touch at a pose (n,); bodies with one joint between them do not count, as with MuJoCo."""
        self.at(q)
        mujoco.mj_collision(self.model, self.data)
        found = self.data.contact.geom[: self.data.ncon]
        return {" and ".join(sorted(self.names[i] for i in pair)) for pair in found.tolist()}
