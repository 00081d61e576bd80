"""Sprites of the demo scene: people, cars and lamp posts, drawn with a few rounded shapes."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]
Color = tuple[float, float, float]
Light = np.float32 | NDArray[np.float32]
"""Light on a sprite as a fraction of white light: one value, or one per channel (B, G, R)."""

SKIN: Color = (105, 135, 190)
GLASS: Color = (95, 80, 65)
RUBBER: Color = (38, 36, 36)
STEPS = 12
"""Number of sprites in one walking cycle."""


@dataclass(frozen=True, slots=True)
class Sprite:
    """An image pyramid with an alpha channel.

    levels : (h, w, 4) float32 each, every level half the size of the one before: B, G, R under white
        light, and alpha 0..1
    """

    levels: tuple[NDArray[np.float32], ...]

    @classmethod
    def of(cls, picture: NDArray[np.float32]) -> Self:
        """Build the pyramid of `picture`, whose sides are multiples of 4."""
        half = _downsampled(picture)
        return cls((picture, half, _downsampled(half)))

    def scaled(self, height: int) -> NDArray[np.float32]:
        """Return the sprite `height` pixels high, sampled from the smallest level that is large enough."""
        level = next((one for one in reversed(self.levels) if one.shape[0] >= height), self.levels[0])
        rows, columns = level.shape[:2]
        width = max(1, round(columns * height / rows))
        sampled: NDArray[np.float32] = level[
            np.arange(height)[:, None] * rows // height, np.arange(width) * columns // width
        ]
        return sampled


def draw(
    canvas: NDArray[np.float32],
    sprite: Sprite,
    column: float,
    row: float,
    height: float,
    light: Light,
    leftward: bool = False,
) -> None:
    """Draw a sprite `height` pixels high on a (H, W, 3) canvas; parts outside the canvas are clipped.

    (column, row) is the middle of the sprite's bottom edge.
    """
    picture = sprite.scaled(max(1, round(height)))
    if leftward:
        picture = picture[:, ::-1]
    top, left = round(row) - picture.shape[0], round(column) - picture.shape[1] // 2
    rows, columns = (
        _clipped(top, picture.shape[0], canvas.shape[0]),
        _clipped(left, picture.shape[1], canvas.shape[1]),
    )
    visible = picture[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
    patch = canvas[rows, columns]
    patch += (visible[..., :3] * light - patch) * visible[..., 3:]


def draw_lens_flare(
    canvas: NDArray[np.float32], column: float, row: float, radius: float, power: float = 1.0
) -> None:
    """Add a light source that faces the camera: a bright core of `radius` pixels in a faint halo."""
    reach = min(int(radius * 5) + 2, 120)
    rows = _clipped(round(row) - reach, 2 * reach, canvas.shape[0])
    columns = _clipped(round(column) - reach, 2 * reach, canvas.shape[1])
    y, x = np.ogrid[rows, columns]
    distance2 = (np.square(x - column) + np.square(y - row)) / (radius * radius)
    light = power * (230.0 * np.exp(-distance2 * 4.0) + 34.0 * np.exp(-distance2 * 0.25))
    canvas[rows, columns] += light[..., None] * (0.86, 0.96, 1.0)


def _clipped(start: int, length: int, limit: int) -> slice:
    """Clip start .. start+length to 0 .. limit; the slice may be empty."""
    first = min(max(start, 0), limit)
    return slice(first, max(first, min(start + length, limit)))


def _downsampled(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, columns = picture.shape[:2]
    parts = picture.reshape(rows // 2, 2, columns // 2, 2, 4)
    mean: NDArray[np.float32] = parts.mean((1, 3), np.float32)
    return mean


class Canvas:
    """Draws shapes into an image with alpha; coordinates are in image heights, y points down."""

    def __init__(self, height: int, width: int) -> None:
        self.picture = np.zeros((height, width, 4), np.float32)
        self._y, self._x = (np.mgrid[:height, :width].astype(np.float32) + 0.5) / height
        self._edge = 1.0 / height

    def limb(self, start: tuple[float, float], end: tuple[float, float], radius: float, color: Color) -> None:
        """Draw a line with round ends, from (x, y) to (x, y)."""
        (x0, y0), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
        along = ((self._x - x0) * dx + (self._y - y0) * dy) / max(dx * dx + dy * dy, 1e-6)
        along = np.clip(along, 0.0, 1.0)
        self._fill(np.hypot(self._x - x0 - along * dx, self._y - y0 - along * dy) - radius, color)

    def box(
        self, left: float, top: float, right: float, bottom: float, color: Color, slant: float = 0.0
    ) -> None:
        """Draw a box with round corners; `slant` shortens its top edge on both sides."""
        inset = slant * np.clip((bottom - self._y) / (bottom - top), 0.0, 1.0)
        dx = np.abs(self._x - (left + right) / 2) - (right - left) / 2 + inset
        dy = np.abs(self._y - (top + bottom) / 2) - (bottom - top) / 2
        round_ = 0.02
        outside = np.hypot(np.maximum(dx + round_, 0), np.maximum(dy + round_, 0)) - round_
        self._fill(np.maximum(outside, np.minimum(np.maximum(dx, dy), 0)), color)

    def _fill(self, distance: Plane, color: Color) -> None:
        cover = np.clip(0.5 - distance / self._edge, 0.0, 1.0)[..., None]
        # Shading towards the edge makes the shape look three-dimensional.
        shade = np.clip(0.72 - distance[..., None] * 7.0, 0.72, 1.05)
        self.picture[..., :3] += (shade * color - self.picture[..., :3]) * cover
        self.picture[..., 3:] += (1.0 - self.picture[..., 3:]) * cover


def walker(coat: Color, trousers: Color) -> list[Sprite]:
    """Return the walking cycle of a person who walks to the right."""
    return [_person(2 * np.pi * step / STEPS, coat, trousers) for step in range(STEPS)]


def _person(phase: float, coat: Color, trousers: Color) -> Sprite:
    canvas, x = Canvas(128, 64), 0.25
    hip, shoulder, swing = 0.52, 0.21, 0.10 * np.sin(phase)
    bend = 0.05 * np.cos(phase)
    for side in (-1.0, 1.0):
        knee = (x + side * swing * 0.6 + 0.02, hip + 0.22)
        foot = (x + side * swing * 1.25 - 0.02, 0.96 - max(0.0, side * bend))
        canvas.limb((x, hip), knee, 0.042, trousers)
        canvas.limb(knee, foot, 0.034, trousers)
        canvas.limb(foot, (foot[0] + 0.04, foot[1]), 0.022, RUBBER)
        if side < 0:
            canvas.limb((x, shoulder + 0.03), (x + swing * 0.9, 0.46), 0.032, coat)
            canvas.limb((x, shoulder + 0.04), (x, hip), 0.075, coat)
    hand = (x - swing * 1.1 + 0.01, 0.47)
    darker: Color = (coat[0] * 0.8, coat[1] * 0.8, coat[2] * 0.8)
    canvas.limb((x, shoulder + 0.03), hand, 0.030, darker)
    canvas.limb(hand, hand, 0.024, SKIN)
    canvas.limb((x + 0.008, 0.095), (x + 0.012, 0.11), 0.058, SKIN)
    canvas.limb((x - 0.012, 0.075), (x + 0.005, 0.07), 0.052, (45, 50, 60))
    return Sprite.of(canvas.picture)


def car_front(paint: Color) -> Sprite:
    """Return an oncoming car; the scene draws its headlights."""
    canvas = Canvas(128, 156)
    body = partial(canvas.box, color=paint)
    canvas.box(0.12, 0.80, 0.32, 0.99, RUBBER)
    canvas.box(0.90, 0.80, 1.10, 0.99, RUBBER)
    body(0.16, 0.04, 1.06, 0.50, slant=0.16)
    canvas.box(0.22, 0.10, 1.00, 0.44, GLASS, slant=0.14)
    body(0.07, 0.40, 1.15, 0.90, slant=0.03)
    canvas.box(0.42, 0.58, 0.80, 0.70, (70, 70, 72))
    canvas.box(0.10, 0.76, 1.12, 0.84, (120, 120, 124))
    canvas.box(0.46, 0.76, 0.76, 0.85, (200, 205, 205))
    for x in (0.22, 1.00):
        canvas.limb((x - 0.03, 0.62), (x + 0.03, 0.62), 0.055, (225, 230, 230))
    return Sprite.of(canvas.picture)


def car_side(paint: Color) -> Sprite:
    """Return a car that drives to the right."""
    canvas = Canvas(96, 280)
    canvas.box(0.55, 0.05, 2.15, 0.60, paint, slant=0.42)
    canvas.box(0.74, 0.14, 1.30, 0.50, GLASS, slant=0.24)
    canvas.box(1.38, 0.14, 1.96, 0.50, GLASS, slant=0.24)
    canvas.box(0.08, 0.46, 2.84, 0.86, paint, slant=0.06)
    canvas.box(1.32, 0.50, 1.335, 0.82, (40, 40, 44))
    canvas.box(1.16, 0.56, 1.26, 0.60, (150, 150, 150))
    canvas.box(2.72, 0.54, 2.84, 0.64, (215, 225, 225))
    canvas.box(0.08, 0.54, 0.18, 0.64, (40, 40, 190))
    for x in (0.62, 2.26):
        canvas.limb((x, 0.80), (x, 0.80), 0.19, RUBBER)
        canvas.limb((x, 0.80), (x, 0.80), 0.10, (130, 130, 132))
    return Sprite.of(canvas.picture)


def lamp_post() -> Sprite:
    """Return a street lamp whose arm reaches to the left, over the road."""
    canvas, steel = Canvas(256, 100), (72, 76, 74)
    canvas.limb((0.30, 0.99), (0.30, 0.90), 0.016, steel)
    canvas.limb((0.30, 0.95), (0.30, 0.05), 0.008, steel)
    canvas.limb((0.30, 0.05), (0.26, 0.02), 0.008, steel)
    canvas.limb((0.26, 0.02), (0.18, 0.02), 0.008, steel)
    canvas.limb((0.19, 0.03), (0.13, 0.03), 0.015, (150, 160, 160))
    return Sprite.of(canvas.picture)
