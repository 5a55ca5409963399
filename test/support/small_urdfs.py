"""Small URDFs: a sound one and a way to break it in one place; random ones, sound too."""

import numpy as np

TWO_LINKS = """<robot name="two">
  <link name="base_link"/>
  <joint name="lift" type="revolute">
    <parent link="base_link"/><child link="arm"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="2" velocity="5" effort="3"/>
    <dynamics damping="0.02" friction="0.01"/>
  </joint>
  <link name="arm">
    <inertial>
      <origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="0.4"/>
      <inertia ixx="6e-5" ixy="0" ixz="0" iyy="1.4e-3" iyz="0" izz="1.4e-3"/>
    </inertial>
    <visual><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.03 0.03"/></geometry></visual>
    <collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.03 0.03"/></geometry></collision>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="arm"/><child link="rod"/>
    <origin xyz="0.2 0 0" rpy="0 0 0"/><axis xyz="2 0 0"/>
    <limit lower="0" upper="0.1" velocity="0.2" effort="20"/>
  </joint>
  <link name="rod">
    <inertial>
      <origin xyz="0.05 0 0"/><mass value="0.1"/>
      <inertia ixx="5e-6" ixy="0" ixz="0" iyy="8.6e-5" iyz="0" izz="8.6e-5"/>
    </inertial>
    <collision>
      <origin xyz="0.05 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.01" length="0.1"/></geometry>
    </collision>
  </link>
  <joint name="tool" type="fixed"><parent link="rod"/><child link="tool0"/><origin xyz="0.1 0 0"/></joint>
  <link name="tool0"/>
</robot>
"""


def broken(*changes: tuple[str, str], text: str = TWO_LINKS) -> str:
    """``text`` with the first occurrence of each old part replaced by the new one."""
    for old, new in changes:
        assert old in text, f"{old!r} is not in the URDF, the test would break nothing"
        text = text.replace(old, new, 1)
    return text


TOOL_ON_THE_BASE = broken(('<parent link="rod"/><child link="tool0"/>', '<parent link="base_link"/><child link="tool0"/>'))


def random_arm(seed: int, count: int | None = None, branching: float = 0.2) -> str:
    """A URDF of all kinds of joints and bodies in any direction, sound but arbitrary.

    Revolute, continuous and prismatic joints; some links carry more on fixed joints, some have no inertial.

    Args:
        seed: of the generator.
        count: movable joints, default 4 to 7.
        branching: how often a joint hangs on a link other than the last one; 0 for a serial arm.
    """
    generator = np.random.default_rng(seed)
    count = count or int(generator.integers(4, 8))

    def triple(scale):
        return " ".join(map(repr, generator.uniform(-scale, scale, 3).tolist()))

    def joint(name, kind, parent, child):
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{triple(0.3)}" rpy="{triple(3.0)}"/><axis xyz="{triple(1.0)}"/>'
            '<limit lower="-1" upper="1.5" velocity="3" effort="100"/>'
            f'<dynamics damping="{generator.uniform(0, 0.5)!r}" friction="{generator.uniform(0, 0.5)!r}"/></joint>'
        )

    def inertial():
        x, y, z = generator.uniform(1e-4, 1e-3, 3).tolist()  # of mass along the axes: any sum of two is a moment
        return (
            f'<inertial><origin xyz="{triple(0.1)}" rpy="{triple(3.0)}"/>'
            f'<mass value="{generator.uniform(0.1, 2.0)!r}"/>'
            f'<inertia ixx="{y + z!r}" ixy="0" ixz="0" iyy="{x + z!r}" iyz="0" izz="{x + y!r}"/></inertial>'
        )

    parts, carriers = [f'<link name="l0">{inertial()}</link>'], ["l0"]
    for i in range(1, count + 1):
        parent = carriers[-1] if generator.random() >= branching else str(generator.choice(carriers))
        kind = generator.choice(["revolute", "continuous", "prismatic"], p=[0.5, 0.3, 0.2])
        parts.append(joint(chr(122 - i % 26) + str(i), kind, parent, f"l{i}"))
        welded = generator.random() < 0.3  # if so, the mass may be all on the welded link
        parts.append(f'<link name="l{i}">{inertial() if not welded or generator.random() < 0.5 else ""}</link>')
        carriers.append(f"l{i}")
        if welded:
            parts += [joint(f"weld{i}", "fixed", f"l{i}", f"w{i}"), f'<link name="w{i}">{inertial()}</link>']
            carriers.append(f"w{i}")
    return '<robot name="random">' + "".join(parts) + "</robot>"
