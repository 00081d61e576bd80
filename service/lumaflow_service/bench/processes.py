"""Resident memory of a process and of its descendants, from /proc."""

import os
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def rss_bytes(pid: int) -> int:
    """Resident memory of one process, including shared pages; 0 if the process does not exist."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * PAGE_BYTES


def descendants(pid: int) -> list[int]:
    """Process ids of all descendants of `pid`."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").glob("[0-9]*")}
    pending, found = [pid], list[int]()
    while pending:
        current = pending.pop()
        children = [child for child, parent in parents.items() if parent == current]
        pending += children
        found += children
    return found


def _parent(process: Path) -> int:
    try:
        after_name = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return 0
    return int(after_name.split()[1])
