"""Session file of a calibration: every answer with its time and step, written after each one, never over another arm's.

    {"version": 1, "arm": {...checksums}, "answers": [{"step", "key", "typed", "value", "at"}, ...], "done": {step: at}}

The answers are all there is: what follows from them is computed anew when a session goes on.  A later answer to the same
question replaces the earlier one; that one stays in the file.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, InputError, refuse_if
from picker_dynamics.files.formats import read_json
from picker_dynamics.files.reading import YAML_BYTES, read_bytes

VERSION, NAME = 1, "session.json"

SIMULATED = "a simulated arm"
"""Kind of the arm of a rehearsal, whose numbers are no real arm's."""


def now() -> str:
    """Local time, as it stands in the file."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def checksums(urdf: str, *servo_files: str | Path) -> dict[str, str]:
    """Checksums that tie a session to an arm: of the URDF's text and of the servo map's files.

    Raises:
        ConfigurationError: a file that cannot be read.
    """
    digest = hashlib.sha256()
    for path in servo_files:
        digest.update(read_bytes(path, "servo map", YAML_BYTES, ConfigurationError) + b"\0")
    return {"urdf_sha256": hashlib.sha256(urdf.encode()).hexdigest(), "servos_sha256": digest.hexdigest()}


@dataclass
class Session:
    """One calibration of one arm.

    Args:
        path: of the file.
        arm: what it is tied to.
        settings: what must not change on the way, for example the seed.
        clock: tells the time of an answer.
    """

    path: Path
    arm: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    clock: Callable[[], str] = now

    def __post_init__(self):
        self.answers: list[dict] = []
        self.done: dict[str, str] = {}
        self.explained: set[str] = set()
        self.started = self.clock()
        self._latest: dict[tuple[str, str], dict] = {}

    @classmethod
    def open(
        cls, folder: str | Path, arm: Mapping[str, str], settings: Mapping[str, object], *, restart: bool = False
    ) -> Session:
        """The session of a folder, or a new one; ``restart``: the one that is there is kept as a numbered backup.

        Raises:
            InputError: it cannot be read, or is that of another arm; or the folder cannot be written.
        """
        made = cls(Path(folder) / NAME, dict(arm), dict(settings))
        try:
            made.path.parent.mkdir(parents=True, exist_ok=True)
            if restart and made.path.exists():
                made.path.rename(backup_name(made.path))
            if made.path.exists():
                made._read()
        except OSError as error:
            raise made._unwritable(error) from error
        made._write()
        return made

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"cannot write {self.path}: {error.strerror or error}; choose another folder with --out",
            subject="out",
            value=str(self.path),
        )

    def _read(self) -> None:
        try:
            found = read_json(self.path, "session")
            version, arm, answers, done = (found[key] for key in ("version", "arm", "answers", "done"))
            if not all(isinstance(one, dict) for one in (arm, done, found.get("settings", {}))):
                raise TypeError("arm, done and settings have to be mappings")
            if not all(isinstance(one[key], str) for one in answers for key in ("step", "key", "typed", "at")):
                raise TypeError("an answer's step, key, typed and at have to be texts")
            latest = {(one["step"], one["key"]): one for one in answers if "value" in one}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{self.path} is no session of picker calibrate ({error}); --restart keeps it as a backup",
                subject="session",
                value=str(self.path),
            ) from error
        refuse_if(
            version != VERSION,
            f"{self.path} is of version {version}, this program writes {VERSION}; --restart keeps it as a backup",
            "session",
            version,
            VERSION,
        )
        tied = (("urdf_sha256", "URDF"), ("servos_sha256", "servo map"))
        other = [what for key, what in tied if arm.get(key) != self.arm.get(key)]
        if other or arm.get("kind") != self.arm.get("kind"):
            why = f"another {' and '.join(other)}" if other else f"{arm.get('kind')}, not {self.arm.get('kind')}"
            raise InputError(
                f"{self.path} belongs to another arm ({why}): give that one's files, another folder with --out, or "
                "--restart, which keeps it as a backup",
                subject="session",
                value=str(self.path),
            )
        self.answers, self.done, self.started = answers, done, found.get("started", "")
        self.settings = {**self.settings, **found.get("settings", {})}
        self._latest = {key: one for key, one in latest.items() if one["value"] is not None}

    # -- answers -----------------------------------------------------------------------------------------------------

    def value(self, step: str, key: str):
        """The latest answer to a question; None where there is none."""
        found = self._latest.get((step, key))
        return None if found is None else found["value"]

    def record(self, step: str, key: str, value, typed: str = "", *, fact: bool = False) -> None:
        """Note an answer, and write the file.

        Args:
            value: in SI units; anything that JSON has, but not null.
            typed: what the person typed.
            fact: it says how things stand, for example that a weight hangs: neither taken back nor forgotten.
        """
        entry = {"step": step, "key": key, "typed": typed, "value": value, "at": self.clock()} | ({"fact": True} if fact else {})
        self.answers.append(entry)
        self._latest[step, key] = entry
        self._write()

    def forget(self, step: str, key: str = "") -> None:
        """The questions of a step whose keys begin so are open again; the answers stay in the file, outdated."""
        keys = [pair for pair, one in self._latest.items() if pair[0] == step and pair[1].startswith(key) and not one.get("fact")]
        for pair in keys:
            self.answers.append({"step": step, "key": pair[1], "typed": "", "value": None, "at": self.clock()})
            del self._latest[pair]
        self.done.pop(step, None)
        self._write()

    def take_back(self, step: str) -> dict | None:
        """The last answer that was typed in a step is open again; that answer, None where there is none."""
        typed = [
            one for one in self.answers if one["step"] == step and one["typed"] and self._latest.get((step, one["key"])) is one
        ]
        if not typed:
            return None
        at = self.answers.index(typed[-1])
        for one in self.answers[at + 1 :]:  # what was noted after it rests on it
            if one["step"] == step and self._latest.get((step, one["key"])) is one and not one.get("fact"):
                del self._latest[step, one["key"]]
                self.answers.append({**one, "typed": "", "value": None, "at": self.clock()})
        self.forget(step, typed[-1]["key"])
        return typed[-1]

    def count(self, step: str) -> int:
        """Number of answers to questions of a step."""
        return sum(1 for one, _ in self._latest if one == step)

    def finish(self, step: str) -> None:
        """Note that all of a step is answered."""
        if step not in self.done:
            self.done[step] = self.clock()
            self._write()

    def reopen(self, step: str) -> None:
        """Reopen a step, to be looked at again; its answers stay."""
        if self.done.pop(step, None) is not None:
            self._write()

    def backup(self) -> Path:
        """Keep the file as it is now beside itself; the copy's path."""
        kept = backup_name(self.path)
        kept.write_bytes(self.path.read_bytes())
        return kept

    def _write(self) -> None:
        """The whole file, or the one that was there: a new one takes its place at once."""
        content = {
            "version": VERSION,
            "started": self.started,
            "arm": dict(self.arm),
            "settings": dict(self.settings),
            "done": self.done,
            "answers": self.answers,
        }
        try:
            write_whole(self.path, json.dumps(content, indent=1, ensure_ascii=False))
        except OSError as error:
            raise self._unwritable(error) from error


def backup_name(path: Path) -> Path:
    """Name of a backup: the first that is free of ``NAME.1``, ``NAME.2`` …."""
    number = 1
    while (free := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    return free


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file, or leave the one that was there: a new one takes its place at once."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, mode)
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
