"""One frame on its way from the thread that reads a camera to the thread that lays frames into slots."""

import threading
from typing import Generic, TypeVar

Item = TypeVar("Item")


class LatestFrameQueue(Generic[Item]):
    """Room for one item. In a `lossless` one `put` waits for room; else the newest replaces what is there."""

    def __init__(self, lossless: bool) -> None:
        self._lossless = lossless
        self._changed = threading.Condition()
        self._item: Item | None = None
        self._closed = False
        self.replaced = 0

    def put(self, item: Item) -> None:
        """Lay an item in; one that it replaces is counted."""
        with self._changed:
            if self._lossless:
                self._changed.wait_for(lambda: self._item is None or self._closed)
            elif self._item is not None:
                self.replaced += 1
            self._item = item
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait until there is an item; False when the mailbox was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed)
            return not self._closed

    def take(self) -> Item:
        """The item there is now; `wait` said that there is one."""
        with self._changed:
            item, self._item = self._item, None
            self._changed.notify_all()
        assert item is not None
        return item

    def wait_empty(self, seconds: float) -> bool:
        """Wait until the item was taken; says whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: self._item is None, seconds)

    def close(self) -> None:
        """Let go of whoever waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
