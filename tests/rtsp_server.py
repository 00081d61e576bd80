#!/usr/bin/python3
"""A real RTSP server on loopback for tests: `/usr/bin/python3 tests/rtsp_server.py PORT PATH=MEDIA...`.

Prints its port when it listens (0: a free one). MEDIA is one of

    CODEC:FILE           an mp4 file with h264, h265 or mjpeg, played once for each client
    live:WIDTHxHEIGHT@RATE   an endless moving image, with audio
    still                an endless image that never changes
    secret:USER:PASSWORD a moving image that needs a password; the only mount of its server
    publish              accepts a publisher and plays its video at PATH-played
"""

import sys
import threading

import gi

for module in ("Gst", "GstRtspServer", "GstApp"):
    gi.require_version(module, "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

PAYLOADS = {
    "h264": "h264parse ! rtph264pay name=pay0 pt=96 config-interval=1",
    "h265": "h265parse ! rtph265pay name=pay0 pt=96 config-interval=1",
    "mjpeg": "rtpjpegpay name=pay0 pt=26",
}
LIVE = """(
    videotestsrc is-live=true pattern={pattern} ! video/x-raw,width={width},height={height},framerate={rate}/1
    ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max={rate}
    ! rtph264pay name=pay0 pt=96 config-interval=1
    audiotestsrc is-live=true wave=silence ! audio/x-raw,rate=8000,channels=1 ! alawenc
    ! rtppcmapay name=pay1 pt=8
)"""
WHOLE_FRAMES = "video/x-h264,stream-format=byte-stream,alignment=au"
RECEIVE = f"""(
    rtph264depay name=depay0 ! h264parse config-interval=-1 ! {WHOLE_FRAMES}
    ! appsink name=received emit-signals=true sync=false max-buffers=100 drop=true
)"""
PLAY = f"""(
    appsrc name=source is-live=true format=time do-timestamp=true caps={WHOLE_FRAMES}
    ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=1
)"""


def main(port: str, *mounts: str) -> None:
    """Serve until killed."""
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    server.get_thread_pool().set_max_threads(8)  # publishing and playing on one thread deadlock
    for one in mounts:
        path, _, media = one.partition("=")
        add(server, path, media)
    server.attach(None)
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()


def add(server: GstRtspServer.RTSPServer, path: str, media: str) -> None:
    """Mount one medium."""
    if media.startswith("live:"):
        size, _, rate = media.removeprefix("live:").partition("@")
        width, _, height = size.partition("x")
        mount(server, path, LIVE.format(pattern="ball", width=width, height=height, rate=rate))
    elif media == "still":
        mount(server, path, LIVE.format(pattern="smpte75", width=160, height=120, rate=10))
    elif media.startswith("secret:"):
        _, user, password = media.split(":")
        factory = mount(server, path, LIVE.format(pattern="ball", width=160, height=120, rate=10))
        server.set_auth(guard(factory, user, password))
    elif media == "publish":
        relay(server, path)
    else:
        kind, _, file = media.partition(":")
        mount(server, path, f"( filesrc location={file} ! qtdemux ! {PAYLOADS[kind]} )", shared=False)


def mount(
    server: GstRtspServer.RTSPServer, path: str, launch: str, shared: bool = True
) -> GstRtspServer.RTSPMediaFactory:
    """Add a media factory at a path."""
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(launch)
    factory.set_shared(shared)
    factory.set_latency(20)
    server.get_mount_points().add_factory(path, factory)
    return factory


def guard(factory: GstRtspServer.RTSPMediaFactory, user: str, password: str) -> GstRtspServer.RTSPAuth:
    """Allow one user only; all mounts of the server then ask for a password."""
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "known")
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_role("known")
    for permission in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role("known", permission, True)
    factory.set_permissions(permissions)
    auth = GstRtspServer.RTSPAuth()
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    return auth


def relay(server: GstRtspServer.RTSPServer, path: str) -> None:
    """Accept a publisher at `path`, and play its video at `path`-played."""
    players: set[Gst.Element] = set()
    lock = threading.Lock()

    def forward(sink: Gst.Element) -> Gst.FlowReturn:
        received = sink.emit("pull-sample").get_buffer()
        buffer = Gst.Buffer.new_wrapped(received.extract_dup(0, received.get_size()))
        with lock:
            for player in players:
                player.emit("push-buffer", buffer)
        return Gst.FlowReturn.OK

    def on_publisher(_: object, media: GstRtspServer.RTSPMedia) -> None:
        media.get_element().get_by_name("received").connect("new-sample", forward)

    def on_player(_: object, media: GstRtspServer.RTSPMedia) -> None:
        player = media.get_element().get_by_name("source")
        with lock:
            players.add(player)
        media.connect("unprepared", lambda _: players.discard(player))

    receiving = mount(server, path, RECEIVE)
    receiving.set_transport_mode(GstRtspServer.RTSPTransportMode.RECORD)
    receiving.connect("media-configure", on_publisher)
    mount(server, f"{path}-played", PLAY).connect("media-configure", on_player)


if __name__ == "__main__":
    main(*sys.argv[1:])
