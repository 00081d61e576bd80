"""Decoding and encoding on threads beside the lane. PyAV releases the interpreter lock inside FFmpeg."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")
_END: Any = object()


def read_ahead(items: Iterable[T], count: int) -> Generator[T, None, None]:
    """Yield `items` in order, while a thread reads up to `count` items ahead.

    An error of `items` is raised after the items before it.
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        pending = deque(thread.submit(next, iterator, _END) for _ in range(count))
        while (item := pending.popleft().result()) is not _END:
            pending.append(thread.submit(next, iterator, _END))
            yield item


class WriterThread:
    """Runs calls in order on one thread, at most `count` of them behind the caller."""

    def __init__(self, count: int) -> None:
        self._thread = ThreadPoolExecutor(1, "writer")
        self._pending: deque[Future[None]] = deque()
        self._count = count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        """Wait for the calls; after an error of the block, cancel those that have not begun."""
        try:
            if kind is None:
                self.wait()
        finally:
            self._thread.shutdown(cancel_futures=True)

    def submit(self, call: Callable[..., None], *arguments: Any) -> None:
        """Run a call after the previous ones. Raises the error of a previous one."""
        if len(self._pending) >= self._count:
            self._pending.popleft().result()
        self._pending.append(self._thread.submit(call, *arguments))

    def wait(self) -> None:
        """Wait for all calls. Raises the first error."""
        while self._pending:
            self._pending.popleft().result()
