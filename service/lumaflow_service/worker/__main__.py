"""`python -m lumaflow_service.worker CONNECTION MEMORY LIMITS`: descriptors, and `WorkerLimits` as JSON."""

import json
import os
import signal
import socket
import sys

import numpy as np

from lumaflow.backend import choose_device, page_lock
from lumaflow.errors import DeviceError
from lumaflow_service.ipc.messages import Reply, WorkerStarted
from lumaflow_service.ipc.slots import SlotMemory
from lumaflow_service.ipc.transport import send
from lumaflow_service.worker.memory_limit import limit_memory
from lumaflow_service.worker.worker import Worker, WorkerLimits


def main(arguments: list[str]) -> None:
    """Work until the connection is closed. SIGINT and SIGTERM are ignored: the API process handles them."""
    # Pins each of Numba's threads to a core: without it two threads shared one core (1080p on 2 cores: apply
    # took 1.9 ms, not 1.0 ms). Numba reads it when it starts its threads.
    os.environ.setdefault("OMP_PROC_BIND", "true")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    connection = socket.socket(fileno=int(arguments[0]))
    limits = WorkerLimits(**json.loads(arguments[2]))
    memory = SlotMemory(int(arguments[1]), limits.slots, limits.slot_bytes)
    try:
        choice = choose_device(limits.device)
    except DeviceError as error:
        send(connection, Reply(0, type(error).__name__, str(error)))
        raise SystemExit(1) from error
    send(connection, WorkerStarted(choice.device, choice.reason))
    if choice.device == "cpu":
        limit_memory(limits.worker_bytes)
    for slot in range(limits.slots):
        page_lock(choice.device, np.frombuffer(memory.pixel_buffers(slot), np.uint8))
    Worker(connection, memory, limits, choice.device).run()


if __name__ == "__main__":
    main(sys.argv[1:])
