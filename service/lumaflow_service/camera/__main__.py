"""`python -m lumaflow_service.camera CONNECTION MEMORY SLOTS`: the process of one camera.

CONNECTION and MEMORY are inherited file descriptors; SLOTS is a JSON object, the arguments of SlotMemory.
"""

import json
import os
import signal
import socket
import sys
import threading

import structlog

from lumaflow_service.camera.malloc_arenas import limit_malloc_arenas
from lumaflow_service.camera.process import CameraProcess
from lumaflow_service.ipc.messages import CameraAssignment
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import receive
from lumaflow_service.log import configure
from lumaflow_service.redact import Redactor

FAILED_STATUS = 70

log = structlog.get_logger()


def main(arguments: list[str]) -> None:
    """Read the camera of the first message until the connection closes; then finish the outputs and exit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    limit_malloc_arenas()
    connection = socket.socket(fileno=int(arguments[0]))
    memory = SlotMemory(int(arguments[1]), **json.loads(arguments[2]))
    received = receive(connection)
    assignment = next(received, None)
    if isinstance(assignment, CameraAssignment):
        redactor = Redactor()
        redactor.add_url(assignment.camera["url"])
        configure(redactor)
        threading.excepthook = exit_on_thread_error
        CameraProcess(assignment, connection, memory, redactor).run(received)
    os._exit(0)  # also when a thread is blocked in a read


def exit_on_thread_error(hook: threading.ExceptHookArgs) -> None:
    """Log an unexpected error of a thread and exit; the API process then starts a new process."""
    name = hook.thread.name if hook.thread else ""
    log.error("camera process failed", thread=name, exc_info=hook.exc_value)
    os._exit(FAILED_STATUS)


if __name__ == "__main__":
    main(sys.argv[1:])
