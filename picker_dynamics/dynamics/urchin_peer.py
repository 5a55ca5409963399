"""Urchin as a third reader of the URDF, compared with this package's own reader.

Pinocchio and the hand-written model are compared in ``cross_check``; urchin, the maintained fork of urdfpy,
shares no code with either.  It is optional and imported only here, when it is needed.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike

from picker_dynamics.errors import DescriptionError, MissingDependencyError
from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.kinematic_tree import link_poses, rigid_groups, sample_poses
from picker_dynamics.robot.model import GRAVITY, Array, as_states


@dataclass(frozen=True)
class PeerReport:
    """Worst relative difference of two readers, by quantity.

    Attributes:
        residuals: mass, centre of mass, inertia, forward kinematics -> worst difference over its scale.
        where: quantity -> the link where it is worst.
    """

    residuals: dict[str, float]
    where: dict[str, str]

    @property
    def worst(self) -> float:
        """The worst of all quantities."""
        return max(self.residuals.values())


class UrchinArm:
    """The arm as urchin reads it.

    Habits of urchin that are undone: a link without ``<inertial>`` has no mass here (urchin would give it
    1 kg and 1 kg·m²), a joint that mimics another is a joint of its own, as everywhere in this package, and
    materials, whose textures urchin would open, and transmissions are not shown to it.

    Args:
        description: the arm; urchin reads its ``urdf`` text, meshes are not opened.

    Raises:
        MissingDependencyError: urchin is not installed.
        DescriptionError: urchin cannot read the text.
    """

    def __init__(self, description: ArmDescription):
        self._description = description
        urchin = _urchin()
        try:
            self._robot = urchin.URDF.load(_mechanics_only(description), lazy_load_meshes=True)
        except Exception as error:  # whatever its parser and those below it raise
            raise DescriptionError(f"{description.source}: urchin cannot read this URDF: {error}") from error

    def inertials(self) -> dict[str, tuple[float, Array, Array]]:
        """Mass [kg], centre of mass (3,) [m] and inertia about it (3, 3) [kg·m²], link axes, by link."""
        found = {}
        for link in self._robot.links:
            if self._description.links[link.name].has_inertial:
                rotation = link.inertial.origin[:3, :3]
                inertia = rotation @ link.inertial.inertia @ rotation.T
                found[link.name] = (float(link.inertial.mass), link.inertial.origin[:3, 3], inertia)
        return found

    def forward_kinematics(self, q: ArrayLike) -> dict[str, Array]:
        """Transforms (samples, 4, 4) of every link to the root frame, by name, for q (samples, n)."""
        q = as_states("q", q, self._description.n)
        columns = dict(zip(self._description.joint_names, np.atleast_2d(q).T))
        return dict(self._robot.link_fk_batch(cfgs=columns, use_names=True))

    def potential_energy(self, q: ArrayLike) -> Array:
        """V(q) = sum of m g z over the links that move, (samples,) [J], for q (samples, n)."""
        frames = self.forward_kinematics(q)
        energy = np.zeros(len(np.atleast_2d(q)))
        still = rigid_groups(self._description)[self._description.root]
        for name, (mass, com, _) in self.inertials().items():
            if name not in still:
                energy += mass * GRAVITY * (frames[name][:, 2, :3] @ com + frames[name][:, 2, 3])
        return energy


def compare_with_urchin(description: ArmDescription, samples: int = 50, seed: int = 0) -> PeerReport:
    """Compare what urchin and this package read from one URDF.

    Each difference is taken relative to the largest entry of that quantity over all links; for the forward
    kinematics that is at least 1, the largest entry of a rotation.

    Args:
        samples: number of random poses within the limits, for the forward kinematics.
        seed: of those poses.

    Raises:
        MissingDependencyError: urchin is not installed.
        DescriptionError: urchin cannot read the text.
    """
    arm = UrchinArm(description)
    theirs = arm.inertials()
    ours = {name: (link.mass, link.com, link.inertia) for name, link in description.links.items() if link.has_inertial}
    pairs = {
        quantity: {name: (ours[name][i], theirs[name][i]) for name in ours}
        for i, quantity in enumerate(("mass", "centre of mass", "inertia"))
    }
    q = sample_poses(description, samples, seed)
    frames, poses = arm.forward_kinematics(q), link_poses(description, q)
    pairs["forward kinematics"] = {
        name: (np.concatenate([pose.rotation, pose.position[..., None]], axis=-1), frames[name][:, :3])
        for name, pose in poses.items()
    }
    residuals, where = {}, {}
    for quantity, links in pairs.items():
        differences = {name: float(np.max(np.abs(np.subtract(a, b)))) for name, (a, b) in links.items()}
        scale = max((float(np.max(np.abs(b))) for _, b in links.values()), default=0.0)
        where[quantity] = max(differences, key=lambda name: differences[name], default="none")
        residuals[quantity] = differences.get(where[quantity], 0.0) / (scale or 1.0)
    return PeerReport(residuals, where)


def _mechanics_only(description: ArmDescription) -> io.BytesIO:
    robot = ElementTree.fromstring(description.urdf)
    for parent in [*robot.iter()]:
        for child in [*parent]:
            if child.tag in ("material", "mimic", "transmission"):
                parent.remove(child)
    file = io.BytesIO(ElementTree.tostring(robot))
    file.name = description.source  # where urchin would look for meshes
    return file


def _urchin() -> Any:
    try:
        import urchin
    except ImportError as error:
        raise MissingDependencyError("urchin is not installed, so the URDF has no third reader: pip install urchin") from error
    return urchin
