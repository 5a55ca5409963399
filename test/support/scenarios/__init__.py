"""What an arm has to do, and what must not happen to it: functions of (client, board), for whatever runs the graph.

``client`` is an ArmClient on a running graph, ``board`` the BoardControl of its simulation.  Each starts with the arm
holding and leaves it holding, unless its name says otherwise.  Times are patience, never a measure; where the arm is
comes from the simulation itself.

pytest runs them on what `picker up` starts, launch_test on what launch/picker.launch.py starts.
"""
