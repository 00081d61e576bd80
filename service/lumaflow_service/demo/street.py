"""First view of the demo scene: a street in perspective, with pedestrians and an oncoming car."""

import numpy as np
from numpy.typing import NDArray

from lumaflow_service.demo.sprites import (
    STEPS,
    Light,
    Sprite,
    car_front,
    draw,
    draw_lens_flare,
    lamp_post,
    walker,
)
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

CAMERA_HEIGHT, FOCAL, HORIZON = 3.0, 0.86, 0.38
"""Metres above the road; focal length in picture widths; height of the horizon from the top, 0..1."""
ROAD, WALL, FAR = 4.2, 8.0, 120.0
_FACADES = np.array(
    [[62, 74, 132], [128, 158, 178], [140, 128, 112], [96, 132, 128], [92, 104, 150]], np.float32
)

LAMP: Point = (4.6, 5.7, 15.0)
FAR_LAMP: Point = (-4.6, 5.7, 44.0)
POST_METRES = 5.9


class Street:
    """Draws the street at time `t`; `lighting` is the static background."""

    def __init__(self, width: int, height: int, rng: np.random.Generator) -> None:
        self._middle, self._horizon, self._focal = width / 2, height * HORIZON, FOCAL * width
        self._surface = surface = _paint(width, height, rng)
        self.lighting = Lighting.of(
            surface,
            0.9 * lamp_light(surface.x, surface.y, surface.z, LAMP, 6.0),
            0.7 * lamp_light(surface.x, surface.y, surface.z, FAR_LAMP, 7.0),
        )
        self._walkers = [walker(coat, trousers) for coat, trousers in _CLOTHES]
        self._car, self._post = car_front((60, 56, 150)), lamp_post()

    def draw_moving(self, canvas: Picture, t: float, power: float) -> None:
        """Draw the moving objects at `t` seconds on the background, farthest first."""
        self._draw_post(canvas, FAR_LAMP, 0.7, leftward=True)
        z_car = 64.0 - (t * 9.0) % 60.0
        people = [
            (46.0 - (t * 1.2) % 36, 5.9, 0),
            (10.5 + (t * 1.3 + 20) % 40, -5.7, 1),
            (17.2, 6.5 - (t * 1.4) % 13, 2),
            (12.5, -6.0, 3),
        ]
        things = [*people, (z_car, -1.9, _CAR), (LAMP[2], LAMP[0], _POST)]
        for z, x, which in sorted(things, reverse=True):
            if which == _CAR:
                self._draw_car(canvas, x, z)
            elif which == _POST:
                self._draw_post(canvas, LAMP, power, leftward=False)
            else:
                self._draw_person(canvas, which, x, z, t, power)

    def _draw_person(self, canvas: Picture, which: int, x: float, z: float, t: float, power: float) -> None:
        step = 0 if which == _STANDING else int(t * 14 + 5 * which) % STEPS
        near, far = lamp_light(x, 1.0, z, LAMP, 6.0), lamp_light(x, 1.0, z, FAR_LAMP, 7.0)
        light = AMBIENT + WARM * (0.9 * power * near + 0.7 * far)
        self._draw_sprite(canvas, self._walkers[which][step], x, z, 1.75, light, leftward=which in (0, 2))

    def _draw_post(self, canvas: Picture, lamp: Point, power: float, leftward: bool) -> None:
        x, y, z = lamp
        foot = x - 0.2 if leftward else x + 0.2
        self._draw_sprite(
            canvas, self._post, foot, z, POST_METRES, np.float32(AMBIENT + 0.1 * power), leftward
        )
        if power:
            draw_lens_flare(canvas, *self._pixel(x, y, z), 0.45 * self._focal / z, power)

    def _draw_car(self, canvas: Picture, x: float, z: float) -> None:
        """Draw the car and the light of its headlights on the road."""
        near, rows_of = max(z - 16.0, 4.0), canvas.shape[0]
        first, last = (min(rows_of, int(self._pixel(x, 0.0, depth)[1])) for depth in (z, near))
        surface_x, surface_z = self._surface.x[first:last], self._surface.z[first:last]
        beam = np.exp(-np.square((surface_x - x) / (0.9 + 0.09 * np.abs(z - surface_z))))
        beam *= np.clip(1.0 - (z - surface_z) / 16.0, 0.0, 1.0) * 0.45
        canvas[first:last] += self._surface.albedo[first:last] * beam[..., None]
        self._draw_sprite(canvas, self._car, x, z, 1.5, np.float32(AMBIENT + 0.03), leftward=False)
        for side in (-0.62, 0.62):
            draw_lens_flare(canvas, *self._pixel(x + side, 0.6, z), 0.45 * self._focal / z)

    def _draw_sprite(
        self, canvas: Picture, sprite: Sprite, x: float, z: float, metres: float, light: Light, leftward: bool
    ) -> None:
        draw(canvas, sprite, *self._pixel(x, 0.0, z), metres * self._focal / z, light, leftward)

    def _pixel(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Project a point to (column, row)."""
        return self._middle + x * self._focal / z, self._horizon + (CAMERA_HEIGHT - y) * self._focal / z


_CLOTHES = (
    ((160, 130, 60), (60, 62, 70)),
    ((70, 60, 170), (90, 70, 55)),
    ((90, 170, 190), (110, 80, 60)),
    ((96, 128, 92), (74, 76, 84)),
)
_CAR, _POST, _STANDING = -1, -2, 3


def _paint(width: int, height: int, rng: np.random.Generator) -> Surface:
    """Return the static surfaces: facades on both sides, a road with a crossing, the sky."""
    u = (np.arange(2 * width, dtype=np.float32) + 0.5 - width)[None, :].repeat(2 * height, 0)
    v = (np.arange(2 * height, dtype=np.float32) + 0.5 - 2 * height * HORIZON)[:, None].repeat(2 * width, 1)
    focal = FOCAL * 2 * width
    with np.errstate(divide="ignore"):
        ground = np.where(v > 0, focal * CAMERA_HEIGHT / v, np.inf)
        wall = focal * WALL / np.abs(u)
    z = np.minimum(ground, wall).astype(np.float32)
    x, y = u * z / focal, CAMERA_HEIGHT - v * z / focal
    roof = rng.uniform(9.0, 19.0, (2, 16))[(u > 0).astype(int), (np.clip(z, 0, FAR) // 11).astype(int)]
    sky = (z > FAR) | ((wall <= ground) & (y > roof))
    y = np.where(ground < wall, np.float32(0.0), y)
    surface = _street_surfaces(x, y, np.where(sky, np.float32(FAR), z), ground < wall, rng)
    _paint_sky(surface, sky, (v / (2 * height)).astype(np.float32), rng)
    return surface.downsampled()


def _street_surfaces(
    x: Plane, y: Plane, z: Plane, is_ground: NDArray[np.bool_], rng: np.random.Generator
) -> Surface:
    facade, lit = _facade(z + np.where(x > 0, np.float32(400.0), np.float32(0.0)), y, z, rng)
    road = _road(x, z, rng)
    haze = np.exp(-z / 55.0)[..., None]
    albedo = np.where(is_ground[..., None], road, facade) * haze + (1 - haze) * 70.0
    emission = np.where(is_ground[..., None], 0.0, lit) * haze
    return Surface(x, y, z, albedo.astype(np.float32), emission.astype(np.float32))


def _facade(along: Plane, y: Plane, depth: Plane, rng: np.random.Generator) -> tuple[Picture, Picture]:
    """Return albedo and emission of house fronts at `along` metres of street and height `y`."""
    house = (along // 11).astype(int) % 97
    wall = _FACADES[(house * 7 + house // 3) % len(_FACADES)] + rng.normal(0, 3, (*along.shape, 1))
    near = np.clip(1.4 - depth / 40.0, 0.0, 1.0)
    wall = wall * (1 - 0.28 * near * bricks(along, y))[..., None]
    column, floor = (along // 2.75).astype(int), np.floor(y / 3.2).astype(int)
    a, b = along % 2.75, y % 3.2
    frame = (np.abs(a - 1.4) < 0.75) & (np.abs(b - 1.75) < 1.0) & (y > 0.2)
    pane = frame & (np.abs(a - 1.4) < 0.66) & (np.abs(b - 1.75) < 0.9) & (np.abs(a - 1.4) > 0.04)
    dice = (column * 73 + floor * 151 + house * 37) % 101
    wall[frame] = (150, 158, 160)
    wall[pane] = (88, 74, 60)
    wall[pane & (b < 1.7) & (dice % 3 == 0)] = (120, 130, 150)
    wall[(b < 0.16) | (y < 0.5)] *= 0.7
    shining = (pane & (dice < 7) & (floor > 0))[..., None]
    curtain = (0.75 + 0.25 * np.sin(a * 22))[..., None]
    return wall.astype(np.float32), (shining * curtain * (36, 78, 104)).astype(np.float32)


def _road(x: Plane, z: Plane, rng: np.random.Generator) -> Picture:
    """Return the albedo of the road: asphalt with markings between two paved sidewalks."""
    grain = rng.normal(0, 7, x.shape) + 6 * np.sin(x * 2.1 + np.sin(z * 0.7))
    ground = np.asarray(78 + grain, np.float32)
    ground[(np.abs(x) < 0.09) & (z % 5 < 2.6)] += 95
    ground[(np.abs(np.abs(x) - 3.75) < 0.07)] += 70
    ground[(np.abs(x) < 3.6) & (np.abs(z - 17.0) < 1.6) & (x % 1.0 < 0.5)] = 172
    ground[(np.hypot(x - 1.8, (z - 11.5)) < 0.45)] -= 34
    pavement = np.abs(x) > ROAD
    slab = (x % 0.9 < 0.05) | (z % 0.9 < 0.07)
    ground[pavement] += 42
    ground[pavement & slab & (z < 40)] -= 45
    ground[np.abs(np.abs(x) - ROAD) < 0.13] = 150
    return np.multiply.outer(ground, np.array((1.02, 1.0, 0.98), np.float32))


def _paint_sky(surface: Surface, sky: NDArray[np.bool_], v: Plane, rng: np.random.Generator) -> None:
    """Set the emission of the sky: city light at the horizon, a few stars above it."""
    up = np.clip(-v / HORIZON, 0.0, 1.0)[..., None]
    surface.albedo[sky] = 0
    surface.emission[sky] = (np.array((17, 12, 11)) + (1 - up) ** 3 * (10, 13, 21))[sky]
    stars = sky & (rng.random(sky.shape) < 0.0006)
    surface.emission[stars] += rng.uniform(30, 90, (int(stars.sum()), 1))
