"""The picker as believed and as simulated, its droop joints, what is hidden of the simulated servos, and how they are read."""

from arm_fixtures import picker, servos

from benchmarks.calibration_benches import RestingBench
from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.estimation.calibration.poses import SIDES, cautious_validator, sensors

ARM, BELIEVED, SIMULATED = picker(), servos(simulated=False), servos()
JOINTS = ("shoulder", "elbow", "wrist")
COLUMNS = tuple(map(ARM.joint_names.index, JOINTS))
SENSORS = sensors(ARM, JOINTS)
COARSE_S = 2e-3
"""Step of the simulated arms [s]: four times the usual one, for motions that are slow."""
VALIDATOR = cautious_validator(RigidBody(ARM), BELIEVED)


def bench(seed):
    return RestingBench.with_errors(ARM, SIMULATED, seed=seed)


def looked(bench, stations, visit=0):
    """Readings at the stations, from both sides."""
    readings = []
    for station in stations:
        for side in SIDES:
            values = bench.read_station(VALIDATOR, station, side, COLUMNS)
            readings += station.readings(values, visit + len(readings), side)
    return readings


def hidden(plant, joint):
    """The truth about zero [rad], scale, compliance [rad/(N·m)], gap [rad], load friction and friction without load [N·m]."""
    column = ARM.joint_names.index(joint)
    true, was = plant.servo_map.servos[column], BELIEVED.servos[column]
    return (
        -was.direction * (true.zero - was.zero),
        true.horn_angles[-1] / was.horn_angles[-1] - 1.0,
        1.0 / plant.servo.stiffness[column],
        plant.servo.gap[column],
        plant.servo.load_friction[column],
        plant.whole_servo.coulomb[column],
    )
