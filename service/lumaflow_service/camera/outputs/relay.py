"""`python -m lumaflow_service.camera.outputs.relay`: a process that sends encoded video to a server.

PyAV holds the GIL while FFmpeg connects; in this process a server that does not answer blocks nothing else.
The input is the length of a JSON object, the object (url, format, options), then video and audio as NUT. The
output is one line: `open` and a note when the server accepts the streams, or `failed` and the reason.
"""

import json
import os
import signal
import sys

import av
from av.container import InputContainer, OutputContainer

from lumaflow_service.camera.open_container import describe_error

LENGTH_BYTES = 4
PIPE_FORMAT = "nut"
NO_PROBING = {"probesize": "32", "fpsprobesize": "0"}
"""The NUT header describes the streams; FFmpeg need not read frames to find out."""


def main() -> None:
    """Relay until the input ends; print an error without the URL."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    request = json.loads(_read(int.from_bytes(_read(LENGTH_BYTES))))
    url, name, options = request["url"], request["format"], request["options"]
    try:
        with (
            av.open("pipe:0", format=PIPE_FORMAT, container_options=NO_PROBING) as source,
            av.open(url, "w", format=name, container_options=options) as target,
        ):
            relay(source, target)
    except av.InvalidDataError:  # FFmpeg's error for an RTSP server that does not answer
        print("failed the server does not answer as one that accepts video", flush=True)
    except Exception as error:  # the parent process needs only the reason
        print("failed", describe_error(error, url.partition("://")[0])[1], flush=True)


def relay(source: InputContainer, target: OutputContainer) -> None:
    """Connect, then copy every packet."""
    streams, note = {}, ""
    for stream in source.streams:
        try:
            streams[stream.index] = target.add_stream_from_template(stream)
        except ValueError:
            note = f"{target.format.name} cannot hold {stream.codec_context.name} audio"
    target.start_encoding()
    print("open", note, flush=True)
    for packet in source.demux():
        if packet.size and packet.stream.index in streams:
            packet.dts = packet.pts  # there are no B-frames
            packet.stream = streams[packet.stream.index]
            target.mux_one(packet)


def _read(length: int) -> bytes:
    """Read exactly `length` bytes of the input: FFmpeg reads the rest."""
    data = b""
    while len(data) < length and (received := os.read(sys.stdin.fileno(), length - len(data))):
        data += received
    return data


if __name__ == "__main__":
    main()
