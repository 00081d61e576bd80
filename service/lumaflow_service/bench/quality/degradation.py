"""Simulated exposure, noise, vignetting and haze: a good image becomes the reference of a pair.

The same seed gives the same image. Exposure, vignetting and noise act on linear light (gamma 2.2); haze is
mixed into the display values.
"""

from dataclasses import dataclass

import numpy as np

from lumaflow.quality import Floats
from lumaflow_service.bench.quality.model import BgrImage

GAMMA = 2.2
AIRLIGHT = (220.0, 220.0, 220.0)
FAR, NEAR = 0.85, 0.10
"""Depth at the top and at the bottom of a hazy image."""


@dataclass(frozen=True, slots=True)
class Degradation:
    """A degradation of an image, in the order of the fields; then it is rounded to 8 bits.

    haze : optical thickness over the whole depth, 0 for clear air
    exposure : factor of the display levels, 1 for no change
    vignette : share of the light that the corners lose
    full_well : electrons at white, for the shot noise; 0 for no noise
    read_noise : standard deviation in electrons

    Raises ValueError for a value outside its range.
    """

    name: str
    haze: float = 0.0
    exposure: float = 1.0
    vignette: float = 0.0
    full_well: float = 0.0
    read_noise: float = 0.0

    def __post_init__(self) -> None:
        if self.haze < 0 or not 0 < self.exposure <= 1 or not 0 <= self.vignette < 1:
            raise ValueError(
                f"expected haze >= 0, exposure above 0 up to 1 and vignette from 0 below 1, got {self}"
            )

    def apply(self, image: BgrImage, seed: int = 0) -> BgrImage:
        """The degraded image, of the same shape."""
        levels = _add_haze(image.astype(np.float64), self.haze)
        light = (levels * self.exposure / 255) ** GAMMA * _vignette(image.shape, self.vignette)
        noisy = self._add_noise(light, np.random.default_rng(seed))
        degraded: BgrImage = np.rint(255 * np.clip(noisy, 0, 1) ** (1 / GAMMA)).astype(np.uint8)
        return degraded

    def _add_noise(self, light: Floats, rng: np.random.Generator) -> Floats:
        if self.full_well == 0:
            return light
        electrons = rng.poisson(light * self.full_well) + rng.normal(0, self.read_noise, light.shape)
        noisy: Floats = electrons / self.full_well
        return noisy


DARK = (
    Degradation("dark .3", exposure=0.3, vignette=0.2, full_well=8000, read_noise=6),
    Degradation("dark .08", exposure=0.08, vignette=0.2, full_well=8000, read_noise=2),
)
HAZY = (
    Degradation("haze 1.5", haze=1.5, full_well=20000, read_noise=4),
    Degradation("haze 3", haze=3.0, full_well=20000, read_noise=4),
)


def _add_haze(levels: Floats, thickness: float) -> Floats:
    """Mix in the airlight, with more of it at the top, where the depth is usually larger."""
    if thickness == 0:
        return levels
    depth = np.linspace(FAR, NEAR, levels.shape[0])[:, None, None]
    transmission = np.exp(-thickness * depth)
    mixed: Floats = levels * transmission + np.array(AIRLIGHT) * (1 - transmission)
    return mixed


def _vignette(shape: tuple[int, ...], loss: float) -> Floats:
    """(H, W, 1) share of the light that remains; it falls with the square of the distance from the centre."""
    y, x = (np.linspace(-1, 1, side) for side in shape[:2])
    share: Floats = 1 - loss * (y[:, None] ** 2 + x[None, :] ** 2) / 2
    return share[:, :, None]
