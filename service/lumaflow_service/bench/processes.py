"""The memory of a process and of those it started, as Linux tells it."""

import os
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def rss_bytes(pid: int) -> int:
    """Resident memory of one process, shared pages included; 0 when it is gone."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * PAGE_BYTES


def descendants(pid: int) -> list[int]:
    """Every process that `pid` started, directly or not."""
    parents = {int(path.name): _parent(path) for path in Path("/proc").glob("[0-9]*")}
    below, found = [pid], list[int]()
    while below:
        parent = below.pop()
        children = [child for child, its_parent in parents.items() if its_parent == parent]
        below += children
        found += children
    return found


def _parent(process: Path) -> int:
    try:
        after_name = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return 0
    return int(after_name.split()[1])
