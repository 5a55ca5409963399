"""Moving picture of the demo: the arm that sags beside the compensated one, both over the same tour, each with how far it is off.

A berry that is farther from the tip than the scene allows, when the scissor closes, stays where it hangs.  (What it weighs is on
the tool all the same: the errors of both are of one and the same load.)
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

from picker_dynamics.robot.description import ArmDescription
from picker_dynamics.robot.scene import read_scene
from picker_dynamics.sim.stage import Prop, Stage

from .measure import ModeResult
from .scene import SURROUNDINGS, Scene

SHOWN = ("none", "full")
PANEL, HEAD, FOOT, BETWEEN = (412, 330), 92, 30, 8
"""Sizes of one arm's picture, of what stands above and below, and the gap between the two [px]."""

PERIOD_S, FASTER, REST_S, LAST_S = 0.1, 2, 0.4, 2.0
"""Between frames, times faster than real, how much of each rest is shown, and for how long the last frame [s]."""

BERRY_M, STEM_M, GRID_M = 0.010, 0.018, 0.1
"""Radius of a berry, how far below the cut it hangs, and how far above that its stem begins; lines on the floor [m]."""

RED, GREEN, WOOD = (0.85, 0.10, 0.12), (0.25, 0.55, 0.25), (0.62, 0.46, 0.30)
GHOST, COLOURS = "#92a7de", 255


class Shot(NamedTuple):
    """One arm at one moment: pose and reference (n,), how far the tip is off [m], berries that it got, and what stands about."""

    q: np.ndarray
    q_ref: np.ndarray
    error_m: float
    got: int
    props: list[Prop]


def draw(scene: Scene, arm: ArmDescription, measured: dict[str, ModeResult], out: Path) -> Path:
    """Write pick.gif; returns its path."""
    pairs = list(zip(*(film(scene, arm, measured[mode], measured[SHOWN[-1]]) for mode in SHOWN)))
    stage = Stage(arm, [shot.q for pair in pairs[::2] for shot in pair], pairs[0][0].props, *PANEL)
    blank = _blank(stage)
    pages = [_page(blank, stage, pair, len(scene.picks)) for pair in pairs]
    palette = pages[len(pages) // 2].quantize(COLOURS)
    first, *others = (page.quantize(palette=palette, dither=Image.Dither.NONE) for page in pages)
    durations = [round(1e3 * PERIOD_S)] * len(others) + [round(1e3 * LAST_S)]
    path = out / "pick.gif"
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, disposal=1)
    return path


def film(scene: Scene, arm: ArmDescription, result: ModeResult, pace: ModeResult) -> list[Shot]:
    """The arm over the tour, leg by leg as long as ``pace`` takes, so that several of them stay side by side."""
    run, carries = result.recording, [False, *(leg.payload_kg > 0.0 for leg in result.legs)]
    changes = [leg.row for leg, before, now in zip(result.legs, carries, carries[1:]) if before != now]
    berries = [(taken, left, run.tip_error[taken - 1] <= scene.tolerance_m) for taken, left in zip(changes[::2], changes[1::2])]
    tray = read_scene(SURROUNDINGS, arm.root)["tray"]
    x, y, top = *tray.xyz[:2], tray.xyz[2] + 0.5 * tray.size[2] + BERRY_M

    def shot(row: int) -> Shot:
        props, got = [Prop("box", tuple(0.5 * edge for edge in tray.size), list(tray.xyz), WOOD)], 0
        for number, (taken, left, near) in enumerate(berries):
            has = bool(near and row >= taken)
            got += has
            if has and row >= left:
                beside = (number - 0.5 * (len(berries) - 1)) * 3.0 * BERRY_M
                props.append(Prop("sphere", (BERRY_M,), (x + beside, y, top), RED))
            else:
                cut = run.tip[row] if has else run.tip_ref[taken - 1]
                props.append(Prop("sphere", (BERRY_M,), cut - [0.0, 0.0, STEM_M + BERRY_M], RED))
                props.append(Prop("capsule", (0.2 * BERRY_M, STEM_M), cut, GREEN))
        return Shot(run.q[row], run.q_ref[row], float(run.tip_error[row]), got, props)

    step, rest = (round(seconds / float(run.t[1] - run.t[0])) for seconds in (PERIOD_S * FASTER, REST_S))
    return [
        shot(min(leg.row + after, leg.over - 1))
        for leg, other in zip(result.legs, pace.legs)
        for after in range(0, min(other.rests + rest, other.over) - other.row, step)
    ]


def _font(size: int, weight: str = "normal"):
    return ImageFont.truetype(font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight)), size)


def _left(panel: int) -> int:
    return panel * (PANEL[0] + BETWEEN)


def _blank(stage: Stage) -> Image.Image:
    """What does not move."""
    page, floor = Image.new("RGB", (_left(1) + PANEL[0], HEAD + PANEL[1] + FOOT), "white"), Image.new("RGB", PANEL, "#e8edf4")
    draw, lines = ImageDraw.Draw(page), ImageDraw.Draw(floor)
    for mark in np.arange(-1.0, 1.001, GRID_M):
        for ends in ([[mark, -1.0, 0.0], [mark, 1.0, 0.0]], [[-1.0, mark, 0.0], [1.0, mark, 0.0]]):
            lines.line(stage.pixels(ends).ravel().tolist(), fill="#cfd8e3")
    for panel, mode in enumerate(SHOWN):
        page.paste(floor, (_left(panel), HEAD))
        draw.text((_left(panel) + 10, 10), f"compensation: {mode}", "black", _font(17, "bold"))
    said = f"blue: planned motion.  Simulated arm, {FASTER} times as fast as real."
    draw.text((10, page.height - 23), said, "#4b5563", _font(13))
    return page


def _page(blank: Image.Image, stage: Stage, shots: tuple[Shot, ...], berries: int) -> Image.Image:
    page = blank.copy()
    draw = ImageDraw.Draw(page)
    for panel, shot in enumerate(shots):
        corner, arm = (_left(panel), HEAD), stage.picture(shot.q, shot.props)
        page.paste(Image.new("RGB", PANEL, GHOST), corner, stage.outline(shot.q_ref))
        page.paste(arm, corner, arm)
        off, colour = f"tip {1e3 * shot.error_m:.1f} mm off", "#14703a" if panel else "#b3261e"
        draw.text((corner[0] + 10, 34), off, colour, _font(26, "bold"))
        draw.text((corner[0] + 10, 69), f"{shot.got} of {berries} berries picked", "black", _font(15))
    return page
