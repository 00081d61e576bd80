"""`python -m service.ingest DOORBELL MEMORY SLOTS`: one camera's process; the ring's size as JSON."""

import json
import os
import signal
import socket
import sys

from service.doorbell import Assignment, messages
from service.ingest.desk import Desk
from service.ingest.memory import few_arenas
from service.ingest.redact import Redactor
from service.log import configure
from service.slots import SlotMemory


def main(arguments: list[str]) -> None:
    """Read the camera of the first message until the doorbell closes; then finish the outputs and leave."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    few_arenas()
    doorbell = socket.socket(fileno=int(arguments[0]))
    memory = SlotMemory(int(arguments[1]), **json.loads(arguments[2]))
    received = messages(doorbell)
    assignment = next(received, None)
    if isinstance(assignment, Assignment):
        redactor = Redactor()
        redactor.learn(assignment.camera["url"])
        configure(redactor)
        Desk(assignment, doorbell, memory, redactor).run(received)
    os._exit(0)  # whatever still hangs in a read


if __name__ == "__main__":
    main(sys.argv[1:])
