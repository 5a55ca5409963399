"""Taught motions and recordings: files that a person edits, checked as a whole, made again by a simulated arm."""

import math
import re

import numpy as np
import pytest
from arm_fixtures import picker, servos
from pytest import approx, mark, raises

from picker_dynamics import Arm
from picker_dynamics.errors import GoalRefusedError, InputError, PickerError, RecordingError
from picker_dynamics.resources import resource
from picker_dynamics.robot import arm_text, description
from picker_dynamics.scripting import taught
from picker_dynamics.scripting.steps import Pause, Payload
from picker_dynamics.scripting.taught import TaughtFile

HEAD = """
arm: picker
joints: {base: deg, shoulder: deg, elbow: deg, wrist: deg, scissor: deg}
steps:
"""
TOUR = (
    HEAD
    + """
- {pose: above, tip: [220, 50, 120]}
- {pose: berry, tip: [220, 50, 100], pitch: -20, seconds: 1.5}
- {pose: grip, at: {scissor: 5.0}, speed: 0.5}
- payload: 25
- pause: 0.5
- {pose: back, at: {base: -30}}
- payload: 0
"""
)


@pytest.fixture
def tour(tmp_path):
    """Writes a file and returns its name without the ending."""

    def write(text: str, name: str = "tour"):
        (tmp_path / f"{name}.yaml").write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def arm():
    with Arm.simulated(real_time=False, servo="ideal") as arm:
        yield arm


# -- the file ----------------------------------------------------------------------------------------------------------------


def test_what_a_person_writes_is_read_in_si_units(tour):
    found = taught.read(tour(TOUR), picker())
    above, berry, grip, payload, pause, *_ = found.steps
    assert above.tip == approx((0.22, 0.05, 0.12)) and berry.pitch == approx(math.radians(-20.0)) and berry.seconds == 1.5
    assert (grip.at, grip.speed) == ({"scissor": approx(math.radians(5.0))}, 0.5)
    assert (payload, pause) == (Payload(approx(0.025)), Pause(0.5))


def test_sliding_joints_are_taught_in_millimetres(tmp_path):
    arm = description.load(resource("urdf/rrp.urdf"))
    file = TaughtFile(tmp_path / "rrp", arm)
    q = np.array([0.5 if unit == "rad" else 0.4 for unit in arm.position_units])
    file.add_pose("p", q)
    assert "mm" in file.path.read_text() and "400.0" in file.path.read_text()
    (pose,) = taught.read(file.path, arm).steps
    assert pose.target(arm, np.zeros(arm.n)) == approx(q, abs=1e-4)


def test_what_was_added_stands_at_the_end_and_comments_stay(tmp_path):
    path = tmp_path / "tour.yaml"
    path.write_text(TOUR.rstrip() + "  # the end")
    file = TaughtFile(path, picker())
    assert file.count == 7
    file.add_pose("new", np.radians([10.0, 80.0, -100.0, -45.126, 60.0]))
    file.add(Pause(1.5))
    steps = taught.read(path, picker()).steps
    assert steps[-1] == Pause(1.5) and steps[-2].at["wrist"] == approx(math.radians(-45.13)) and "# the end\n" in path.read_text()


DAMAGED = {
    "another arm": (TOUR.replace("arm: picker", "arm: rrp"), "taught for the arm rrp .*this is picker"),
    "two in one": (HEAD + "- {pause: 3, payload: 3}\n", "step 1 must have one of"),
    "an unknown key": (HEAD + "- pause: 1\n- {pose: a, at: {base: 1}, sped: 2}\n", "step 2: unknown 'sped'"),
    "true": (HEAD + "- payload: true\n", "payload is True"),
    "joints and a place": (HEAD + "- {pose: a, tip: [1, 2, 3], at: {base: 1}}\n", "either `at`"),
    "no YAML": (HEAD + "- {pose: a\n", "cannot read taught motion"),
}


@mark.parametrize("what", DAMAGED)
def test_a_damaged_file_is_one_clear_error(tour, what):
    text, said = DAMAGED[what]
    with raises(InputError, match=said) as caught:
        taught.read(tour(text), picker())
    assert "\n" not in str(caught.value) and "tour.yaml" in str(caught.value)


@mark.parametrize(
    ("text", "step", "said"),
    [
        ("", Pause(700.0), "step 1: pause is 700, must be <= 600"),
        (TOUR + "speed: 0.5\n", Pause(1.0), "does not end with its steps"),
    ],
)
def test_what_cannot_be_added_leaves_the_file_as_it_was(tmp_path, text, step, said):
    path = tmp_path / "tour.yaml"
    if text:
        path.write_text(text)
    with raises(InputError, match=said):
        TaughtFile(path, picker()).add(step)
    assert (path.read_text() if path.exists() else "") == text


