"""The demo scene: a dim street at night in two alternating views, deterministic for a seed.

Most of it is too dark to see; enhancement shows bricks, a name on a sign and people in the shade.
"""

import numpy as np
from numpy.typing import NDArray

from lumaflow_service.demo.street import Street
from lumaflow_service.demo.yard import Yard

FRAMES_PER_SECOND = 30
VIEW_FRAMES = 15 * FRAMES_PER_SECOND
"""Frames between hard cuts."""
LOOP_FRAMES = 2 * VIEW_FRAMES
"""Both views once; frame LOOP_FRAMES follows a hard cut, so a loop of this length shows no other jump."""
NOISE = 1.8
"""Standard deviation of the sensor noise, in grey levels."""
DAY_MEAN = 115.0
"""Mean level of a view by day."""
SHIFTS = 64
"""Each frame adds the same noise image at one of SHIFTS x SHIFTS random offsets."""


class Scene:
    """Renders frame `n` of the demo scene, for any `n` in any order. Not thread-safe."""

    def __init__(self, width: int = 640, height: int = 360, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.width, self.height = width, height
        self._seed = seed
        self._views = (Street(width, height, rng), Yard(width, height, rng))
        self._noise_image = _noise_image(width + SHIFTS, height + SHIFTS, rng)
        self._canvas = np.empty((height, width, 3), np.float32)

    def frame(self, n: int) -> NDArray[np.uint8]:
        """Return frame `n`: a new (height, width, 3) uint8 BGR array."""
        view, power, canvas = self._views[n // VIEW_FRAMES % 2], lamp_power(n), self._canvas
        np.multiply(view.lighting.lamp, power, out=canvas)
        canvas += view.lighting.dark
        view.draw_moving(canvas, n / FRAMES_PER_SECOND, power)
        canvas += self._noise(n)
        np.clip(canvas, 0.0, 255.0, out=canvas)
        return canvas.astype(np.uint8)

    def by_day(self, view: int) -> NDArray[np.uint8]:
        """Return a view, 0 or 1, as it is well exposed: a new (height, width, 3) uint8 BGR array."""
        lighting = self._views[view].lighting
        light = lighting.dark + 0.25 * lighting.lamp
        day = light * (DAY_MEAN / light.mean())
        return np.asarray(np.clip(day, 0.0, 255.0), np.uint8)

    def _noise(self, n: int) -> NDArray[np.float32]:
        top, left = np.random.default_rng((self._seed, n)).integers(0, SHIFTS, 2)
        return self._noise_image[top : top + self.height, left : left + self.width]


def lamp_power(n: int) -> float:
    """Return the power 0..1 of the lamp at frame `n`: on for 3.5 s of every 6 s; it flickers as it starts."""
    t = n / FRAMES_PER_SECOND % 6.0
    if t < 0.5:
        return 0.85 if int(t * 15) in (1, 4) else 0.12
    return 1.0 if t < 3.5 else 0.0


def _noise_image(width: int, height: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return (height, width, 3) float32 sensor noise, most of it equal in all channels."""
    shared = rng.normal(0.5, 0.85 * NOISE, (height, width, 1))
    return (shared + rng.normal(0.0, 0.5 * NOISE, (height, width, 3))).astype(np.float32)
