"""The keyed queue: examples, then everything against a naive model."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.workqueue import WorkQueue

RETRY = Backoff(first=1.0, most=8.0, spread=0.5)


def queue(most: int = 100) -> WorkQueue[str]:
    return WorkQueue(retry=RETRY, most=most)


def take_all(keys: WorkQueue[str], now: float) -> list[str]:
    taken = []
    while (key := keys.take(now)) is not None:
        taken.append(key)
    return taken


def test_keys_come_in_the_order_in_which_they_are_due() -> None:
    keys = queue()
    keys.add("late", 0.0, after=5.0)
    keys.add("first", 1.0)
    keys.add("second", 1.0)

    assert take_all(keys, 4.9) == ["first", "second"]
    assert keys.next_due() == 5.0
    assert take_all(keys, 5.0) == ["late"]


def test_a_key_asked_for_often_waits_once() -> None:
    keys = queue()
    for _ in range(3):
        keys.add("a", 0.0)

    assert take_all(keys, 1.0) == ["a"]


@pytest.mark.parametrize("delays", [(5.0, 2.0), (2.0, 5.0)])
def test_of_two_delays_the_earlier_counts(delays: tuple[float, float]) -> None:
    keys = queue()
    for delay in delays:
        keys.add("a", 0.0, after=delay)

    assert keys.next_due() == 2.0
    assert take_all(keys, 2.0) == ["a"]
    keys.done("a")
    assert keys.next_due() is None


def test_a_key_being_worked_on_is_not_handed_out_again() -> None:
    keys = queue()
    keys.add("a", 0.0)
    assert keys.take(0.0) == "a"
    keys.add("a", 1.0)

    assert keys.take(9.0) is None
    keys.done("a")
    assert keys.take(9.0) == "a"


@pytest.mark.parametrize("delays", [(5.0, 2.0), (2.0, 5.0)])
def test_of_two_delays_asked_for_during_the_work_the_earlier_counts(delays: tuple[float, float]) -> None:
    keys = queue()
    keys.add("a", 0.0)
    keys.take(0.0)
    for delay in delays:
        keys.add("a", 0.0, after=delay)
    keys.done("a")

    assert keys.next_due() == 2.0


def test_a_key_that_wants_a_later_look_gets_it() -> None:
    keys = queue()
    keys.add("a", 0.0)
    keys.take(0.0)
    keys.again("a", 1.0, 30.0)

    assert keys.next_due() == 31.0


def test_a_change_during_the_work_comes_before_a_later_look() -> None:
    keys = queue()
    keys.add("a", 0.0)
    keys.take(0.0)
    keys.add("a", 0.5)
    keys.again("a", 1.0, 30.0)

    assert keys.next_due() == 0.5


def test_each_failure_in_a_row_doubles_the_wait_up_to_the_most() -> None:
    keys = queue()
    now, waits = 0.0, []
    keys.add("a", now)
    for _ in range(6):
        assert keys.take(now) == "a"
        waits.append(keys.failed("a", now, 0.0))
        now += waits[-1]

    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_chance_spreads_the_waits_of_keys_that_failed_together() -> None:
    keys = queue()
    for key, chance in (("a", 0.0), ("b", 0.5)):
        keys.add(key, 0.0)
        keys.take(0.0)
        keys.failed(key, 0.0, chance)

    assert take_all(keys, 1.2) == ["a"]
    assert take_all(keys, 1.25) == ["b"]


def test_a_success_forgets_the_failures_before_it() -> None:
    keys = queue()
    keys.add("a", 0.0)
    keys.take(0.0)
    keys.failed("a", 0.0, 0.0)
    keys.take(1.0)
    keys.done("a")
    keys.add("a", 1.0)
    keys.take(1.0)

    assert keys.failed("a", 1.0, 0.0) == 1.0


def test_asking_does_not_shorten_a_back_off() -> None:
    keys = queue()
    keys.add("a", 0.0)
    keys.take(0.0)
    keys.add("a", 0.0)
    keys.failed("a", 0.0, 0.0)
    keys.add("a", 0.1)

    assert keys.take(0.9) is None
    assert keys.take(1.0) == "a"


def test_a_full_queue_refuses_new_keys_and_keeps_known_ones() -> None:
    keys = queue(most=2)

    assert keys.add("a", 0.0)
    assert keys.add("b", 0.0, after=9.0)
    assert not keys.add("c", 0.0)
    assert keys.add("b", 0.0)
    assert take_all(keys, 0.0) == ["a", "b"]
    assert not keys.add("c", 0.0)
    assert keys.add("a", 0.0)
    assert keys.waiting == 0


def test_an_overflow_is_reported_once_when_half_of_the_space_is_free() -> None:
    keys = queue(most=2)
    for key in "abc":
        keys.add(key, 0.0)

    assert not keys.take_overflow()
    keys.take(0.0)
    keys.done("a")
    assert keys.take_overflow()
    assert not keys.take_overflow()


def test_draining_forgets_what_waits_and_lets_work_end() -> None:
    keys = queue()
    for key in "abc":
        keys.add(key, 0.0)
    keys.take(0.0)

    assert keys.waiting == 2
    keys.drain()
    assert not keys.add("d", 0.0)
    keys.failed("a", 0.0, 0.0)
    assert (keys.waiting, keys._working, keys._failing) == (0, {}, {})


def test_ending_work_that_was_not_begun_is_an_error() -> None:
    with pytest.raises(ValueError, match="not being worked on"):
        queue().done("a")


def test_a_queue_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="holds nothing"):
        queue(most=0)


def test_asking_earlier_and_earlier_does_not_grow_the_heap() -> None:
    keys = queue()
    for step in range(10_000):
        keys.add("a", 0.0, after=10_000.0 - step)

    assert len(keys._heap) < 100
    assert keys.next_due() == 1.0


KEYS = st.sampled_from("abcd")


class QueueBesideModel(RuleBasedStateMachine):
    """Plays the queue beside dictionaries that are searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = queue(most=3)
        self.now = 0.0
        self.waiting: dict[str, float] = {}
        self.working: dict[str, float | None] = {}
        self.failures: dict[str, int] = {}
        self.not_before: dict[str, float] = {}

    def wait(self, key: str, due: float) -> None:
        due = max(due, self.not_before.get(key, 0.0))
        self.waiting[key] = min(due, self.waiting.get(key, due))

    @rule(key=KEYS, after=st.sampled_from([0.0, 0.5, 3.0, 20.0]))
    def add(self, key: str, after: float) -> None:
        known = key in self.waiting or key in self.working
        capacity = len(self.waiting) + len(self.working) < 3
        assert self.queue.add(key, self.now, after=after) == (known or capacity)
        if key in self.working:
            asked = self.working[key]
            self.working[key] = self.now + after if asked is None else min(asked, self.now + after)
        elif known or capacity:
            self.wait(key, self.now + after)

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        key = self.queue.take(self.now)
        due = [moment for moment in self.waiting.values() if moment <= self.now]
        if key is None:
            assert not due
        else:
            assert self.waiting.pop(key) == min(due)
            self.working[key] = None

    def end(self, key: str, due: float | None) -> None:
        asked = self.working.pop(key)
        wanted = [moment for moment in (due, asked) if moment is not None]
        if wanted:
            self.wait(key, min(wanted))

    @precondition(lambda self: self.working)
    @rule(data=st.data(), how=st.sampled_from(["done", "again", "failed"]))
    def finish(self, data: st.DataObject, how: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        if how == "failed":
            self.failures[key] = self.failures.get(key, 0) + 1
            delay = self.queue.failed(key, self.now, 0.0)
            assert delay == min(2.0 ** (self.failures[key] - 1), 8.0)
            self.not_before[key] = self.now + delay
            self.end(key, self.now + delay)
            return
        self.failures.pop(key, None)
        self.not_before.pop(key, None)
        if how == "done":
            self.queue.done(key)
            self.end(key, None)
        else:
            self.queue.again(key, self.now, 2.0)
            self.end(key, self.now + 2.0)

    @invariant()
    def agrees(self) -> None:
        assert (self.queue.waiting, len(self.queue._working)) == (len(self.waiting), len(self.working))
        assert len(self.queue._failing) == len(self.failures)
        assert self.queue.next_due() == min(self.waiting.values(), default=None)
        assert not self.waiting.keys() & self.working.keys()


TestQueueBesideModel = QueueBesideModel.TestCase
TestQueueBesideModel.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
