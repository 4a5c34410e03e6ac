from nodemend.api.meta import Condition, ConditionStatus, find, merged

EARLIER, LATER = "2026-01-31T12:00:00Z", "2026-01-31T12:05:00Z"


def condition(type_: str, status: ConditionStatus, at: str, message: str = "") -> Condition:
    return Condition(type=type_, status=status, reason="Because", last_transition_time=at, message=message)


def test_an_unchanged_condition_keeps_its_time_and_takes_the_new_message() -> None:
    old = [condition("Ready", ConditionStatus.TRUE, EARLIER, "fine")]
    new = [condition("Ready", ConditionStatus.TRUE, LATER, "still fine")]

    assert merged(old, new) == (condition("Ready", ConditionStatus.TRUE, EARLIER, "still fine"),)


def test_a_changed_condition_takes_the_new_time() -> None:
    old = [condition("Ready", ConditionStatus.TRUE, EARLIER)]
    new = [condition("Ready", ConditionStatus.UNKNOWN, LATER)]

    assert merged(old, new) == tuple(new)


def test_conditions_that_are_not_named_stay() -> None:
    old = [condition("Paused", ConditionStatus.FALSE, EARLIER)]
    new = [condition("Ready", ConditionStatus.TRUE, LATER)]

    assert merged(old, new) == (*old, *new)


def test_a_condition_is_found_by_its_type() -> None:
    ready = condition("Ready", ConditionStatus.TRUE, EARLIER)

    assert find([ready], "Ready") is ready
    assert find([ready], "Paused") is None
