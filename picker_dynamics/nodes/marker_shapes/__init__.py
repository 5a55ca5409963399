"""Marker geometry for RViz, as plain shapes beside the model: torques, the reference as a ghost, scene, what cannot be held.

    shapes.py    one shape, and colours
    torques.py   at each joint how much it has to give
    ghost.py     the arm where it shall be
    region.py    where the tip cannot be held, whatever the pitch of the hand
    scene.py     berries and tray

Nothing here knows ROS: ``nodes/markers.py`` turns shapes into messages.
"""
