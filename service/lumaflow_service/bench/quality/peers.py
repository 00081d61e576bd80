"""Methods of other libraries: OpenCV, FFmpeg, scikit-image and Kornia, each with its usual settings."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import cv2
import numpy as np

from lumaflow_service.bench.quality.ffmpeg_filter import ffmpeg_filter
from lumaflow_service.bench.quality.model import BgrImage, EnhanceClip, Method

CLIP_LIMIT, TILES = 2.0, (8, 8)


def peer_methods() -> list[Method]:
    """All peers; one that is not installed is skipped."""
    clahe = cv2.createCLAHE(CLIP_LIMIT, TILES)
    return [
        Method("opencv clahe", _frame_by_frame(lambda frame: _on_luma(frame, clahe.apply))),
        Method("opencv equalizeHist", _frame_by_frame(lambda frame: _on_luma(frame, cv2.equalizeHist))),
        ffmpeg_filter("normalize"),
        ffmpeg_filter("histeq"),
        _skimage(),
        _kornia(),
    ]


def _frame_by_frame(enhance: Callable[[BgrImage], BgrImage]) -> EnhanceClip:
    return lambda frames: [enhance(frame) for frame in frames]


def _on_luma(frame: BgrImage, apply: Callable[[Any], Any]) -> BgrImage:
    converted = cv2.cvtColor(frame, cv2.COLOR_BGR2YCrCb)
    converted[:, :, 0] = apply(np.ascontiguousarray(converted[:, :, 0]))
    return cv2.cvtColor(converted, cv2.COLOR_YCrCb2BGR)  # type: ignore[return-value]


def _skimage() -> Method:
    name = "skimage adapthist"
    if find_spec("skimage") is None:
        return Method(name, None, "not installed: pip install scikit-image")
    from skimage.exposure import equalize_adapthist

    def adapthist(frame: BgrImage) -> BgrImage:
        return _to_levels(equalize_adapthist(frame[:, :, ::-1]))[:, :, ::-1]

    return Method(name, _frame_by_frame(adapthist))


def _kornia() -> Method:
    name = "kornia clahe"
    if find_spec("kornia") is None or find_spec("torch") is None:
        return Method(name, None, "not installed: pip install kornia torch")
    import torch
    from kornia.enhance import equalize_clahe

    def clahe(luma: Any) -> Any:
        tensor = torch.from_numpy(luma).float()[None, None] / 255
        return _to_levels(equalize_clahe(tensor, CLIP_LIMIT, TILES)[0, 0].numpy())

    return Method(name, _frame_by_frame(lambda frame: _on_luma(frame, clahe)))


def _to_levels(values: Any) -> BgrImage:
    """The 8-bit levels of values from 0 to 1."""
    levels: BgrImage = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return levels
