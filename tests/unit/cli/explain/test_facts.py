"""Ages from written timestamps, for commands that did not watch the objects."""

from datetime import UTC, datetime

from msgspec.structs import replace

from nodemend.api.meta import ConditionStatus, print_time
from nodemend.cli.explain.facts import conditions_by_writing, lease_by_writing
from nodemend.records.node import NodeConditionRecord
from nodemend.rules.node import ConditionSeen
from nodemend.safety.facts import LeaseFacts
from tests.unit.cli.check.sound_facts import node

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def test_a_condition_is_as_old_as_it_says() -> None:
    conditions = (
        NodeConditionRecord("Ready", "Unknown", print_time(NOW.replace(hour=11))),
        NodeConditionRecord("Later", "True", print_time(NOW.replace(hour=13))),
        NodeConditionRecord("Undated", "False"),
        NodeConditionRecord("Strange", "Perhaps", print_time(NOW)),
    )
    record = replace(node("edge-1"), conditions=conditions)

    assert conditions_by_writing(record, NOW) == (
        ConditionSeen("Ready", ConditionStatus.UNKNOWN, 3600.0),
        ConditionSeen("Later", ConditionStatus.TRUE, 0.0),
        ConditionSeen("Undated", ConditionStatus.FALSE, 0.0),
        ConditionSeen("Strange", ConditionStatus.UNKNOWN, 0.0),
    )


def test_a_lease_is_silent_since_it_was_renewed() -> None:
    lease = LeaseFacts("2026-01-31T11:59:00.000000Z", 40.0, 0.0)

    assert lease_by_writing(lease, NOW).unchanged_for == 60.0
    assert lease_by_writing(lease, NOW).silent


def test_a_renewal_that_cannot_be_read_is_no_silence() -> None:
    for said in ("", "yesterday"):
        assert not lease_by_writing(LeaseFacts(said, 40.0, 0.0), NOW).silent
