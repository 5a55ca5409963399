"""Data sheets of servos: each makes a servo map, at the voltage of its board, beneath what the map gives itself."""

import numpy as np
import pytest
import yaml

from picker_dynamics.robot import servo_map
from picker_dynamics.robot.servo_file import servo_type

KGF_CM = 9.80665e-2
PRINTED = {
    "SG90": (4.8, 1.8, 0.10),
    "MG90S": (6.0, 2.2, 0.08),
    "MG995": (6.0, 10.0, 0.16),
    "MG996R": (6.0, 11.0, 0.14),
    "DS3218": (6.8, 21.5, 0.14),
    "DS3225": (6.8, 24.5, 0.13),
}
"""Voltage [V], torque at stall [kgf·cm] and time for 60 degrees [s], as the sheets print them."""


def loaded(tmp_path, joint: dict, supply_v: float | None = None):
    own = {"channel": 0, "direction": 1, "zero_deg": 0.0, "rest_rad": 0.0, "home_rad": 0.0}
    board = {"frame_us": 20000, "quantum_us": 0.5} | ({} if supply_v is None else {"supply_v": supply_v})
    content = {"board": board, "defaults": {"peak_share": 0.8, "hold_share": 0.6}, "joints": {"lift": own | joint}}
    path = tmp_path / "servos.yaml"
    path.write_text(yaml.safe_dump(content))
    return servo_map.load(path, ("lift",)).servos[0]


@pytest.mark.parametrize("name", PRINTED)
def test_a_sheet_has_the_printed_figures_in_si_units(name, tmp_path):
    volts, kgf_cm, seconds = PRINTED[name]
    servo, sheet = loaded(tmp_path, {"type": name}), servo_type(name)
    assert sheet.volts == volts and sheet.takes_v[0] <= volts <= sheet.takes_v[1] and len(sheet.source) > 15
    assert servo.stall_torque == pytest.approx(kgf_cm * KGF_CM, rel=5e-3)
    assert servo.no_load_speed == pytest.approx(np.radians(60.0) / seconds, rel=5e-3)
    assert servo.coulomb == pytest.approx(0.02 * servo.stall_torque, rel=0.02)
    assert servo.horn_angles[-1] - servo.horn_angles[0] == pytest.approx(np.radians(sheet.travel_deg))
    assert {"stiffness_nm_rad", "armature_kg_m2", "load_friction", "play_deg"} <= set(servo.unmeasured)
    assert not {"stall_torque_nm", "no_load_speed_rad_s"} & set(servo.unmeasured)


def test_a_servo_at_another_voltage_is_weaker_and_slower_in_proportion_and_assumed(tmp_path):
    servo, printed = loaded(tmp_path, {"type": "DS3218"}, supply_v=5.1), loaded(tmp_path, {"type": "DS3218"})
    assert servo.stall_torque == pytest.approx(0.75 * printed.stall_torque, rel=1e-3)
    assert servo.no_load_speed == pytest.approx(0.75 * printed.no_load_speed, rel=1e-3)
    assert servo.electric.stall_a == pytest.approx(0.75 * printed.electric.stall_a, rel=1e-3)
    assert servo.coulomb == printed.coulomb and {"stall_torque_nm", "no_load_speed_rad_s"} <= set(servo.unmeasured)
