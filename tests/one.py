"""One frame, or a few, through a lane opened for them."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lumaflow import Enhanced, Frame, HeatMap, Options, PixelFormat, open_lane


def frame(pixels: NDArray[np.uint8], corrupt: bool = False) -> Frame:
    """Gray or BGR pixels as a frame."""
    return Frame(pixels, PixelFormat.GRAY8 if pixels.ndim == 2 else PixelFormat.BGR24, corrupt=corrupt)


def enhance(device: str, pixels: NDArray[np.uint8], options: Options) -> Enhanced:
    """The first frame of a fresh lane: it is seen through its own mapping."""
    return enhance_all(device, [frame(pixels)], options)[0]


def enhance_all(device: str, frames: Iterable[Frame], options: Options) -> list[Enhanced]:
    """Frames of one geometry through one lane, one after the other; the results outlive the lane."""
    frames = list(frames)
    with open_lane(device, frames[0].geometry, options) as lane:
        results = []
        for one in frames:
            lane.submit(one)
            results.append(kept(lane.collect()))
        return results


def kept(enhanced: Enhanced) -> Enhanced:
    """The same result in arrays of its own, for the lane will reuse these."""
    heatmap = enhanced.heatmap and HeatMap(
        enhanced.heatmap.deviation.copy(), enhanced.heatmap.distance.copy()
    )
    arrays = {name: getattr(enhanced, name) for name in ("bins", "lut", "hog", "lbp", "lbp_labels")}
    copies = {name: None if array is None else array.copy() for name, array in arrays.items()}
    chroma = tuple(plane.copy() for plane in enhanced.frame.chroma)
    shown = replace(enhanced.frame, pixels=enhanced.frame.pixels.copy(), chroma=chroma)
    return replace(enhanced, frame=shown, heatmap=heatmap, **copies)
