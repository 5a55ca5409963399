"""``picker teach`` and ``picker replay``: a motion is taught pose by pose, kept in a file that a person edits, and made again."""

from __future__ import annotations

from picker_dynamics.errors import PickerError, refuse_if
from picker_dynamics.scripting import taught
from picker_dynamics.scripting.steps import Pause
from picker_dynamics.scripting.taught import SPEEDS, TaughtFile

from . import drive
from . import options as shared

KEPT, PAUSE_S = {"m": "pose", "k": "grip", "w": "pause"}, 1.0
"""Keys that add a step, and which; how long a pause is [s]."""


def add_parser(commands) -> None:
    """Register ``teach`` and ``replay``."""
    teach = commands.add_parser("teach", help="drive the arm and record poses, grips and pauses as NAME.yaml")
    teach.add_argument("name", metavar="NAME", help="motion name; an existing file is extended")
    replay = commands.add_parser("replay", help="repeat a taught motion or a recording")
    replay.add_argument("name", metavar="NAME", help="motion name, or FILE.mcap")
    replay.add_argument("--loop", type=shared.whole(1, 1000), default=1, metavar="N", help="repeat N times")
    replay.add_argument("--speed", type=shared.number(*SPEEDS), default=1.0, metavar="S", help="speed factor; limits are kept")
    replay.add_argument("--from", dest="first", default="1", metavar="STEP", help="begin with this step, by number or name")
    shared.add(replay, "--check")
    for command in (teach, replay):
        shared.add(command, "--namespace", "--host")


# -- teach -------------------------------------------------------------------------------------------------------------------


def run(options) -> int:
    """Teach until q, or make a motion again; returns the exit code."""
    if options.command == "replay":
        return _replay(options)
    code = drive.run(options, lambda client, arm: TeachSeat(client, arm, options.name))
    print(f"picker replay {options.name}" if taught.path_of(options.name).exists() else "nothing was taught")
    return code


class TeachSeat(drive.Seat):
    """A driver's seat with keys that keep things."""

    help = f"{drive.Seat.help}\n    m, k, w       keep this pose, the gripper's alone, a pause of a second"

    def __init__(self, client, arm, name: str):
        super().__init__(client, arm)
        self.file = TaughtFile(name, self.description)
        self.say("m keeps a pose", f"{self.file.path}: {self.file.count} steps")

    def keep(self, key: str) -> None:
        """Add the pose that is held, or what of it grips, or a pause.

        Raises:
            PickerError: the arm moves, or is not held; there is no gripper.
        """
        if key not in KEPT:
            return super().keep(key)
        what = KEPT[key]
        if what == "pause":
            self.file.add(Pause(PAUSE_S))
        elif why := self.hindrance():
            raise PickerError(f"no pose is held: {why}")
        else:
            joints = (self.arm.require_gripper(),) if what == "grip" else None
            self.file.add_pose(f"{what} {self.file.count + 1}", self.held(), joints)
        self.say(f"step {self.file.count} of {self.file.path}: {what}")


# -- replay ------------------------------------------------------------------------------------------------------------------


class Shown:
    """Tells a person each leg that begins; ``leg``: the one under way."""

    leg = None

    def __call__(self, leg, share: float) -> None:
        if self.leg is not leg:
            self.leg = leg
            print(f"step {leg.number}: {leg.name}{f', {leg.plan.duration:.1f} s' if leg.moves else ''}", flush=True)


def _replay(options) -> int:
    """Check all of it, make it, tell how far it is; returns the exit code."""
    path = taught.path_of(options.name)
    refuse_if(not path.exists(), f"no file {path}; picker teach {path.stem} makes a motion", "name", options.name)
    tell, client = Shown(), shared.client(options)
    with shared.scripted(client) as arm:
        client.wait_holding()
        how = {"loop": options.loop, "speed": options.speed, "first": options.first, "check": options.check}
        try:
            found = arm.replay(options.name, **how, progress=tell)
        except (KeyboardInterrupt, PickerError):
            if (last := tell.leg) is not None:
                again = f"--from {1 if last.path else last.number}" + (
                    f" --speed {options.speed:g}" if options.speed != 1.0 else ""
                )
                print(f"stopped in step {last.number} ({last.name}); picker replay {options.name} {again} goes on")
            raise
    print(found if options.check else f"done: {len(found.legs)} steps")
    return 0
