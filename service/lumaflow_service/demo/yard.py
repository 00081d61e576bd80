"""Second view of the demo scene: a brick wall with garages and a sign, pedestrians and a passing car."""

import numpy as np

from lumaflow_service.demo.bitmap_font import render_text
from lumaflow_service.demo.sprites import STEPS, car_side, draw, draw_lens_flare, walker
from lumaflow_service.demo.surface import (
    AMBIENT,
    WARM,
    Lighting,
    Picture,
    Plane,
    Point,
    Surface,
    bricks,
    lamp_light,
)

WIDTH, FOOT = 15.0, 0.74
"""Metres of wall across the picture; where the wall meets the ground, 0..1 from the top."""

LAMP: Point = (-3.1, 3.75, 7.0)


class Yard:
    """Draws the yard at time `t`; `lighting` is the static background."""

    def __init__(self, width: int, height: int, rng: np.random.Generator) -> None:
        self._scale, self._middle, self._foot = width / WIDTH, width / 2, height * FOOT
        self._surface = surface = _paint(width, height, rng)
        self.lighting = Lighting.of(surface, 0.9 * lamp_light(surface.x, surface.y, surface.z, LAMP, 2.6))
        self._walkers = [walker(coat, trousers) for coat, trousers in _CLOTHES]
        self._car = car_side((150, 120, 70))

    def draw_moving(self, canvas: Picture, t: float, power: float) -> None:
        """Draw the moving objects at `t` seconds on the background, farthest first."""
        if power:
            draw_lens_flare(
                canvas, self._column(LAMP[0]), self._foot - LAMP[1] * self._scale, 0.25 * self._scale, power
            )
        self._draw_person(canvas, 2, -1.2, 0.05, 0, power)
        self._draw_person(canvas, 1, 9.5 - (t * 1.05 + 7) % 19, 0.30, int(t * 12) % STEPS, power)
        self._draw_person(canvas, 0, (t * 1.25) % 19 - 9.5, 0.42, int(t * 14) % STEPS, power)
        self._draw_car(canvas, (t * 5.0) % 40 - 14.0)

    def _draw_person(
        self, canvas: Picture, which: int, x: float, forward: float, step: int, power: float
    ) -> None:
        light = AMBIENT + WARM * np.float32(0.9 * power) * lamp_light(x, 1.0, 7.0, LAMP, 2.6)
        foot = self._foot + forward * self._scale
        sprite = self._walkers[which][step]
        draw(canvas, sprite, self._column(x), foot, 1.75 * self._scale, light, leftward=which == 1)

    def _draw_car(self, canvas: Picture, x: float) -> None:
        """Draw the car and the light of its headlights on the road."""
        foot = self._foot + 1.55 * self._scale
        columns = slice(*(int(np.clip(self._column(x + d), 0, canvas.shape[1])) for d in (1.9, 9.0)))
        rows = slice(int(self._foot), canvas.shape[0])
        ahead = self._surface.x[rows, columns] - (x + 1.9)
        across = (self._surface.z[rows, columns] - 3.6) / (0.5 + 0.35 * ahead)
        beam = np.exp(-np.square(across)) * np.clip(1.0 - ahead / 7.0, 0.0, 1.0) * 0.5
        canvas[rows, columns] += self._surface.albedo[rows, columns] * beam[..., None]
        draw(canvas, self._car, self._column(x), foot, 1.45 * self._scale, np.float32(AMBIENT + 0.05))
        draw_lens_flare(canvas, self._column(x + 2.05), foot - 0.58 * self._scale, 0.35 * self._scale)

    def _column(self, x: float) -> float:
        return self._middle + x * self._scale


_CLOTHES = (
    ((70, 60, 170), (90, 70, 55)),
    ((160, 130, 60), (60, 62, 70)),
    ((96, 128, 92), (74, 76, 84)),
)


