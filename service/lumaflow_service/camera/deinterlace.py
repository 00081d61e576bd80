"""Deinterlacing: one progressive frame for each interlaced frame, with its pts."""

from fractions import Fraction

import av
from av.filter import Graph
from av.video.frame import VideoFrame


class Deinterlacer:
    """Runs FFmpeg's bwdif filter, rebuilt when the geometry changes. Progressive frames are not changed."""

    def __init__(self, time_base: Fraction) -> None:
        self._time_base = time_base
        self._graph: Graph | None = None
        self._geometry: tuple[int, int, str] | None = None

    def __call__(self, frame: VideoFrame) -> VideoFrame | None:
        """Return the previous frame deinterlaced; None for the first frame of a geometry."""
        geometry = frame.width, frame.height, frame.format.name
        if self._graph is None or geometry != self._geometry:
            self._graph, self._geometry = self._build(frame), geometry
        frame.time_base = self._time_base
        self._graph.push(frame)
        try:
            progressive = self._graph.pull()
        except av.BlockingIOError:
            return None
        assert isinstance(progressive, VideoFrame)
        if progressive.pts is not None and progressive.time_base:
            progressive.pts = round(Fraction(progressive.pts) * progressive.time_base / self._time_base)
        return progressive

    def _build(self, frame: VideoFrame) -> Graph:
        graph = Graph()
        source = graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=self._time_base
        )
        bwdif = graph.add("bwdif", "mode=send_frame:deint=interlaced")
        sink = graph.add("buffersink")
        source.link_to(bwdif)
        bwdif.link_to(sink)
        graph.configure()
        return graph
