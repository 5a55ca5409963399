"""Moving picture of the demo: the arm that sags beside the compensated one, both over the same tour, each with how far it is off.

A berry that is farther from the tip than the scene allows, when the scissor closes, stays where it hangs.  (What it weighs is on
the tool all the same: the errors of both are of one and the same load.)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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

BERRY_M, STEM_M = 0.010, 0.018
"""Radius of a berry, and how far below the place of the cut it hangs, and how far above that its stem begins [m]."""

RED, GREEN, WOOD = (0.85, 0.10, 0.12), (0.25, 0.55, 0.25), (0.62, 0.46, 0.30)

GROUND, BACK, GRID, TEXT, FAINT, GHOST, GOOD, BAD = (
    "#ffffff",
    "#e8edf4",
    "#cfd8e3",
    "#111827",
    "#4b5563",
    "#92a7de",
    "#14703a",
    "#b3261e",
)

COLOURS, SAMPLES = 255, 4
"""Of a file, and the number of frames from which they are chosen."""

GRID_M = 0.1
DIGIT = "\N{FIGURE SPACE}"


@dataclass(frozen=True, eq=False)
class Shot:
    """One arm at one moment: pose and reference (n,), how far the tip is off [m], berries that it got, and what stands about."""

    q: np.ndarray
    q_ref: np.ndarray
    error_m: float
    got: int
    props: tuple[Prop, ...]


def draw(scene: Scene, arm: ArmDescription, measured: dict[str, ModeResult], out: Path) -> Path:
    """Write pick.gif; returns its path."""
    pairs = list(zip(*(film(scene, arm, measured[mode], measured[SHOWN[-1]]) for mode in SHOWN)))
    stage = Stage(arm, [shot.q for pair in pairs[::2] for shot in pair], pairs[0][0].props, *PANEL)
    blank, berries = _blank(stage), len(scene.picks)
    pages = [_page(blank, stage, pair, berries) for pair in pairs]
    samples = pages[:: max(1, len(pages) // SAMPLES)]
    sheet = Image.new("RGB", (blank.width, blank.height * len(samples)))
    for number, page in enumerate(samples):
        sheet.paste(page, (0, number * blank.height))
    palette = sheet.quantize(COLOURS)
    first, *others = (page.quantize(palette=palette, dither=Image.Dither.NONE) for page in pages)
    durations = [round(1e3 * PERIOD_S)] * len(others) + [round(1e3 * LAST_S)]
    path = out / "pick.gif"
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, disposal=1)
    return path


# -- what happens ------------------------------------------------------------------------------------------


def film(scene: Scene, arm: ArmDescription, result: ModeResult, pace: ModeResult) -> list[Shot]:
    """The arm over the tour, leg by leg as long as ``pace`` takes, so that several of them stay side by side."""
    run, berries = result.recording, Berries(scene, arm, result)
    step, rest = (round(seconds / float(run.t[1] - run.t[0])) for seconds in (PERIOD_S * FASTER, REST_S))
    shots = []
    for leg, other in zip(result.legs, pace.legs):
        for after in range(0, min(other.rests + rest, other.over) - other.row, step):
            row = min(leg.row + after, leg.over - 1)
            shots.append(Shot(run.q[row], run.q_ref[row], float(run.tip_error[row]), *berries(row)))
    return shots


class Berries:
    """Berries of one run: where they are, and what else stands about."""

    def __init__(self, scene: Scene, arm: ArmDescription, result: ModeResult):
        self.run, self.tray = result.recording, None
        if scene.errands and "tray" in (about := read_scene(SURROUNDINGS, arm.root)):
            tray = about["tray"]
            self.tray = Prop("box", tuple(0.5 * edge for edge in tray.size), tray.xyz, WOOD)
        begins = [leg.row for leg in result.legs]
        loaded = np.array([False, *(leg.payload_kg > 0.0 for leg in result.legs)])
        self.taken = [row for row, before, now in zip(begins, loaded, loaded[1:]) if now and not before]
        self.left = [row for row, before, now in zip(begins, loaded, loaded[1:]) if before and not now]
        self.got = [self.run.tip_error[row - 1] <= scene.tolerance_m for row in self.taken]

    def __call__(self, row: int) -> tuple[int, tuple[Prop, ...]]:
        """Number of berries that the arm has got by that row, and what is to be seen."""
        props, got = [self.tray] if self.tray else [], 0
        for number, (taken, left, ok) in enumerate(zip(self.taken, self.left, self.got)):
            has = ok and row >= taken
            got += has
            if has and row >= left:
                if self.tray is not None:
                    x, y, z = self.tray.at
                    beside = (number - 0.5 * (len(self.taken) - 1)) * 3.0 * BERRY_M
                    props.append(Prop("sphere", (BERRY_M,), (x + beside, y, z + self.tray.size[2] + BERRY_M), RED))
                continue
            cut = self.run.tip[row] if has else self.run.tip_ref[taken - 1]
            props.append(Prop("sphere", (BERRY_M,), cut - [0.0, 0.0, STEM_M + BERRY_M], RED))
            props.append(Prop("capsule", (0.2 * BERRY_M, STEM_M), cut, GREEN))
        return got, tuple(props)


# -- what is seen ------------------------------------------------------------------------------------------


def _font(size: int, weight: str = "normal"):
    return ImageFont.truetype(font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight)), size)


def _left(panel: int) -> int:
    return panel * (PANEL[0] + BETWEEN)


def _blank(stage: Stage) -> Image.Image:
    """What does not move."""
    page = Image.new("RGB", (_left(1) + PANEL[0], HEAD + PANEL[1] + FOOT), GROUND)
    draw, floor = ImageDraw.Draw(page), Image.new("RGB", PANEL, BACK)
    for mark in np.arange(-1.0, 1.001, GRID_M):
        for ends in ([[mark, -1.0, 0.0], [mark, 1.0, 0.0]], [[-1.0, mark, 0.0], [1.0, mark, 0.0]]):
            ImageDraw.Draw(floor).line(stage.pixels(ends).ravel().tolist(), fill=GRID)
    for panel, mode in enumerate(SHOWN):
        page.paste(floor, (_left(panel), HEAD))
        draw.text((_left(panel) + 10, 10), f"compensation: {mode}", TEXT, _font(17, "bold"))
    draw.rectangle((10, page.height - 21, 22, page.height - 9), GHOST)
    said = f"where it was told to be.  Simulated arm, {FASTER} times as fast as real."
    draw.text((28, page.height - 23), said, FAINT, _font(13))
    return page


def _page(blank: Image.Image, stage: Stage, shots: tuple[Shot, ...], berries: int) -> Image.Image:
    page = blank.copy()
    draw = ImageDraw.Draw(page)
    for panel, shot in enumerate(shots):
        corner, arm = (_left(panel), HEAD), stage.picture(shot.q, shot.props)
        page.paste(Image.new("RGB", PANEL, GHOST), corner, stage.outline(shot.q_ref))
        page.paste(arm, corner, arm)
        off = f"tip {1e3 * shot.error_m:{DIGIT}>4.1f} mm off"
        draw.text((corner[0] + 10, 34), off, GOOD if panel else BAD, _font(26, "bold"))
        draw.text((corner[0] + 10, 69), f"{shot.got} of {berries} berries picked", TEXT, _font(15))
    return page
