"""The source queue: the jobs of one source keep their queue."""

from lumaflow_service.ipc.messages import Job, Op
from lumaflow_service.worker.source_queue import QueuedJob, SourceQueue


def put_jobs(queue: SourceQueue, *sources: str) -> list[QueuedJob]:
    """Put a job of each source into the queue."""
    tasks = [QueuedJob(Job(number, Op.FRAME, source)) for number, source in enumerate(sources)]
    for task in tasks:
        queue.put(task)
    return tasks


def available_ids(queue: SourceQueue) -> list[int]:
    """Ids of the jobs that are available now."""
    found = []
    while task := queue.get(0.01):
        found.append(task.job.id)
    return found


def test_a_job_waits_for_the_earlier_ones() -> None:
    queue = SourceQueue()
    first, second, third = put_jobs(queue, "a", "a", "a")
    queue.mark_ready(third)
    queue.mark_ready(second)
    assert available_ids(queue) == []
    queue.mark_ready(first)
    assert available_ids(queue) == [0, 1, 2]


def test_sources_do_not_wait_for_each_other() -> None:
    queue = SourceQueue()
    slow, quick, last = put_jobs(queue, "slow", "quick", "quick")
    queue.mark_ready(last)
    queue.mark_ready(quick)
    assert available_ids(queue) == [1, 2]
    queue.mark_ready(slow)
    assert available_ids(queue) == [0]


def test_nothing_is_stored_for_a_source_without_jobs() -> None:
    queue = SourceQueue()
    for number in range(100):
        (task,) = put_jobs(queue, f"source{number}")
        queue.mark_ready(task)
    assert len(available_ids(queue)) == 100
    assert queue._by_source == {}
