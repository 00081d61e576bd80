"""Visible surfaces of a static scene, and how a lamp lights them.

Coordinates are in metres: x to the right, y up, z away from the camera.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Plane = NDArray[np.float32]
Picture = NDArray[np.float32]
Point = tuple[float, float, float]

AMBIENT = 0.19
"""Ambient light, as a fraction of white light."""
WARM = np.array([0.55, 0.85, 1.0], np.float32)
"""Colour (B, G, R) of a street light."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Position and material of the surface at each pixel.

    x, y, z : (H, W) float32, metres; z is inf in the sky
    albedo : (H, W, 3) float32, colour under white light, 0..255
    emission : (H, W, 3) float32, light that the surface emits
    """

    x: Plane
    y: Plane
    z: Plane
    albedo: Picture
    emission: Picture

    def downsampled(self) -> "Surface":
        """Return this surface at half the size; each pixel is the mean of four."""
        return Surface(
            *(_downsampled(plane) for plane in (self.x, self.y, self.z, self.albedo, self.emission))
        )


def _downsampled(plane: NDArray[np.float32]) -> NDArray[np.float32]:
    rows, columns = plane.shape[0] // 2, plane.shape[1] // 2
    parts = plane.reshape(rows, 2, columns, 2, *plane.shape[2:])
    mean: NDArray[np.float32] = parts.mean((1, 3), np.float32)
    return mean


def lamp_light(x: Plane | float, y: Plane | float, z: Plane | float, at: Point, reach: float) -> Plane:
    """Return the light of a lamp at `at` on a point, as a fraction of white light.

    reach : distance in metres at which the light has half its power
    """
    distance2 = np.square(x - at[0]) + np.square(y - at[1]) + np.square(z - at[2])
    below = np.clip((at[1] + 0.4 - y) / 1.5, 0.0, 1.0)
    return np.asarray(below / (1.0 + np.square(distance2 / reach**2)), np.float32)


def bricks(along: Plane, y: Plane) -> Plane:
    """Return a brick texture: 1 on the joints, 0..0.7 on the bricks, one value per brick."""
    course = np.floor(y / 0.22)
    joint = (y % 0.22 < 0.045) | ((along + 0.22 * (course % 2)) % 0.44 < 0.045)
    tone: Plane = np.sin(course * 12.9898 + np.floor((along + 0.22 * (course % 2)) / 0.44) * 78.233)
    return np.where(joint, 1.0, 0.35 + 0.35 * tone).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Lighting:
    """A lit surface in two parts: `dark` is the picture without the lamp, `lamp` is the light it adds."""

    dark: Picture
    lamp: Picture

    @classmethod
    def of(cls, surface: Surface, lamp: Plane, always: Plane | float = 0.0) -> "Lighting":
        """Light `surface`; `lamp` and `always` (lights that never go off) are fractions of white light."""
        steady = AMBIENT + np.multiply.outer(always, WARM)
        dark, added = (
            surface.albedo * steady + surface.emission,
            surface.albedo * np.multiply.outer(lamp, WARM),
        )
        return cls(dark.astype(np.float32), added.astype(np.float32))
