"""A share of the fuzzing of file inputs (``make fuzz-inputs`` does it for as long as one likes), and that it can fail."""

import mmap
import os
import time

import pytest
from input_fuzz import KINDS, run, tried

from picker_dynamics.errors import InputError


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_damaged_files_of_every_kind_end_in_one_error_each(tmp_path):
    assert run(15.0, list(KINDS), seed=7, out=tmp_path) == []


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
        (lambda _path: os.abort(), "exit code -6"),
        (lambda _path: [None for _ in iter(time.process_time, None)], "took"),
    ],
)
def test_what_must_not_be_is_noticed(tmp_path, work, failure):
    verdict = tried(work, tmp_path)
    assert failure in verdict.failure and bool(failure) == bool(verdict.failure)
