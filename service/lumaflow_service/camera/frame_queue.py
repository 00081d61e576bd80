"""A queue of one frame between the thread that reads a camera and the thread that writes to slots."""

import threading
from typing import Generic, TypeVar

Item = TypeVar("Item")


class LatestFrameQueue(Generic[Item]):
    """Holds one item. In a `lossless` queue `put` blocks while it is full; else the newest item replaces it.

    `replaced` counts the items that were replaced.
    """

    def __init__(self, lossless: bool) -> None:
        self._lossless = lossless
        self._changed = threading.Condition()
        self._item: Item | None = None
        self._closed = False
        self.replaced = 0

    def put(self, item: Item) -> None:
        """Put an item into the queue."""
        with self._changed:
            if self._lossless:
                self._changed.wait_for(lambda: self._item is None or self._closed)
            elif self._item is not None:
                self.replaced += 1
            self._item = item
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait for an item; return False when the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._item is not None or self._closed)
            return not self._closed

    def take(self) -> Item:
        """Remove and return the item; call `wait` first."""
        with self._changed:
            item, self._item = self._item, None
            self._changed.notify_all()
        assert item is not None
        return item

    def close(self) -> None:
        """Wake all threads that wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
