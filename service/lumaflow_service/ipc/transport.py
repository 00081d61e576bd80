"""Messages over a Unix socket pair: one message is one packet, a JSON array of its name and its fields."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import get_args

from lumaflow.frame import Tone, ToneReport
from lumaflow_service.ipc.geometry_json import GeometryJson
from lumaflow_service.ipc.messages import Message

PACKET_BYTES = 64 * 1024
"""Maximum size of a packet. The largest messages, options with a long error text, have about 2 KiB."""
GEOMETRY_FIELDS = ("geometry", "output")

_MESSAGE_TYPES: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets that keep message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def pack(message: Message) -> bytes:
    """Serialize a message to one packet."""
    return json.dumps([type(message).__name__, asdict(message)], separators=(",", ":")).encode()


def unpack(packet: bytes) -> Message:
    """Parse a packet. Raises ValueError when it is not a message."""
    try:
        kind, fields = json.loads(packet)
        for name in GEOMETRY_FIELDS:
            if fields.get(name):
                fields[name] = GeometryJson(*fields[name])
        if fields.get("tone"):
            fields["tone"] = ToneReport(**fields["tone"] | {"mode": Tone(fields["tone"]["mode"])})
        return _MESSAGE_TYPES[kind](**fields)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"expected a message, got a packet of {len(packet)} bytes: {error}") from error


def send(connection: socket.socket, message: Message) -> None:
    """Send a message. It is lost when the other end is closed; `receive` then ends."""
    with suppress(ConnectionError):
        connection.send(pack(message))


def receive(connection: socket.socket) -> Iterator[Message]:
    """Wait for messages and yield them until the other end is closed."""
    try:
        while packet := connection.recv(PACKET_BYTES):
            yield unpack(packet)
    except ConnectionError:
        return  # the other end closed without reading all our messages
