"""The queue between the reader of a camera and the writer to slots."""

import threading

from lumaflow_service.camera.frame_queue import LatestFrameQueue


def test_the_newest_frame_replaces_others_which_are_counted() -> None:
    queue: LatestFrameQueue[int] = LatestFrameQueue(lossless=False)
    for number in range(5):
        queue.put(number)
    assert queue.wait()
    assert (queue.take(), queue.replaced) == (4, 4)


def test_a_lossless_queue_keeps_every_frame() -> None:
    queue: LatestFrameQueue[int] = LatestFrameQueue(lossless=True)
    thread = threading.Thread(target=lambda: [queue.put(number) for number in range(50)])
    thread.start()
    taken = [queue.take() for _ in range(50) if queue.wait()]
    thread.join()
    assert taken == list(range(50))
    assert queue.replaced == 0


def test_closing_wakes_producer_and_consumer() -> None:
    queue: LatestFrameQueue[int] = LatestFrameQueue(lossless=True)
    queue.put(1)
    blocked = threading.Thread(target=queue.put, args=(2,))
    blocked.start()
    queue.close()
    blocked.join(5)
    assert not blocked.is_alive()
    assert not queue.wait()