def _paint(width: int, height: int, rng: np.random.Generator) -> Surface:
    """Return the static surfaces: a brick wall with garage doors, a sign and windows; asphalt in front."""
    scale = WIDTH / (2 * width)
    x = ((np.arange(2 * width, dtype=np.float32) + 0.5) * scale - WIDTH / 2)[None, :]
    rows = (2 * height * FOOT - np.arange(2 * height, dtype=np.float32) - 0.5)[:, None] * scale
    x, rows = np.broadcast_arrays(x, rows)
    is_ground = rows < 0
    y = np.where(is_ground, np.float32(0.0), rows)
    z = np.where(is_ground, 8.0 + 3.2 * rows, np.float32(8.0))
    albedo = np.where(is_ground[..., None], _ground(x, z, rng), _wall(x, y, rng))
    emission = np.zeros_like(albedo)
    pane = (np.abs(x - 4.4) < 0.5) & (np.abs(y - 4.4) < 0.62) & (np.abs(x - 4.4) > 0.04)
    emission[pane] = (26, 58, 80)
    return Surface(x.copy(), y, z.astype(np.float32), albedo, emission).downsampled()


def _ground(x: Plane, z: Plane, rng: np.random.Generator) -> Picture:
    ground: Plane = 84 + rng.normal(0, 8, x.shape) + 8 * np.sin(x * 1.3 + 2 * np.sin(z))
    ground[z > 7.2] = 128
    ground[(z > 7.2) & (x % 1.1 < 0.04)] = 80
    ground[np.abs(z - 7.15) < 0.12] = 160
    ground[(np.abs(z - 3.2) < 0.14) & (x % 2.4 < 1.4)] = 175
    return np.multiply.outer(ground, np.array((1.02, 1.0, 0.97), np.float32))


def _wall(x: Plane, y: Plane, rng: np.random.Generator) -> Picture:
    wall = (1.06 - 0.42 * bricks(x, y))[..., None] * np.array((66, 82, 140), np.float32)
    wall += rng.normal(0, 4, (*x.shape, 1))
    for middle, paint in ((-5.0, (120, 92, 58)), (-1.2, (84, 118, 74)), (2.6, (70, 84, 134))):
        _paint_door(wall, x - middle, y, paint)
    for middle in (-5.6, -3.0, 1.8, 4.4):
        inside = (np.abs(x - middle) < 0.6) & (np.abs(y - 4.4) < 0.72)
        wall[inside] = (165, 170, 172)
        wall[inside & (np.abs(x - middle) < 0.5) & (np.abs(y - 4.4) < 0.62)] = (86, 74, 62)
    _paint_sign(wall, x, y)
    wall[(np.abs(x - 5.9) < 0.6) & (np.abs(y - 1.5) < 0.8)] = (150, 170, 178)
    wall[(np.abs(x - 5.9) < 0.5) & (np.abs(y - 1.75) < 0.4)] = (120, 80, 50)
    wall[(np.abs(x - 5.9) < 0.45) & (np.abs(y - 1.0) < 0.2) & (y % 0.1 < 0.05)] = (70, 72, 74)
    return wall


def _paint_door(wall: Picture, x: Plane, y: Plane, paint: tuple[float, float, float]) -> None:
    inside = (np.abs(x) < 1.45) & (y < 2.55)
    wall[(np.abs(x) < 1.6) & (y < 2.7)] = (120, 124, 126)
    ribs = 0.82 + 0.22 * np.sin(y * 2 * np.pi / 0.34)
    wall[inside] = (ribs[..., None] * paint)[inside]
    wall[inside & (np.abs(np.abs(x) - 0.72) < 0.03)] *= 0.6
    wall[(np.abs(x) < 0.22) & (np.abs(y - 1.0) < 0.05)] = (170, 172, 172)


def _paint_sign(wall: Picture, x: Plane, y: Plane) -> None:
    """Paint a sign with the name LUMAFLOW; it is too dark to read before enhancement."""
    wall[(np.abs(x + 1.2) < 2.5) & (np.abs(y - 3.2) < 0.42)] = (66, 52, 40)
    text = render_text("LUMAFLOW")
    column = np.floor((x + 3.5) / 4.6 * text.shape[1]).astype(int)
    row = np.floor((3.5 - y) / 0.6 * text.shape[0]).astype(int)
    inside = (column >= 0) & (column < text.shape[1]) & (row >= 0) & (row < text.shape[0])
    mask = np.zeros(x.shape, np.bool_)
    mask[inside] = text[row[inside], column[inside]]
    wall[mask] = (150, 205, 225)
