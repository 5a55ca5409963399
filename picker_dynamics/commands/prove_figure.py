"""Figure of ``picker prove``: how far the tip was off at each pose, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from picker_dynamics.estimation.calibration.readings import NORMAL_95

TIMES = 5.0
"""How many times longer arrows are drawn than the tip is off."""

COLOURS = {"before": "#c0392b", "after": "#1e8449"}


def draw(path: Path, told: Mapping[str, Sequence[Mapping[str, Any] | None]], picture: np.ndarray | None) -> None:
    """Write bars of the tip error at each pose with its 95 % interval [mm], and below it the camera's last ``picture`` with
    arrows from where the tip should be to where it was seen; poses that were not seen have neither."""
    count, size = (1, (8.0, 4.0)) if picture is None else (2, (8.0, 8.6))
    figure, axes = plt.subplots(count, 1, figsize=size, layout="constrained", squeeze=False, height_ratios=(3.6, 4.6)[:count])
    bars, seen = axes[0, 0], axes[-1, 0]
    if picture is not None:
        seen.imshow(picture, cmap="gray", vmin=0, vmax=255)
        seen.set(xticks=[], yticks=[], title=f"from where the tip should be to where it was seen, {TIMES:g} times as long")
    for shift, (name, colour) in zip((-0.2, 0.2), COLOURS.items()):
        rows = [(number, one) for number, one in enumerate(told[name], 1) if one is not None]
        if not rows:
            continue
        off, spread = ([one[key] for _, one in rows] for key in ("off_mm", "sd_mm"))
        label, style = f"{name}: {np.median(off):.1f} mm median", {"color": colour, "capsize": 2}
        bars.bar([number + shift for number, _ in rows], off, 0.4, yerr=NORMAL_95 * np.array(spread), label=label, **style)
        if picture is not None:
            at, to = np.array([one["pixels"] for _, one in rows]).swapaxes(0, 1)
            arrows = {"angles": "xy", "scale_units": "xy", "scale": 1.0 / TIMES, "color": colour, "width": 0.003}
            seen.quiver(*at.T, *(to - at).T, **arrows)
    bars.set(xlabel="pose", ylabel="tip error [mm]", title="Distance of the tip from where it should be, as the camera sees it")
    bars.set_xticks(range(1, 1 + len(told["after"])))
    bars.set(xlim=(0.4, len(told["after"]) + 0.6), ylim=(0.0, None))
    bars.grid(True, axis="y", alpha=0.25)
    bars.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
