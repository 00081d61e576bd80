"""An FFmpeg filter as a method, through the filter graph of PyAV."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import av
import av.filter
import numpy as np

from lumaflow_service.bench.quality.model import BgrImage, Method

TIME_BASE = Fraction(1, 25)


def ffmpeg_filter(name: str, arguments: str | None = None) -> Method:
    """The filter `name` with `arguments`; skipped if the FFmpeg build has no such filter."""
    label = f"ffmpeg {name}"
    if name not in av.filter.filters_available:
        return Method(label, None, f"not installed: FFmpeg of PyAV {av.__version__} has no filter {name}")

    def enhance(frames: Sequence[BgrImage]) -> list[BgrImage]:
        graph = _filter_graph(name, arguments, frames[0])
        return [_filter_frame(graph, frame, pts) for pts, frame in enumerate(frames)]

    return Method(label, enhance)


def _filter_graph(name: str, arguments: str | None, frame: BgrImage) -> av.filter.Graph:
    height, width = frame.shape[:2]
    graph = av.filter.Graph()
    chain = [
        graph.add_buffer(width=width, height=height, format=av.VideoFormat("bgr24"), time_base=TIME_BASE),
        graph.add("format", "rgb24"),
        graph.add(name, arguments),
        graph.add("format", "bgr24"),
        graph.add("buffersink"),
    ]
    for source, target in pairwise(chain):
        source.link_to(target)
    graph.configure()
    return graph


def _filter_frame(graph: av.filter.Graph, pixels: BgrImage, pts: int) -> BgrImage:
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="bgr24")
    frame.pts, frame.time_base = pts, TIME_BASE
    graph.push(frame)
    pulled = graph.pull()
    if not isinstance(pulled, av.VideoFrame):
        raise RuntimeError(f"expected a video frame from the filter graph, got {pulled!r}; report this")
    filtered: BgrImage = pulled.to_ndarray(format="bgr24").astype(np.uint8, copy=False)
    return filtered
