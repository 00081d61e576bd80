"""Run frames through a lane."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lumaflow import Enhanced, Frame, HeatMap, Options, PixelFormat, open_lane


def make_frame(pixels: NDArray[np.uint8], corrupt: bool = False) -> Frame:
    """Wrap gray or BGR pixels in a frame."""
    return Frame(pixels, PixelFormat.GRAY8 if pixels.ndim == 2 else PixelFormat.BGR24, corrupt=corrupt)


def enhance(device: str, pixels: NDArray[np.uint8], options: Options) -> Enhanced:
    """Return the result of the first frame of a new lane, which uses its own LUT."""
    return enhance_all(device, [make_frame(pixels)], options)[0]


def enhance_all(device: str, frames: Iterable[Frame], options: Options) -> list[Enhanced]:
    """Run frames of one geometry through one lane, one at a time; return copies of the results."""
    frames = list(frames)
    with open_lane(device, frames[0].geometry, options) as lane:
        results = []
        for one in frames:
            lane.submit(one)
            results.append(copy_result(lane.collect()))
        return results


def copy_result(enhanced: Enhanced) -> Enhanced:
    """Copy a result, whose arrays the lane will overwrite."""
    heatmap = enhanced.heatmap and HeatMap(
        enhanced.heatmap.deviation.copy(), enhanced.heatmap.distance.copy()
    )
    arrays = {name: getattr(enhanced, name) for name in ("bins", "lut", "hog", "lbp", "lbp_labels")}
    copies = {name: None if array is None else array.copy() for name, array in arrays.items()}
    chroma = tuple(plane.copy() for plane in enhanced.frame.chroma)
    shown = replace(enhanced.frame, pixels=enhanced.frame.pixels.copy(), chroma=chroma)
    return replace(enhanced, frame=shown, heatmap=heatmap, **copies)