# -- replay ------------------------------------------------------------------------------------------------------------------


def test_a_simulated_arm_makes_it_again(tour, arm):
    seen: list[tuple[str, float]] = []
    with arm.record() as recorded:
        replay = arm.replay(tour(TOUR), progress=lambda leg, share: seen.append((leg.name, share)))
    tips = recorded.arrays["tip_ref"]
    for place in ([0.22, 0.05, 0.12], [0.22, 0.05, 0.10]):
        assert np.linalg.norm(tips - place, axis=1).min() < 1e-3
    assert arm.q[[0, 4]] == approx(np.radians([-30.0, 5.0]), abs=0.05) and arm.payload == 0.0
    assert recorded.arrays["t"][-1] >= replay.duration > 4.0
    names = "above", "berry", "grip", "payload 25 g", "pause of 0.5 s", "back", "payload 0 g"
    assert tuple(dict.fromkeys(name for name, _ in seen)) == names
    shares = [share for name, share in seen if name == "above"]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] > 0.9


def test_offline_it_is_only_checked_and_speed_and_loops_count(tour):
    with Arm.offline() as arm:
        once, slow, often = (arm.replay(tour(TOUR), **how) for how in ({}, {"speed": 0.5}, {"loop": 4}))
    assert slow.duration - 0.5 == approx(2.0 * (once.duration - 0.5), rel=0.01)
    assert [leg.number for leg in often.legs] == 4 * [1, 2, 3, 4, 5, 6, 7]
    assert often.legs[7].plan.start[0] == approx(math.radians(-30.0)), "the second time it begins where the first one ended"
    assert "above" in str(once)


FAST = HEAD.replace("steps", "speed: 4\nsteps") + "- {pose: a, at: {base: -85}}\n- {pose: b, at: {base: 85}, speed: 4}\n"


def test_however_fast_it_is_asked_for_the_limits_decide(tour):
    with Arm.offline() as arm:
        usual, fast = arm.replay(tour(FAST.replace("4", "1"))), arm.replay(tour(FAST), speed=4.0)
    assert fast.duration == approx(usual.duration, rel=0.05)  # the validator's resolution: usual motions are at the limits


@mark.parametrize("first", [6, "6", "back"])
def test_it_begins_where_one_says(tour, first):
    with Arm.offline() as arm:
        assert [leg.number for leg in arm.replay(tour(TOUR), first=first).legs] == [6, 7]


IMPOSSIBLE = {
    "what cannot be held": ("- {pose: far, at: {shoulder: 0, elbow: 0, wrist: 0}}\n", GoalRefusedError, "step 2 .far.*shoulder"),
    "out of reach": ("- {pose: far, tip: [900, 0, 0]}\n", InputError, "step 2 .far"),
    "a load too heavy": ("- payload: 2000\n- {pose: far, tip: [220, 0, 100]}\n", GoalRefusedError, "step 2 .payload 2000 g"),
}


@mark.parametrize("what", IMPOSSIBLE)
def test_where_one_step_cannot_be_made_none_is(tour, what, arm):
    step, kind, said = IMPOSSIBLE[what]
    before = arm.q
    with raises(kind, match=said):
        arm.replay(tour(HEAD + "- {pose: near, at: {base: 20}}\n" + step))
    arm.wait(0.5)
    assert arm.q == approx(before, abs=0.01)  # it settles a little


@mark.parametrize(
    ("how", "said"),
    [
        ({"loop": 0}, "loop is 0"),
        ({"first": True}, "there is no step True"),
        ({"first": 8}, "there is no step 8"),
        ({"first": "nobody"}, "no step named 'nobody'"),
    ],
)
def test_numbers_that_make_no_sense(tour, how, said):
    with Arm.offline() as arm, raises(InputError, match=said):
        arm.replay(tour(TOUR), **how)


def test_legs_do_not_go_on_after_somebody_has_stopped_reset_and_enabled(tour, arm, monkeypatch):
    name, controller, ended = tour(HEAD + "- pause: 0.5\n- {pose: a, at: {base: 40}}\n"), arm.session.arm.session, []

    def somebody_else():
        controller.stop()
        arm.session.spin(0.5)
        controller.reset()
        controller.enable(False)
        arm.session.wait_holding()

    def progress(leg, _share):
        if leg.number == 1 and not ended:
            ended.append(somebody_else())

    with raises(GoalRefusedError, match="step 2 .a.: stopped, reset or enabled after this was asked"):
        arm.replay(name, progress=progress)
    with monkeypatch.context() as patched:  # while it is checked
        read = taught.read
        patched.setattr(taught, "read", lambda *asked: (somebody_else(), read(*asked))[1])
        with raises(GoalRefusedError, match="stopped, reset or enabled after this was asked"):
            arm.replay(tour(HEAD + "- {pose: a, at: {base: 40}}\n"))
    assert arm.q[0] == approx(0.0, abs=0.01)
    arm.replay(name)


