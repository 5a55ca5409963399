"""Judgement of pictures: the tags in them that can be measured, or why there are none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from scipy.ndimage import gaussian_filter

from picker_dynamics.errors import PictureError

from .edges import sharpness
from .tags import Corners, Detector, corners

SMALLEST_PICTURE = (320, 240)
"""Width and height that a picture needs [px]."""

SMALLEST_PX = 24.0
"""Edge that a tag needs: three pixels a cell."""

BLUR_PX = 1.4
"""Sigma of edges above which corners are more than 0.2 px beside the tag's, or no tag is found [px]."""

MOVED_PX = 0.5
"""How far a tag may move from frame to frame of a burst: five times the noise of its middle [px]."""

DARK, BRIGHT, CONTRAST = 40, 250, 30
"""Grey levels: brightest part of a black picture, middle of an over-exposed one, least from black to white of a tag."""


def judged(image: np.ndarray, wanted: Collection[int] = (), find: Detector = corners) -> Corners:
    """Find the tags of a grey picture, all of them fit to be measured.

    Args:
        image: (height, width), uint8.
        wanted: numbers of tags that have to be seen.

    Raises:
        PictureError: no tag, not all wanted, or one that cannot be measured; with the reason.
    """
    size, least = image.shape[1::-1], SMALLEST_PICTURE
    if size[0] < least[0] or size[1] < least[1]:
        text = f"the picture has {size[0]} x {size[1]} pixels, at least {least[0]} x {least[1]} are needed"
        raise PictureError(text, "picture", size, least)
    seen = find(image)
    if not seen:
        raise PictureError(f"no tag is seen: {_reason(image, find)}", "picture")
    missing = sorted(set(wanted) - set(seen))
    if missing:
        raise PictureError(f"tag {missing[0]} is not seen (seen: {', '.join(map(str, sorted(seen)))})", "tag", missing[0])
    for number, places in seen.items():
        edge = float(np.linalg.norm(places - np.roll(places, 1, axis=0), axis=1).min())
        if edge < SMALLEST_PX:
            text = f"tag {number} is {edge:.0f} px small, at least {SMALLEST_PX:.0f} are needed: a larger tag, or nearer"
            raise PictureError(text, "tag", edge, SMALLEST_PX)
        blur, contrast = sharpness(image, places)
        if contrast < CONTRAST:
            text = f"tag {number}: white is {contrast:.0f} grey levels above black, at least {CONTRAST} are needed: more light"
            raise PictureError(text, "tag", contrast, CONTRAST)
        if blur > BLUR_PX:
            text = f"tag {number} is blurred by {blur:.1f} px, at most {BLUR_PX} are allowed: out of focus, or moving"
            raise PictureError(text, "tag", blur, BLUR_PX)
    return seen


def at_rest(images: Sequence[np.ndarray], wanted: Collection[int] = (), find: Detector = corners) -> Corners:
    """Mean corners in a burst of frames of an arm at rest, of the tags seen in all of them.

    Raises:
        PictureError: as ``judged``; or a tag moved from frame to frame.
    """
    frames = [judged(image, wanted, find) for image in images]
    both = sorted(set.intersection(*map(set, frames)))
    if not both:
        raise PictureError("no tag is seen in all frames of a burst", "picture")
    found = {number: np.array([frame[number] for frame in frames]) for number in both}
    for number, places in found.items():
        moved = float(np.linalg.norm(np.diff(places.mean(axis=1), axis=0), axis=1).max(initial=0.0))
        if moved > MOVED_PX:
            text = f"tag {number} moved by {moved:.1f} px between frames, at most {MOVED_PX} are allowed: not at rest"
            raise PictureError(text, "tag", moved, MOVED_PX)
    return {number: places.mean(axis=0) for number, places in found.items()}


def _reason(image: np.ndarray, find: Detector) -> str:
    """Why no tag is found in a picture."""
    middle, bright = np.percentile(image, [50, 99])
    if bright < DARK:
        return "the picture is black (lens covered, no light?)"
    if middle >= BRIGHT:
        return "the picture is over-exposed"
    if find(np.ascontiguousarray(image[:, ::-1])):
        return "the picture is mirrored; switch that off in the camera"
    smooth = gaussian_filter(image.astype(np.float32), 1.0)
    contrast = float(np.ptp(smooth))
    blur = contrast / max(1e-6, float(np.abs(np.diff(smooth, axis=1)).max())) / np.sqrt(2.0 * np.pi)
    if contrast > CONTRAST and blur > BLUR_PX + 1.0:
        return "the picture is blurred"
    return "printed, whole in the picture, nothing before it, large enough (a cell of three pixels)?"
