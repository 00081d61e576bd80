"""Order: jobs of one source pass in the order they came."""

from lumaflow_service.ipc.messages import Job, Op
from lumaflow_service.worker.source_queue import QueuedJob, SourceQueue


def arrived(order: SourceQueue, *sources: str) -> list[QueuedJob]:
    """Tasks of these sources, lined up."""
    tasks = [QueuedJob(Job(number, Op.FRAME, source)) for number, source in enumerate(sources)]
    for task in tasks:
        order.put(task)
    return tasks


def passed(order: SourceQueue) -> list[int]:
    """Ids of the jobs that may pass now."""
    found = []
    while task := order.get(0.01):
        found.append(task.job.id)
    return found


def test_a_task_waits_for_those_before_it() -> None:
    order = SourceQueue()
    first, second, third = arrived(order, "a", "a", "a")
    order.mark_ready(third)
    order.mark_ready(second)
    assert passed(order) == []
    order.mark_ready(first)
    assert passed(order) == [0, 1, 2]


def test_sources_do_not_wait_for_each_other() -> None:
    order = SourceQueue()
    slow, quick, last = arrived(order, "slow", "quick", "quick")
    order.mark_ready(last)
    order.mark_ready(quick)
    assert passed(order) == [1, 2]
    order.mark_ready(slow)
    assert passed(order) == [0]


def test_nothing_is_kept_of_a_source_that_has_passed() -> None:
    order = SourceQueue()
    for number in range(100):
        (task,) = arrived(order, f"source{number}")
        order.mark_ready(task)
    assert len(passed(order)) == 100
    assert order._by_source == {}
