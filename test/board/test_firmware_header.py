"""arm_config.h: the committed one, and what a compiler makes of those of other arms."""

import subprocess
from dataclasses import replace

import pytest
from arm_fixtures import picker, servos
from firmware_tools import SKETCH, compile_host, needs

from picker_dynamics.board.firmware.config import FirmwareConfig, board_limits
from picker_dynamics.board.firmware.header import header_text
from picker_dynamics.board.protocol import limits_checksum
from picker_dynamics.commands import cli
from picker_dynamics.errors import ConfigurationError
from picker_dynamics.resources import resource
from picker_dynamics.robot import description
from picker_dynamics.robot.servo_map import Supply

PRINT = r"""
#include <stdio.h>
#include "arm_config.h"
int main() {
  const picker::Config& c = arm_config::CONFIG;
  printf("joints %d\ncrc %u\nresolution_ns %u\nframe_us %u\nhost_timeout_ms %u\nmax_lead_ms %u\nsupply_min_mv %u\ngravity %d\n",
         c.joints, c.limits_crc, c.resolution_ns, c.frame_us, c.host_timeout_ms, c.max_lead_ms, c.supply_min_mv,
         c.gravity != nullptr);
  for (int i = 0; i < c.joints; ++i) {
    printf("joint %u %u %u %u %u %u %u\n", c.limits[i].lowest, c.limits[i].highest, c.limits[i].speed, c.limits[i].brake,
           arm_config::CHANNELS[i], arm_config::TIMER_PINS[i], arm_config::FEEDBACK_ADC[i]);
  }
  printf("supply_adc %u\nfull_scale_mv %lu\n", arm_config::SUPPLY_ADC,
         1024ul * arm_config::SUPPLY_DIVIDER >> arm_config::SUPPLY_SHIFT);
  printf("oscillator_hz %lu\naddress %u\n", (unsigned long)arm_config::OSCILLATOR_HZ, arm_config::PCA9685_ADDRESS);
}
"""


def compiled(folder, header: str, *options: str) -> tuple[dict[str, int], list[list[int]]]:
    """The constants, and the table of joints, as a compiler reads them."""
    said = subprocess.run([compile_host(folder, PRINT, header, *options)], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in said.splitlines()]
    return (
        {name: int(values[0]) for name, *values in words if name != "joint"},
        [[int(value) for value in values] for name, *values in words if name == "joint"],
    )


def test_the_committed_header_is_the_generated_one(capsys):
    assert cli.main(["firmware", "header", "--output", "-"]) == 0
    assert capsys.readouterr().out == (SKETCH / "arm_config.h").read_text(), "run: picker firmware header"


@needs("host")
def test_the_compiler_reads_what_the_servo_map_says(tmp_path):
    arm = replace(
        servos(),
        oscillator_hz=25.75e6,
        supply=Supply(adc=6, divider=2.0, minimum_v=4.5),
        servos=tuple(
            replace(servo, feedback_adc=adc, channel=channel)
            for servo, adc, channel in zip(servos().servos, (None, 0, 1, 2, 3), (15, 0, 7, 8, 3))
        ),
    )
    constants, joints = compiled(tmp_path, header_text(arm, picker()))
    limits, defaults = board_limits(arm), FirmwareConfig(board_limits(arm))
    assert constants == {
        "joints": 5,
        "crc": limits_checksum(limits),
        "resolution_ns": 4883,
        "frame_us": 20000,
        "supply_min_mv": 4500,
        "host_timeout_ms": defaults.host_timeout_ms,
        "max_lead_ms": defaults.max_lead_ms,
        "gravity": 1,
        "supply_adc": 6,
        "full_scale_mv": 10000,
        "oscillator_hz": 25_750_000,
        "address": 0x40,
    }
    assert [row[:4] for row in joints] == [[one.lowest, one.highest, one.speed, one.brake] for one in limits]
    assert [row[4:] for row in joints] == [[15, 255, 255], [0, 4, 0], [7, 11, 1], [8, 255, 2], [3, 7, 3]]


@needs("host")
def test_another_arm_has_no_gravity_model_and_the_header_says_why(tmp_path):
    two = description.load(resource("urdf/planar_2r.urdf"))
    joints = tuple(replace(servo, joint=joint, grip=None) for servo, joint in zip(servos().servos, two.joint_names))
    text = header_text(replace(servos(), servos=joints), two)
    assert "No gravity model, braking does without: planar_2r is not of the picker's shape: 2 joints" in text
    constants, table = compiled(tmp_path, text)
    assert (constants["joints"], constants["gravity"], len(table)) == (2, 0, 2)


def test_what_does_not_fit_a_board_is_refused():
    with pytest.raises(ConfigurationError, match="9 joints: a board drives at most 8"):
        header_text(replace(servos(), servos=servos().servos[:1] * 9), picker())
    with pytest.raises(ConfigurationError, match="frame_us is 40000, the firmware's longest is 32767"):
        header_text(replace(servos(), frame_s=0.04), picker())
    soft = tuple(replace(servo, stiffness=0.1) for servo in servos().servos)
    with pytest.raises(ConfigurationError, match="shoulder: stiffness 0.1 N·m/rad is too low") as caught:
        header_text(replace(servos(), servos=soft), picker())
    assert 0.1 < caught.value.limit < 1.0


def test_the_command_writes_where_it_is_told(tmp_path, capsys):
    target = tmp_path / "arm_config.h"
    overlay = str(resource("config/servos.sim.yaml"))
    assert cli.main(["firmware", "header", "--servo-overlay", overlay, "--output", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 5 joints of picker\n"
    assert "from config/servos.yaml, servos.sim.yaml, urdf/picker.urdf." in target.read_text()
    assert target.read_text().split("\n", 2)[2] == header_text(servos(), picker()).split("\n", 2)[2]
    for words, code, named in ((["--output", str(tmp_path / "no" / "a.h")], 1, "a.h"), (["--urdf", "/no.urdf"], 3, "/no.urdf")):
        assert cli.main(["firmware", "header", *words]) == code
        assert named in capsys.readouterr().err
