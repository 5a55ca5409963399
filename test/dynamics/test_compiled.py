"""Compiled inverse dynamics: the numbers of the model, any shape, the same refusals, no hard dependency."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from arm_fixtures import picker
from dynamics_models import ARMATURE
from dynamics_properties import states
from small_urdfs import random_arm
from waiting import run

from picker_dynamics.dynamics import lagrangian
from picker_dynamics.dynamics.lagrangian.scalars import sin_cos
from picker_dynamics.errors import InputError
from picker_dynamics.robot import description

numba = pytest.importorskip("numba", reason="compiled dynamics are an extra")
from benchmarks.compiled import BLOCK, LARGEST_ANGLE, compile_model  # noqa: E402

MODEL = lagrangian.from_description(picker(), armature=ARMATURE)
COMPILED = compile_model(MODEL)
Q, V, A, _ = states(MODEL, 1000, seed=1)


def same(q, v, a, compiled=COMPILED):
    expected = compiled.model.inverse_dynamics(q, v, a)
    actual = compiled.inverse_dynamics(q, v, a)
    assert actual.shape == expected.shape and actual.dtype == float
    assert np.max(np.abs(actual - expected), initial=0.0) <= 1e-13


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
def test_batches_of_any_size(count):
    same(Q[:count], V[:count], A[:count])


def test_single_states():
    for q, v, a in zip(Q[:50], V[:50], A[:50]):
        same(q, v, a)


def test_any_layout():
    read_only = Q[0].copy()
    read_only.setflags(write=False)
    same(read_only, V[0], A[0])
    same(Q[0].tolist(), V[0], A[0])
    same(np.arange(5), np.arange(5), np.arange(5))
    same(Q[0].astype(np.float32), V[0], A[0])
    same(Q[::3], V[::3], A[::3])
    same(np.asfortranarray(Q), V, A)
    same(Q[0, ::-1], V[0], A[0])
    same(Q[:24].reshape(2, 3, 4, 5), V[:24].reshape(2, 3, 4, 5), A[:24].reshape(2, 3, 4, 5))
    same(Q[:7, None], V[:3], A[0])


def test_results_are_new_arrays():
    q, v, a = (np.array(x[0]) for x in (Q, V, A))
    first = COMPILED.inverse_dynamics(q, v, a)
    kept = first.copy()
    COMPILED.inverse_dynamics(2 * q, v, a)
    assert np.array_equal(first, kept)


def test_other_payloads_and_arms_have_their_own_numbers():
    same(Q, V, A, compile_model(MODEL.with_payload(0.1)))
    other_arm = lagrangian.make("picker", **dict.fromkeys(type(MODEL).parameter_names, 0.3))
    same(Q, V, A, compile_model(other_arm))
    same(Q, V, A)


@pytest.mark.parametrize("seed", range(4))
def test_chains(seed):
    """Trees of all kinds of joints, alone and in batches; arms of as many joints share the code."""
    arm = description.parse(random_arm(seed, count=6, branching=0.3))
    bare = lagrangian.from_urdf(arm, gravity=(1.0, 2.0, -9.0), armature=np.linspace(0.1, 0.2, 6))
    model = bare.with_payload(0.2, (0.1, 0, 0.2))
    compiled = compile_model(model)
    q, v, a, _ = states(model, 200, seed=seed)
    scale = np.max(np.abs(model.inverse_dynamics(q, v, a)))
    for state in ((q, v, a), (q[0], v[0], a[0]), (q[:3, None], v[:2], a[0])):
        expected = model.inverse_dynamics(*state)
        assert np.max(np.abs(compiled.inverse_dynamics(*state) - expected)) <= 1e-14 * scale
    with pytest.raises(InputError, match=r"q\[2\] is nan"):
        compiled.inverse_dynamics(np.where(np.arange(6) == 2, math.nan, q[0]), v[0], a[0])


def test_huge_angles():
    """Where the compiled sine loses digits, the model itself answers."""
    for scale in (1e3, LARGEST_ANGLE, 1e9, 1e15):
        same(scale * Q[:70], V[:70], A[:70])
        same(scale * Q[0], V[0], A[0])


def test_sine_and_cosine_are_good_to_two_ulp():
    """Against the C library, near and far from zero and at the ends of the quarter turns."""

    @numba.njit
    def both(angles):
        out = np.empty((2, angles.size))
        for i, angle in enumerate(angles):
            out[0, i], out[1, i] = sin_cos(angle)
        return out

    random = np.random.default_rng(2)
    quarters = np.arange(-40, 41) * math.pi / 4
    spread = [random.uniform(-reach, reach, 20000) for reach in (1e-9, 4.0, 1e3, LARGEST_ANGLE)]
    angles = np.concatenate([*spread, quarters, np.nextafter(quarters, 9e9), np.nextafter(quarters, -9e9)])
    expected = np.array([[math.sin(x) for x in angles], [math.cos(x) for x in angles]])
    ulp = np.spacing(np.abs(expected))
    assert np.max(np.abs(both(angles) - expected) / ulp) <= 2.0


@pytest.mark.parametrize(
    "q, v, a, message",
    [
        (Q[0], V[0, :4], A[0], r"v has shape \(4,\), expected \(..., 5\)"),
        (Q[0] * math.nan, V[0], A[0], r"q\[0\] is nan"),
        (Q[0], V[0], np.array([0, 0, math.inf, 0, 0]), r"a\[2\] is inf"),
        (Q[0], V[0] * [1, 1, 1, math.nan, 1], A[0], r"v\[3\] is nan"),
        (Q[:70], np.where(np.arange(350).reshape(70, 5) == 342, math.nan, V[:70]), A[:70], r"v\[68, 2\] is nan"),
        (Q[:3], V[:2], A[:3], "do not broadcast"),
        (0.5, V[0], A[0], r"q has shape \(\)"),
        (Q[0], "fast", A[0], "v is 'fast', not an array of numbers"),
    ],
)
def test_refused(q, v, a, message):
    with pytest.raises(InputError, match=message):
        COMPILED.inverse_dynamics(q, v, a)


def in_a_new_process(code: str) -> str:
    command = [sys.executable, "-c", code]
    result = run(*command, check=True)
    return result.stdout.strip()


def test_without_numba_the_message_says_how_to_get_it():
    message = in_a_new_process(
        "import sys; sys.modules['numba'] = None\n"
        "from picker_dynamics import errors\n"
        "try:\n    from benchmarks import compiled\n"
        "except errors.MissingDependencyError as error:\n    print(error)"
    )
    assert "pip install numba" in message


def test_numba_is_imported_only_where_it_is_asked_for():
    code = "import sys, picker_dynamics.dynamics.lagrangian; print('numba' in sys.modules)"
    assert in_a_new_process(code) == "False"
