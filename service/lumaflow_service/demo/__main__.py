"""`python -m lumaflow_service.demo FILE`: render the demo clip as H.264 in MP4."""

import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import av
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from lumaflow_service.demo.scene import FRAMES_PER_SECOND, LOOP_FRAMES, Scene

SIZE = 640, 360
STEP = 2
"""Every second frame of the scene is rendered: original speed at half the work."""
ENCODER = "libx264"
OPTIONS = {"crf": "12", "preset": "ultrafast"}
"""Fast, and with a quality that keeps the sensor noise."""


def render_clip(path: Path, frames: int = LOOP_FRAMES) -> None:
    """Render `frames` of the scene; the file appears under `path` when it is complete.

    Raises OSError, av.FFmpegError.
    """
    scene = Scene(*SIZE)
    with TemporaryDirectory(dir=path.parent, prefix=".demo-") as folder:
        part = Path(folder, path.name)
        with av.open(str(part), "w", format="mp4") as container:
            stream = container.add_stream(ENCODER, rate=FRAMES_PER_SECOND // STEP, options=OPTIONS)
            assert isinstance(stream, VideoStream)
            stream.width, stream.height = SIZE
            stream.pix_fmt = "yuv420p"
            for n in range(0, frames, STEP):
                container.mux(stream.encode(VideoFrame.from_ndarray(scene.frame(n), format="bgr24")))
            container.mux(stream.encode(None))
        part.replace(path)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # deletes the temporary folder on the way out
    render_clip(Path(sys.argv[1]))
