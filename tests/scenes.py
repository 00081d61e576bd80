"""Scenes drawn by code for the adaptive modes: exposure, noise, haze, lamps and moving objects."""

import numpy as np
from numpy.typing import NDArray

from lumaflow import Frame, Geometry, PixelFormat
from lumaflow.formats import Chroma, Family

Scene = NDArray[np.float64]
"""(H, W, 3) BGR levels, 0 to 255."""


def room(height: int, width: int, seed: int = 0) -> Scene:
    """Draw a well-exposed room: a shaded wall, boxes of all levels and colours, shadows, and texture."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width, 2)
    scene = np.stack([95 + 90 * x + 40 * y, 90 + 80 * x + 60 * y, 100 + 100 * x + 20 * y], axis=2)
    for _ in range(24):
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        tall, wide = (int(rng.integers(1, max(side // 4, 2))) for side in (height, width))
        scene[top : top + tall, left : left + wide] = rng.integers(4, 252, 3)
    for _ in range(height * width // 60):  # shadows, as everywhere in a photograph
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        scene[top : top + 3, left : left + 3] = rng.integers(2, 40, 3)
    texture = rng.normal(0, 6, (height, width, 1))
    return np.clip(scene + texture, 0, 255)


def exposed(scene: Scene, exposure: float, noise: float = 1.0, seed: int = 0) -> Scene:
    """Return the scene at another exposure, with shot and read noise."""
    rng = np.random.default_rng(seed)
    levels = scene * exposure
    return np.clip(levels + rng.normal(0, 1, scene.shape) * np.sqrt(noise**2 + 0.1 * noise * levels), 0, 255)


def hazy(scene: Scene, thickness: float, airlight: float = 220.0) -> Scene:
    """Return the scene in haze that is thickest at the top."""
    depth = np.linspace(1, 0.2, scene.shape[0])[:, None, None]
    transmission = np.exp(-thickness * depth)
    return scene * transmission + airlight * (1 - transmission)


def frame_of(scene: Scene, geometry: Geometry, corrupt: bool = False) -> Frame:
    """Return the scene as a frame of any format."""
    frame = Frame.empty(geometry)
    bits, shift = geometry.layout.bits, geometry.shift
    scale, top = 1 << (bits - 8), (1 << bits) - 1
    blue, green, red = (scene[..., c] for c in range(3))
    luma = 0.114 * blue + 0.587 * green + 0.299 * red
    if geometry.layout.family is Family.RGB:
        order = (2, 1, 0) if geometry.pixel_format is PixelFormat.RGB24 else (0, 1, 2)
        frame.pixels[..., :3] = np.rint(scene[..., order])
        frame.pixels[..., 3:] = 77
    else:
        low, gain = (16, 219 / 255) if geometry.limited else (0, 1)
        levels = np.clip(np.rint((low + luma * gain) * scale), 0, top).astype(np.int64)
        chroma = [np.clip(np.rint((128 + 0.56 * (c - luma)) * scale), 0, top) for c in (blue, red)]
        _fill(frame, levels << shift, [c.astype(np.int64) << shift for c in chroma])
    object.__setattr__(frame, "corrupt", corrupt)
    return frame


def _fill(frame: Frame, luma: NDArray[np.int64], chroma: list[NDArray[np.int64]]) -> None:
    layout = frame.pixel_format.layout
    if layout.chroma is Chroma.PACKED:
        width = luma.shape[1]
        frame.pixels[...] = 128
        frame.pixels[:, :width, layout.luma] = luma
        for component in (0, 1):
            frame.pixels[:, component::2, 1 - layout.luma] = chroma[component][:, ::2]
        return
    frame.pixels[...] = luma
    for component, plane in enumerate(chroma):
        if layout.chroma is Chroma.SEMI_PLANAR:
            frame.chroma[0][..., component] = plane[::2, ::2]
        elif layout.chroma is Chroma.PLANAR:
            frame.chroma[component][...] = plane[::2, ::2]
