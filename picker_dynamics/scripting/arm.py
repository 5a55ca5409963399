"""``Arm``: an arm to script, simulated in the process, on the running graph, or offline for questions alone.

    with Arm.simulated() as arm:
        arm.home()
        arm.move(tip=(0.26, 0.08, 0.17))
        print(arm.plan(shoulder=0, elbow=0))

SI units: radians (degrees where ``unit="deg"`` is said), metres, newton metres, kilograms, seconds.
What can be asked of an arm stands in ``scripted_arm.py``.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from picker_dynamics.dynamics.rigid_body import RigidBody
from picker_dynamics.errors import ConfigurationError, PickerError, refuse_if
from picker_dynamics.execution.waypoints import Waypoint
from picker_dynamics.robot import description, servo_arm
from picker_dynamics.robot.assumed_servos import SIMULATED_SERVOS
from picker_dynamics.robot.model import checked_number
from picker_dynamics.robot.servo_map import ServoMap

from .equipment import Equipment, equipment
from .scripted_arm import ScriptedArm

if TYPE_CHECKING:
    from picker_dynamics.session.session import Status

    from .view.live import LiveView

BACK_S, ENABLING_S = 3.0, 60.0
"""How long a lost board is waited for, and until all outputs are switched on [s]."""

HAND = 3.0
"""Times as fast as its servo without load a hand may turn a joint."""

__all__ = ["Arm", "Waypoint", "load"]


def load(arm: str | Path = "") -> RigidBody:
    """The dynamics of an arm alone: ``load("my.urdf").torque(q, v, a)``, ``.gravity(q)``, ``.mass_matrix(q)``, single states (n,)
    or batches (..., n).

    Args:
        arm: path of a URDF, or the name of an arm of config/arms.yaml; empty: the picker.

    Raises:
        DescriptionError, ConfigurationError: it cannot be used.
    """
    if not arm or not (Path(arm).suffix or Path(arm).is_file()):
        known = equipment(arm)
        return RigidBody(known.description, known.known.armature)
    return RigidBody(description.load(arm))


def _wired(arm: str | Path, servos: str | Path, overlay: str | Path) -> tuple[Equipment, ServoMap]:
    """An arm on a serial port, whose servo map has to be known; raises a ConfigurationError where it is not."""
    known = equipment(arm, servos, overlay)
    if known.servos is None or servo_arm.assumes(known.description, servos):
        name = known.description.name
        raise ConfigurationError(f"{name} on a serial port needs its servo map: servos=FILE", "servos", name)
    return known, known.servos


class Arm(ScriptedArm):
    """An arm: questions about it, and motions.  Made by ``simulated``, ``open``, ``connect`` and others; a context manager."""

    @classmethod
    def simulated(
        cls,
        arm: str | Path = "",
        servos: str | Path = "",
        *,
        servo: str = "typical",
        compensation: str = "full",
        plant_error: float = 0.0,
        seed: int = 0,
        real_time: bool = True,
        arms: str | Path = "",
        scene: str | Path | None = None,
    ) -> Arm:
        """An arm simulated in this process, enabled at its home pose: servos, board, friction and all; no ROS.

        Args:
            arm: path of a URDF, or the name of an arm of config/arms.yaml; empty: the picker.
            servos: its servo map; empty: the picker's, or for another arm servos that fit it.
            servo: what the simulated servos are like: ``typical`` or ``ideal``.
            compensation: ``none``, ``gravity`` or ``full``.
            plant_error: bound of the relative errors of the true arm's numbers, 0 to 0.5; seed: of those errors.
            real_time: as fast as the clock on the wall; False: as fast as the processor.
            arms: a file like config/arms.yaml, of one's own, that has the arm, torque-controlled.
            scene: a file like config/scene.yaml, or empty: motions are held clear of it, of the floor and of the arm itself;
                None: the tool and the joints of the floor.

        Raises:
            DescriptionError, ConfigurationError, InputError: what it is made of cannot be used.
            MissingDependencyError: MuJoCo is not installed.
        """
        refuse_if(
            servo not in SIMULATED_SERVOS, f"servo is {servo!r}, must be one of {', '.join(SIMULATED_SERVOS)}", "servo", servo
        )
        from picker_dynamics.session.local import simulate

        known = equipment(arm, servos, servo, arms)
        error: dict[str, Any] = {"plant_error": checked_number("plant_error", plant_error, least=0.0), "seed": seed}
        return cls(known, simulate(known.known, compensation, scene, real_time=real_time, **error))

    @classmethod
    def open(
        cls,
        port: str = "/dev/ttyACM0",
        arm: str | Path = "",
        servos: str | Path = "",
        *,
        servo_overlay: str | Path = "",
        compensation: str = "full",
        scene: str | Path | None = None,
        rate_hz: float = 100.0,
    ) -> Arm:
        """Open a real arm by the port of its board or bus: its control loop runs in this process, without ROS; nothing is on yet.

        Call ``enable`` before the first motion.  When the script ends the arm is held.

        Args:
            port: serial port of the board or bus.
            arm, servos: path of a URDF and its servo map; empty: the picker's.
            servo_overlay: file with differences from the servo map: a calibration, LeRobot's too.
            compensation: ``none``, ``gravity`` or ``full``.
            scene: as for ``simulated``.
            rate_hz: of the control loop, at most 200.

        Raises:
            LinkError: no board there, or another program has the port.
            ConfigurationError: an arm without a servo map.
            DescriptionError, VersionError, BoardFaultError: files or board cannot be used.
        """
        from picker_dynamics.session.local import open_port

        known, _ = _wired(arm, servos, servo_overlay)
        return cls(known, open_port(known.known, port, compensation, scene, rate_hz))

    @classmethod
    def leader(cls, port: str, arm: str | Path = "", servos: str | Path = "", *, servo_overlay: str | Path = "") -> Arm:
        """Open a leader arm, bus servos that a hand moves, and switch its torque off: hold it.  ``q`` is where the hand has it.

        Its servos may have any P gain and gears, as no torque is asked of them.  Arguments and errors as ``open``.
        """
        from picker_dynamics.session.local import open_port

        known, map_ = _wired(arm, servos, servo_overlay)
        if not map_.bus:
            raise ConfigurationError(f"{known.description.name} cannot lead: its servos do not measure", "servos")
        limp = tuple(replace(one, p_gain=None, no_load_speed=HAND * one.no_load_speed) for one in map_.servos)
        known = replace(known, servos=replace(map_, servos=limp))
        session = open_port(known.known, port, "none", None, 100.0)
        try:
            session.disable()
        except BaseException:
            session.close()
            raise
        return cls(known, session)

    @classmethod
    def connect(cls, namespace: str = "", *, host: str = "", token: str = "") -> Arm:
        """The arm of the running graph (``picker up``, ``ros2 launch``).

        Args:
            namespace: the graph's.
            host, token: 'HOST:PORT' of an arm on another machine, and its token (docs/network.md).

        Raises:
            LinkError: no graph answers, or it has another token.
        """
        from picker_dynamics.session.remote import RemoteSession

        client = RemoteSession(namespace, host, token)
        try:
            known = Equipment(*client.running_arm())
        except BaseException:
            client.close()
            raise
        return cls(known, client)

    @classmethod
    def offline(
        cls, arm: str | Path = "", servos: str | Path = "", q: ArrayLike | None = None, scene: str | Path | None = None
    ) -> Arm:
        """Arm only to ask about, at the pose ``q`` (n,) [rad or m], by default home; the rest as for ``simulated``."""
        return cls(equipment(arm, servos, scene=scene), None, q)

    # -- outputs -------------------------------------------------------------------------------------------

    def enable(self, *, at_rest_pose: bool = False, accept_board: bool = False) -> str:
        """Adopt outputs that run, or switch them on, one joint at a time; returns what was done when the arm holds.

        Args:
            at_rest_pose: a person has put the arm at its rest pose.  Needed where outputs are off: a servo jumps from wherever
                it is to where its first pulse sends it.
            accept_board: use the board that is there although it was flashed for other limits.

        Raises:
            PickerError: a stop or fault is latched, the pose is unknown, or the board is gone or another arm's.
        """
        session = self._moving()
        session.wait_at_most(BACK_S, lambda: session.hardware["state"] != "offline")  # a lost board is looked for
        if accept_board:
            session.accept_board()
        said = session.enable(at_rest_pose)
        session.wait_at_most(ENABLING_S, lambda: session.hardware["state"] != "enabling")
        session.wait_holding()
        return said

    def stop(self) -> None:
        """Latch a stop: the arm decelerates and holds; ``reset``, then ``enable``, to continue."""
        self._moving().stop()

    def relax(self) -> None:
        """Switch the outputs off and latch: the arm falls."""
        self._moving().relax()

    def reset(self) -> None:
        """Clear a stop and faults whose cause is gone; nothing moves."""
        self._moving().reset()

    def status(self) -> Status:
        """Return the state of outputs, reference and payload."""
        return self._moving().status()

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        """Close the arm."""
        with nullcontext() if kind is None else suppress(PickerError):  # what ended the block is told
            self.close()

    def view(self, *, port: int = 0, browser: bool = True) -> LiveView:
        """Show the arm in the browser, and have it driven from there; see ``LiveView``."""
        from .view.live import LiveView

        return LiveView(self.known, self._moving(), port, browser)
