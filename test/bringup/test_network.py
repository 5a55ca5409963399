"""Operator and arm on two machines: network namespaces with a cable between them, that is pulled in mid-motion."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from waiting import run, until

TOKEN, PICKER, LISTEN = "a token of some length", (sys.executable, "-m", "picker_dynamics"), "10.77.0.1:8643"

pytestmark = [pytest.mark.long, pytest.mark.timeout(300.0)]


@pytest.fixture
def machines():
    arm, operator = (f"picker_{name}_{os.getpid()}" for name in ("arm", "operator"))
    setting_up = [
        f"netns add {arm}",
        f"netns add {operator}",
        f"-n {arm} link add cable type veth peer name cable netns {operator}",
    ]
    for number, name in enumerate((arm, operator), 1):
        setting_up.append(f"-n {name} address add 10.77.0.{number}/24 dev cable")
        setting_up += [f"-n {name} link set {device} up" for device in ("lo", "cable")]
    try:
        for words in setting_up:
            try:
                made = run("ip", *words.split())
            except FileNotFoundError:
                pytest.skip("there is no ip")
            if made.returncode:
                pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
        yield arm, operator
    finally:
        for name in (arm, operator):
            with contextlib.suppress(FileNotFoundError):
                run("ip", "netns", "delete", name)


def test_an_arm_is_moved_from_another_machine_and_finishes_what_it_does_while_the_cable_is_out(machines, tmp_path):
    arm, operator = machines
    here, there = ({"XDG_RUNTIME_DIR": str(tmp_path / name), "PICKER_TOKEN": TOKEN} for name in ("arm", "operator"))
    for name in ("arm", "operator"):
        (tmp_path / name).mkdir()

    def ask(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run("ip", "netns", "exec", operator, *PICKER, *words, "--host", LISTEN, env=os.environ | there | environment)

    with open(tmp_path / "log", "w") as log:
        up = subprocess.Popen(
            ("ip", "netns", "exec", arm, *PICKER, "up", "--sim"),
            **{"stdout": log, "stderr": log, "env": os.environ | here | {"PICKER_LISTEN": LISTEN}},
        )
    try:
        until(lambda: up.poll() is not None or "controller: holding" in ask("status").stdout, "an arm", patience_s=120.0)
        refused = ask("stop", PICKER_TOKEN="another one of 16 characters")
        assert refused.returncode == 9 and refused.stderr.strip().startswith("error: wrong token"), refused
        moved = ask("move", "--joints", "base=20")
        assert moved.returncode == 0 and "base 20.0 deg" in moved.stdout, moved
        words = (*PICKER, "move", "--joints", "base=-20", "--duration", "4", "--host", LISTEN)
        going = subprocess.Popen(("ip", "netns", "exec", operator, *words), env=os.environ | there)
        until(lambda: "executing" in ask("status").stdout, "a motion")
        run("ip", "-n", arm, "link", "set", "cable", "down")
        assert ask("stop").returncode == 9, "nobody is reached"
        run("ip", "-n", arm, "link", "set", "cable", "up")
        going.wait(60.0)
        until(lambda: "-20.0 deg" in ask("status").stdout, "the arm at its goal")
        assert ask("stop").returncode == 0 and "stopped" in ask("status").stdout
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(60.0)
        print((tmp_path / "log").read_text())
