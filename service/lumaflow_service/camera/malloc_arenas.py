"""Keeping a process small that starts and ends threads for years."""

import ctypes

M_ARENA_MAX = -8
ARENAS = 2


def limit_malloc_arenas() -> None:
    """Let all threads share two heaps; call it before there are any.

    Each connection's decoder has threads of its own, and glibc would give up to eight heaps a core to them:
    over 300 reconnections a process grew by 15 MB, with this by 0.3 MB.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)
