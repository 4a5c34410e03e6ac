"""One queued pass per host, at the earliest requested time."""

import pytest

from simulation.metal3.operator import HostQueue


def test_what_happens_to_a_host_takes_the_place_of_a_back_off() -> None:
    queue = HostQueue()
    queue.again("h", 0.0, 120.0)
    queue.wake("h", 10.0)

    assert queue.take(10.0) == "h"
    queue.again("h", 10.0, 60.0)

    assert queue.next_due() == 70.0


def test_a_change_during_a_reconcile_is_reconciled_right_after() -> None:
    queue = HostQueue()
    queue.wake("h", 0.0)
    assert queue.take(0.0) == "h"
    queue.wake("h", 0.1)
    queue.again("h", 0.2, 60.0)

    assert queue.take(0.2) == "h"
    assert queue.next_due() is None


def test_at_once_comes_later_each_time_in_a_row() -> None:
    queue, delays = HostQueue(), []
    for _ in range(4):
        queue.at_once("h", 0.0)
        delays.append(queue.next_due())
        queue.take(1.0)
    queue.settled("h")
    queue.at_once("h", 0.0)

    assert [*delays, queue.next_due()] == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.005])


def test_the_host_that_is_due_for_longest_comes_first() -> None:
    queue = HostQueue()
    queue.wake("late", 2.0)
    queue.wake("early", 1.0)

    assert [queue.take(0.5), queue.take(3.0), queue.take(3.0), queue.take(3.0)] == [
        None,
        "early",
        "late",
        None,
    ]