def test_ctrl_c_lets_the_arm_hold_and_it_goes_on_from_that_step(tour, arm):
    name = tour(HEAD + "- {pose: a, at: {base: 40}}\n- {pose: b, at: {base: -40}}\n")
    stopped = []

    def interrupt(leg, share):
        if leg.number == 2 and share > 0.4:
            stopped.append(leg.number)
            raise KeyboardInterrupt

    with raises(KeyboardInterrupt):
        arm.replay(name, progress=interrupt)
    assert abs(arm.q[0]) < math.radians(35.0)
    arm.replay(name, first=stopped[0])
    assert arm.q[0] == approx(math.radians(-40.0), abs=0.02)


# -- recordings ----------------------------------------------------------------------------------------------------------------


def recorded(path, name="picker", swing=0.4, arm: str = ""):
    """A recording in which the base stands for 1 s and swings out and back in 4 s; ``arm``: as it tells itself."""
    recordings = pytest.importorskip("recordings")
    said = recordings.status("accepted", "executing")
    said.hardware_id = name
    told = [("/arm_controller/status", "", 100.0, said)]
    if arm:
        told.append(("/arm_controller/arm", "", 100.0, recordings.messages.text(arm)))
    for t in np.arange(0.0, 6.0, 0.01):
        q = np.array(servos().home)
        q[0] += swing * np.sin(np.pi * np.clip((t - 1.0) / 4.0, 0.0, 1.0)) ** 4
        told.append(("/arm_controller/reference", "", 100.0 + t, recordings.reference(100.0 + t, recordings.NAMES, q)))
    return recordings.written_by_us(path, told)


def test_a_recording_is_made_again_as_fast_as_it_was_and_twice_as_fast(tmp_path, arm):
    path, home = recorded(tmp_path / "run.mcap"), arm.held[0]
    arm.move(base=-0.2)
    with arm.record() as made:
        to_it, along = arm.replay(path).legs
    assert (to_it.number, along.number) == (1, 2) and 3.0 < along.plan.duration < 4.0 and along.plan.slowed == 1.0
    assert made.arrays["q_ref"][:, 0].max() - home == approx(0.4, abs=0.005) and arm.held[0] == approx(home, abs=2e-3)
    s = np.linspace(0.0, along.path.duration, 100)
    assert np.abs(along.path.sample(s)[1]).max() == approx(0.4 * np.pi * 0.5 * 0.75**1.5, rel=0.02), "as fast as it was"
    assert arm.replay(path, speed=2.0, check=True).legs[1].path.duration == approx(0.5 * along.path.duration)
    arm.move(base=-0.2)
    with raises(InputError, match="not where the recording begins"):
        arm.replay(path, first=2)


def test_a_recording_of_another_arm_or_of_what_cannot_be_is_refused_before_anything_moves(tmp_path, caplog):
    (tmp_path / "damaged.mcap").write_bytes(b"MCAP")
    with Arm.offline() as arm:
        with raises(InputError, match="is of the arm rrp .*this is picker"):
            arm.replay(recorded(tmp_path / "other.mcap", "rrp"))
        urdf = picker().urdf
        longer = re.sub(r'(<joint name="wrist".*?xyz=")0.145', r"\g<1>0.175", urdf, flags=re.S)
        assert longer != urdf and "does not tell how its arm is built" in caplog.text
        forearm = arm_text.text_of(arm.known.known._replace(description=description.parse(longer)))
        with raises(InputError, match="is of another arm: wrist is 30.0 mm from where it is in picker here"):
            arm.replay(recorded(tmp_path / "forearm.mcap", arm=forearm))
        caplog.clear()
        arm.replay(recorded(tmp_path / "own.mcap", arm=arm_text.text_of(arm.known.known)))
        assert not caplog.text
        with raises(PickerError, match="step 2 .*base"):
            arm.replay(recorded(tmp_path / "far.mcap", swing=2.0))
        with raises(RecordingError, match="nothing moves"):
            arm.replay(recorded(tmp_path / "still.mcap", swing=0.0))
        with raises(RecordingError):
            arm.replay(tmp_path / "damaged.mcap")
