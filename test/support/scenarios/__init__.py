"""What an arm has to do, and what must not happen to it: functions of (client, board), for whatever runs the graph.

``client`` is an ArmClient on a running graph, ``board`` the BoardControl of its simulation.  Each starts with the arm
holding and leaves it holding, unless its name says otherwise.  Times are patience, never a measure; where the arm is
comes from the simulation itself.

pytest runs them on what `picker up` starts, launch_test on what launch/picker.launch.py starts.
"""

from scenarios.bench import (
    ALL,
    HOME,
    NAMES,
    PATIENCE_S,
    QUANTUM,
    REST,
    SERVOS,
    STILL,
    Commands,
    Watch,
    at_home,
    goal,
    hardware_figures,
    is_where_it_was,
    moved,
    outcome,
    ready,
    stands,
    start,
    start_swinging,
    until,
)
from scenarios.faults import (
    arrives_in_spite_of_damaged_frames,
    brakes_at_a_fault_and_names_it,
    ignores_commands_that_do_not_fit,
    refuses_illegal_transitions_and_lives,
    relaxes,
    stops_and_resumes_nothing,
    survives_a_board_reset_in_mid_motion,
    survives_a_pulled_cable,
    takes_no_goal_while_it_is_off,
)
from scenarios.graphs import do_with, ends_when_a_process_dies, two_arms_do_not_disturb_each_other
from scenarios.motions import (
    IMPOSSIBLE,
    carries_a_payload_without_a_jump,
    changes_compensation_without_a_jump,
    comes_up_holding,
    executes_a_trajectory,
    refuses,
    refuses_a_goal_from_the_past,
    refuses_to_hurry_where_slowing_is_off,
)
from scenarios.streams import (
    THRESHOLDS,
    a_goal_takes_the_arm_from_ros2_control,
    follows_a_good_stream,
    ros2_control_moves_nothing_before_a_controller_is_active,
    ros2_control_moves_the_arm,
    ros2_control_resumes_nothing_after_a_stop,
)

__all__ = [
    "ALL", "HOME", "IMPOSSIBLE", "NAMES", "PATIENCE_S", "QUANTUM", "REST", "SERVOS", "STILL", "THRESHOLDS", "Commands",
    "Watch", "a_goal_takes_the_arm_from_ros2_control", "arrives_in_spite_of_damaged_frames", "at_home",
    "brakes_at_a_fault_and_names_it", "carries_a_payload_without_a_jump", "changes_compensation_without_a_jump",
    "comes_up_holding", "do_with", "ends_when_a_process_dies", "executes_a_trajectory", "follows_a_good_stream", "goal",
    "hardware_figures", "ignores_commands_that_do_not_fit", "is_where_it_was", "moved", "outcome", "ready", "refuses",
    "refuses_a_goal_from_the_past", "refuses_illegal_transitions_and_lives", "refuses_to_hurry_where_slowing_is_off",
    "relaxes", "ros2_control_moves_nothing_before_a_controller_is_active", "ros2_control_moves_the_arm",
    "ros2_control_resumes_nothing_after_a_stop", "stands", "start", "start_swinging", "stops_and_resumes_nothing",
    "survives_a_board_reset_in_mid_motion", "survives_a_pulled_cable", "takes_no_goal_while_it_is_off",
    "two_arms_do_not_disturb_each_other", "until",
]
