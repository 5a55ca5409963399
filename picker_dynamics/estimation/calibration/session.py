"""Session file of a calibration: every answer with its time and step, written after each one, never over another arm's.

    {"version": 1, "arm": {...checksums}, "answers": [{"step", "key", "typed", "value", "at"}, ...], "done": {step: at}}

Everything else is computed from the answers.  The latest answer to a question counts; one whose value is null is none.
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
from typing import Any

from picker_dynamics.errors import ConfigurationError, InputError
from picker_dynamics.files.formats import read_json, said
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
        answers: by step and key, the oldest first.
        done: when each step was finished.
    """

    path: Path
    arm: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    answers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    done: dict[str, str] = field(default_factory=dict)

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
        instead = f"{self.path}: choose another folder with --out, or move this file away"
        with said(f"no session of picker calibrate, {instead}"):
            found = read_json(self.path, "session")
            version, arm, self.done = found["version"], dict(found["arm"]), dict(found["done"])
            for one in found["answers"]:
                self.answers.pop((one["step"], one["key"]), None)
                if one["value"] is not None:
                    self.answers[str(one["step"]), str(one["key"])] = {"typed": "", **one}
            self.settings = {**self.settings, **found.get("settings", {})}
        told = {"urdf_sha256": "another URDF", "servos_sha256": "another servo map", "kind": f"it was {arm.get('kind')}"}
        other = [f"version {version}, not {VERSION}"] if version != VERSION else []
        other += [what for key, what in told.items() if arm.get(key) != self.arm.get(key)]
        if other:
            why = f"belongs to another arm or program ({' and '.join(other)}), {instead}"
            raise InputError(why, "session", str(self.path))

    def _unwritable(self, error: OSError) -> InputError:
        why = f"cannot write {self.path}: {error.strerror or error}; choose another folder with --out"
        return InputError(why, "out", str(self.path))

    # -- answers -----------------------------------------------------------------------------------------------------

    def value(self, step: str, key: str) -> Any:
        """The latest answer to a question; None where there is none."""
        return self.answers.get((step, key), {}).get("value")

    def record(self, step: str, key: str, value: object, typed: str = "") -> None:
        """Note an answer, and write the file.

        Args:
            value: in SI units; anything that JSON has, but not null.
            typed: what the person typed; "": noted by the program.
        """
        self.answers.pop((step, key), None)
        self.answers[step, key] = {"step": step, "key": key, "typed": typed, "value": value, "at": now()}
        self._write()

    def forget(self, step: str, key: str = "") -> None:
        """Open the questions of a step whose keys begin so again."""
        self._open([one for one in self.answers if one[0] == step and one[1].startswith(key)], step)

    def take_back(self, step: str) -> dict[str, Any] | None:
        """Open the last question of a step that somebody answered again, and what was noted after it; that answer, or None."""
        some = [key for key in self.answers if key[0] == step]
        last = next((number for number in reversed(range(len(some))) if self.answers[some[number]]["typed"]), None)
        if last is None:
            return None
        taken = self.answers[some[last]]
        self._open(some[last:], step)
        return taken

    def _open(self, keys: list[tuple[str, str]], step: str) -> None:
        for key in keys:
            del self.answers[key]
        self.reopen(step)

    def count(self, step: str) -> int:
        """Number of answers to questions of a step."""
        return sum(one == step for one, _ in self.answers)

    def finish(self, step: str) -> None:
        """Note that all of a step is answered."""
        self.done.setdefault(step, now())
        self._write()

    def reopen(self, step: str) -> None:
        """Reopen a step, to be looked at again; its answers stay."""
        self.done.pop(step, None)
        self._write()

    def _write(self) -> None:
        content = {"version": VERSION, "arm": self.arm, "settings": self.settings, "done": self.done}
        try:
            write_whole(self.path, json.dumps(content | {"answers": list(self.answers.values())}, indent=1, ensure_ascii=False))
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
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        new = Path(folder) / path.name
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.chmod(mode)
        new.replace(path)
