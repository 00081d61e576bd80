"""The sample source: an endless dim street, made by code, the same for the same seed.

Much of it is too dark to see as filmed; enhanced, it shows bricks, a name on a sign, people in the shade.
"""

import numpy as np
from numpy.typing import NDArray

from lumaflow_service.demo.street import Street
from lumaflow_service.demo.yard import Yard

FRAMES_PER_SECOND = 30
VIEW_FRAMES = 15 * FRAMES_PER_SECOND
"""Frames from one hard cut to the next."""
NOISE = 1.8
"""Standard deviation of the sensor noise, in grey levels."""
SHIFTS = 64
"""The noise is one fixed grain, laid at one of SHIFTS x SHIFTS places in each frame."""


class Scene:
    """Frame `n` of the sample source; any `n`, in any order. Not thread-safe."""

    def __init__(self, width: int = 640, height: int = 360, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.width, self.height = width, height
        self._seed = seed
        self._views = (Street(width, height, rng), Yard(width, height, rng))
        self._grain = _grain(width + SHIFTS, height + SHIFTS, rng)
        self._canvas = np.empty((height, width, 3), np.float32)

    def frame(self, n: int) -> NDArray[np.uint8]:
        """(height, width, 3) uint8 BGR, a new array."""
        view, power, canvas = self._views[n // VIEW_FRAMES % 2], lamp_power(n), self._canvas
        np.multiply(view.lighting.lamp, power, out=canvas)
        canvas += view.lighting.dark
        view.draw_moving(canvas, n / FRAMES_PER_SECOND, power)
        canvas += self._noise(n)
        np.clip(canvas, 0.0, 255.0, out=canvas)
        return canvas.astype(np.uint8)

    def _noise(self, n: int) -> NDArray[np.float32]:
        top, left = np.random.default_rng((self._seed, n)).integers(0, SHIFTS, 2)
        return self._grain[top : top + self.height, left : left + self.width]


def lamp_power(n: int) -> float:
    """Power 0..1 of the lamp at frame `n`: on for 3.5 s of every 6 s, flickering as it starts."""
    t = n / FRAMES_PER_SECOND % 6.0
    if t < 0.5:
        return 0.85 if int(t * 15) in (1, 4) else 0.12
    return 1.0 if t < 3.5 else 0.0


def _grain(width: int, height: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """(height, width, 3) noise, most of it shared by the colours."""
    shared = rng.normal(0.5, 0.85 * NOISE, (height, width, 1))
    return (shared + rng.normal(0.0, 0.5 * NOISE, (height, width, 3))).astype(np.float32)
