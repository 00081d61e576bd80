"""A limit on the worker's memory: a decoder that asks for too much fails, and the machine does not swap."""

import os
import resource
from pathlib import Path


def limit_memory(extra_bytes: int) -> None:
    """Limit the address space to the current use plus `extra_bytes`, at most the physical memory.

    Not for a process that uses CUDA, which maps the memory of the GPUs and the host into its address space.
    """
    page_bytes = resource.getpagesize()
    current_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * page_bytes
    extra_bytes = min(extra_bytes, os.sysconf("SC_PHYS_PAGES") * page_bytes)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = current_bytes + extra_bytes
    resource.setrlimit(
        resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard)
    )
