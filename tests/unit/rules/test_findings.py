"""The text of a finding does not change while the finding does not."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.rules.node import Match, NeverStarted, spell_finding


@pytest.mark.parametrize(
    ("age", "said"), [(59.5, "Ready=Unknown, but not yet for 60 s"), (60.0, "Ready=Unknown for 60 s")]
)
def test_half_a_second_before_its_time_a_condition_has_not_stood_for_it(age: float, said: str) -> None:
    assert spell_finding(Match("Ready", ConditionStatus.UNKNOWN, age, 60.0)) == said


def test_a_machine_without_a_node_is_reported_the_same_way() -> None:
    assert spell_finding(NeverStarted(599.5, 600.0)) == "no node, but not yet for 600 s"
    assert spell_finding(NeverStarted(600.0, 600.0)) == "no node for 600 s"
