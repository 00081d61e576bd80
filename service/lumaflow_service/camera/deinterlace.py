"""Whole frames from interlaced ones: one frame out for each one in, its time kept."""

from fractions import Fraction

import av
from av.filter import Graph
from av.video.frame import VideoFrame


class Deinterlacer:
    """Feeds a filter that is made anew when the geometry changes. Progressive frames pass as they are."""

    def __init__(self, time_base: Fraction) -> None:
        self._time_base = time_base
        self._graph: Graph | None = None
        self._shape: tuple[int, int, str] | None = None

    def __call__(self, frame: VideoFrame) -> VideoFrame | None:
        """The frame before this one, whole; None for the first of a geometry."""
        shape = frame.width, frame.height, frame.format.name
        if self._graph is None or shape != self._shape:
            self._graph, self._shape = self._build(frame), shape
        frame.time_base = self._time_base
        self._graph.push(frame)
        try:
            whole = self._graph.pull()
        except av.BlockingIOError:
            return None
        assert isinstance(whole, VideoFrame)
        if whole.pts is not None and whole.time_base:
            whole.pts = round(Fraction(whole.pts) * whole.time_base / self._time_base)
        return whole

    def _build(self, frame: VideoFrame) -> Graph:
        graph = Graph()
        source = graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=self._time_base
        )
        whole = graph.add("bwdif", "mode=send_frame:deint=interlaced")
        sink = graph.add("buffersink")
        source.link_to(whole)
        whole.link_to(sink)
        graph.configure()
        return graph
