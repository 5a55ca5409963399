"""Session file of a calibration: every answer with its time and step, written after each one, never over another arm's.

    {"version": 1, "arm": {...checksums}, "answers": [{"step", "key", "typed", "value", "at"}, ...], "done": {step: at}}

Everything else is computed from the answers.  The latest answer to a question counts; with the value null it is open again.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from picker_dynamics.errors import ConfigurationError, InputError
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
    """

    path: Path
    arm: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    answers: list[dict] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)
    started: str = field(default_factory=now)

    @classmethod
    def open(
        cls, folder: str | Path, arm: Mapping[str, str], settings: Mapping[str, object], *, restart: bool = False
    ) -> Session:
        """Go on with the session in a folder, or begin one.

        Args:
            restart: begin anew; the session that is there is kept as a backup.

        Raises:
            InputError: the file is none, of another version, or of another arm; the folder cannot be written.
        """
        made = cls(Path(folder) / NAME, arm, settings)
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

    def _read(self) -> None:
        try:
            found = read_json(self.path, "session")
            version, arm, answers, done = (found[key] for key in ("version", "arm", "answers", "done"))
            if not all(isinstance(one, dict) for one in (arm, done, found.get("settings", {}))):
                raise TypeError("arm, done and settings have to be mappings")
            if not all(isinstance(one[key], str) for one in answers for key in ("step", "key", "typed", "at")):
                raise TypeError("an answer's step, key, typed and at have to be texts")
            self.answers, self.done, self.started = [one for one in answers if "value" in one], done, found.get("started", "")
            self.settings = {**self.settings, **found.get("settings", {})}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unusable(f"is no session of picker calibrate ({error})") from error
        if version != VERSION:
            raise self._unusable(f"is of version {version}, this program writes {VERSION}")
        tied = {"urdf_sha256": "another URDF", "servos_sha256": "another servo map"}
        other = [what for key, what in tied.items() if arm.get(key) != self.arm.get(key)]
        if arm.get("kind") != self.arm.get("kind"):
            other = [f"{arm.get('kind')}, not {self.arm.get('kind')}"]
        if other:
            raise self._unusable(f"belongs to another arm ({' and '.join(other)}): choose another folder with --out")

    def _unusable(self, why: str) -> InputError:
        return InputError(f"{self.path} {why}, or --restart, which keeps it as a backup", subject="session", value=str(self.path))

    def _unwritable(self, error: OSError) -> InputError:
        why = f"cannot write {self.path}: {error.strerror or error}; choose another folder with --out"
        return InputError(why, subject="out", value=str(self.path))

    # -- answers -----------------------------------------------------------------------------------------------------

    @property
    def _latest(self) -> dict[tuple[str, str], dict]:
        """The answers that count, by step and key."""
        latest = {(one["step"], one["key"]): one for one in self.answers}
        return {key: one for key, one in latest.items() if one["value"] is not None}

    def value(self, step: str, key: str):
        """The latest answer to a question; None where there is none."""
        return self._latest.get((step, key), {}).get("value")

    def record(self, step: str, key: str, value, typed: str = "", *, fact: bool = False) -> None:
        """Note an answer, and write the file.

        Args:
            value: in SI units; anything that JSON has, but not null.
            typed: what the person typed.
            fact: it says how things stand, for example that a weight hangs: neither taken back nor forgotten.
        """
        entry = {"step": step, "key": key, "typed": typed, "value": value, "at": now()}
        self.answers.append(entry | ({"fact": True} if fact else {}))
        self._write()

    def forget(self, step: str, key: str = "") -> None:
        """Open the questions of a step whose keys begin so again; the answers stay in the file, outdated."""
        self._open([one for one in self._latest.values() if one["step"] == step and one["key"].startswith(key)])
        self.done.pop(step, None)
        self._write()

    def take_back(self, step: str) -> dict | None:
        """Open the last question of a step that somebody answered again, and what was noted after it; that answer, or None."""
        some = [one for one in self._latest.values() if one["step"] == step]
        some.sort(key=self.answers.index)
        typed = [number for number, one in enumerate(some) if one["typed"]]
        if not typed:
            return None
        self._open(some[typed[-1] :])
        self.done.pop(step, None)
        self._write()
        return some[typed[-1]]

    def _open(self, some: list[dict]) -> None:
        self.answers += [{**one, "typed": "", "value": None, "at": now()} for one in some if not one.get("fact")]

    def count(self, step: str) -> int:
        """Number of answers to questions of a step."""
        return sum(one == step for one, _ in self._latest)

    def finish(self, step: str) -> None:
        """Note that all of a step is answered."""
        self.done.setdefault(step, now())
        self._write()

    def reopen(self, step: str) -> None:
        """Reopen a step, to be looked at again; its answers stay."""
        self.done.pop(step, None)
        self._write()

    def backup(self) -> Path:
        """Keep the file as it is now beside itself; the copy's path."""
        kept = backup_name(self.path)
        kept.write_bytes(self.path.read_bytes())
        return kept

    def _write(self) -> None:
        content = {"version": VERSION} | {key: getattr(self, key) for key in ("started", "arm", "settings", "done", "answers")}
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
