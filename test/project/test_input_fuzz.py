"""A share of the fuzzing of file inputs (``make fuzz-inputs`` does it for as long as one likes), and that it can fail."""

import faulthandler
import mmap
import os
import sys
import time
from pathlib import Path

import pytest
from input_fuzz import tried
from waiting import run

from picker_dynamics.errors import InputError

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[1] / "support"


def test_damaged_files_of_every_kind_end_in_one_error_each(tmp_path):
    """In a process of its own, whose memory is that of the fuzzing alone."""
    command = [sys.executable, "-m", "input_fuzz", "--seconds", "15", "--seed", "7", "--out", str(tmp_path)]
    done = run(*command, timeout=280, cwd=FOLDER)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"


def _abort():
    faulthandler.disable()
    os.abort()


def _fill(_path):
    held = mmap.mmap(-1, 700 << 20)
    held.write(b"x" * (700 << 20))


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "work, failure",
    [
        (lambda _path: _raise(InputError("no")), ""),
        (lambda _path: _raise(ValueError("no")), "traceback"),
        (_fill, "MB"),
        (lambda _path: print("x" * 100_000), "said"),
        (lambda _path: _abort(), "exit code -6"),
        (lambda _path: [None for _ in iter(time.process_time, None)], "took"),
    ],
)
def test_what_must_not_be_is_noticed(tmp_path, work, failure):
    found, _, _ = tried(work, tmp_path)
    assert failure in found and bool(failure) == bool(found)
