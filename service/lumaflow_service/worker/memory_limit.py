"""A wall behind the header gate: what asks for all memory there is fails alone, and not the machine."""

import os
import resource
from pathlib import Path


def limit_memory(room_bytes: int) -> None:
    """Let this process take so much address space beyond what it holds now, at most the machine's memory.

    Not for a process that uses CUDA, which lays all of a GPU's and the host's memory into its address space.
    """
    page_bytes = resource.getpagesize()
    held_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * page_bytes
    room_bytes = min(room_bytes, os.sysconf("SC_PHYS_PAGES") * page_bytes)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = held_bytes + room_bytes
    resource.setrlimit(
        resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
    )
