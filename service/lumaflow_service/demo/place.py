"""A still place, and the light of a lamp on it. Metres: x to the right, y up, z away from the camera."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]
Picture = NDArray[np.float32]
Point = tuple[float, float, float]

AMBIENT = 0.19
"""Share of white light that the night leaves everywhere."""
WARM = np.array([0.55, 0.85, 1.0], np.float32)
"""Colour (B, G, R) of a street light."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where every pixel lies and what it is made of.

    x, y, z : (H, W) float32, metres; z is inf in the sky
    albedo : (H, W, 3) float32, what white light would show, 0..255
    glow : (H, W, 3) float32, what shines by itself
    """

    x: Plane
    y: Plane
    z: Plane
    albedo: Picture
    glow: Picture

    def halved(self) -> "Place":
        """The same place at half the size, every pixel the mean of four."""
        return Place(*(_halved(plane) for plane in (self.x, self.y, self.z, self.albedo, self.glow)))


def _halved(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, columns = plane.shape[0] // 2, plane.shape[1] // 2
    parts = plane.reshape(rows, 2, columns, 2, *plane.shape[2:])
    mean: NDArray[np.float32] = parts.mean((1, 3), np.float32)
    return mean


def lamp_light(x: Plane | float, y: Plane | float, z: Plane | float, at: Point, reach: float) -> Plane:
    """Share of white light that a lamp at `at` gives a point; `reach` metres away it has half its power."""
    distance2 = np.square(x - at[0]) + np.square(y - at[1]) + np.square(z - at[2])
    below = np.clip((at[1] + 0.4 - y) / 1.5, 0.0, 1.0)
    return np.asarray(below / (1.0 + np.square(distance2 / reach**2)), np.float32)


def bricks(along: Plane, y: Plane) -> Plane:
    """1 on the joints of a brick wall, 0..0.7 on its bricks, each with its own tone."""
    course = np.floor(y / 0.22)
    joint = (y % 0.22 < 0.045) | ((along + 0.22 * (course % 2)) % 0.44 < 0.045)
    tone: Plane = np.sin(course * 12.9898 + np.floor((along + 0.22 * (course % 2)) / 0.44) * 78.233)
    return np.where(joint, 1.0, 0.35 + 0.35 * tone).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Lighting:
    """A place in two parts: `dark`, what is seen without its lamp, and `lamp`, what the lamp adds."""

    dark: Picture
    lamp: Picture

    @classmethod
    def of(cls, place: Place, lamp: Plane, always: Plane | float = 0.0) -> "Lighting":
        """Light `place` by shares of white light for each pixel: of the lamp, and of lights always on."""
        steady = AMBIENT + np.multiply.outer(always, WARM)
        dark, added = place.albedo * steady + place.glow, place.albedo * np.multiply.outer(lamp, WARM)
        return cls(dark.astype(np.float32), added.astype(np.float32))
