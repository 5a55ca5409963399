"""Markers for RViz beside the model: torques, the reference as a ghost, the demo's scene, what cannot be held.

shapes.py    one marker, colours, rotations
torques.py   at each joint how much it has to give
ghost.py     the arm where it shall be
region.py    where the tip cannot be held, whatever the pitch of the hand; without ROS, for the page too
plane.py     that region, drawn
scene.py     berries and tray
"""
