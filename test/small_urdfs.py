"""A small sound URDF, and a way to break it in one place."""

from __future__ import annotations

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
