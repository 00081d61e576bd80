"""`python -m lumaflow_service.camera.outputs.relay`: a process that passes encoded video on to a server.

FFmpeg connects while PyAV holds Python's lock; here a server that hangs holds up nothing else. On the input
come the length of a JSON object and that (url, format, options), then pictures and sound as NUT. The output
says `open`, with what is left out, once the server takes them, or `failed` with the reason.
"""

import json
import os
import signal
import sys

import av
from av.container import InputContainer, OutputContainer

from lumaflow_service.camera.open_container import explain

LENGTH_BYTES = 4
PIPE_FORMAT = "nut"
AT_ONCE = {"probesize": "32", "fpsprobesize": "0"}
"""The head of the input says all; FFmpeg need not look at pictures."""


def main() -> None:
    """Relay until the input ends; what fails is said, without the URL."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    order = json.loads(_read(int.from_bytes(_read(LENGTH_BYTES))))
    url, kind, options = order["url"], order["format"], order["options"]
    try:
        with (
            av.open("pipe:0", format=PIPE_FORMAT, container_options=AT_ONCE) as source,
            av.open(url, "w", format=kind, container_options=options) as target,
        ):
            relay(source, target)
    except av.InvalidDataError:  # what FFmpeg makes of RTSP that gets no answer
        print("failed the server does not answer as one that takes video", flush=True)
    except Exception as error:  # the other side only needs to know why
        print("failed", explain(error, url.partition("://")[0])[1], flush=True)


def relay(source: InputContainer, target: OutputContainer) -> None:
    """Connect, and pass every packet on."""
    streams, left_out = {}, ""
    for one in source.streams:
        try:
            streams[one.index] = target.add_stream_from_template(one)
        except ValueError:
            left_out = f"{target.format.name} holds no {one.codec_context.name} sound"
    target.start_encoding()
    print("open", left_out, flush=True)
    for packet in source.demux():
        if packet.size and packet.stream.index in streams:
            packet.dts = packet.pts  # no picture is sent ahead of its turn
            packet.stream = streams[packet.stream.index]
            target.mux_one(packet)


def _read(length: int) -> bytes:
    """So many bytes of the input and no more: the rest is FFmpeg's."""
    data = b""
    while len(data) < length and (piece := os.read(sys.stdin.fileno(), length - len(data))):
        data += piece
    return data


if __name__ == "__main__":
    main()
