"""The built-in inputs of `bench quality`: drawn scenes, so that a run needs no files and can be published."""

from collections.abc import Iterator

import cv2
import numpy as np

from lumaflow_service.bench.quality.degradation import DARK, HAZY
from lumaflow_service.bench.quality.model import BenchInput, BgrImage, Category
from lumaflow_service.demo.scene import VIEW_FRAMES, Scene

WIDTH, HEIGHT = 640, 360
CLIP_FRAMES = 24
PATCHES = (
    (115, 82, 68), (194, 150, 130), (98, 122, 157), (87, 108, 67), (133, 128, 177), (103, 189, 170),
    (214, 126, 44), (80, 91, 166), (193, 90, 99), (94, 60, 108), (157, 188, 64), (224, 163, 46),
    (56, 61, 150), (70, 148, 73), (175, 54, 60), (231, 199, 31), (187, 86, 149), (8, 133, 161),
    (243, 243, 242), (200, 200, 200), (160, 160, 160), (122, 122, 121), (85, 85, 85), (52, 52, 52),
)  # fmt: skip
"""RGB of the patches of a colour chart, by rows."""
PATCH_COLUMNS = 6


def drawn_inputs() -> Iterator[BenchInput]:
    """A street and a yard by night, by day, as clips, and as pairs; a colour chart at three exposures."""
    scene = Scene(WIDTH, HEIGHT)
    views = {"street": scene.by_day(0), "yard": scene.by_day(1)}
    for number, (name, image) in enumerate(views.items()):
        night = [scene.frame(number * VIEW_FRAMES + 110 + n) for n in range(CLIP_FRAMES)]
        yield BenchInput(f"{name} by night", Category.DARK, (night[0],))
        yield BenchInput(f"{name} by day", Category.WELL_EXPOSED, (image,))
        yield BenchInput(f"{name} by night, clip", Category.CLIPS, tuple(night))
        yield BenchInput(f"{name} by day, clip", Category.CLIPS, tuple(still_clip(image)))
        for category, degradations in ((Category.DARK_PAIRS, DARK), (Category.HAZY_PAIRS, HAZY)):
            for degradation in degradations:
                degraded = degradation.apply(image)
                yield BenchInput(f"{name} - {degradation.name}", category, (degraded,), image)
    for exposure in (1.0, 0.4, 0.15):
        yield BenchInput(f"chart x {exposure:g}", Category.CHARTS, (color_chart(exposure),))


def still_clip(image: BgrImage, noise: float = 1.5) -> list[BgrImage]:
    """Frames of a still scene with other noise in each."""
    rng = np.random.default_rng(0)
    frames = (image + rng.normal(0, noise, image.shape) for _ in range(CLIP_FRAMES))
    return [np.clip(np.rint(frame), 0, 255).astype(np.uint8) for frame in frames]


def color_chart(exposure: float) -> BgrImage:
    """24 patches on dark gray, at an exposure of 0 to 1."""
    patches = np.array(PATCHES, np.uint8)[:, ::-1].reshape(-1, PATCH_COLUMNS, 3)
    chart = cv2.resize(patches, (PATCH_COLUMNS * 80, 320), interpolation=cv2.INTER_NEAREST)
    chart = np.pad(chart, ((20, 20), (20, 20), (0, 0)), constant_values=60)
    exposed: BgrImage = np.rint(chart * exposure).astype(np.uint8)
    return exposed
