"""Seconds from the first observation of a fault to the start of its remediation."""

from nodemend.api.meta import ConditionStatus
from nodemend.health.conditions import UnhealthySince
from nodemend.rules.node import Healthy, Match, NodeGone, Suspect, Unhealthy, Unjudged


def silent_for(age: float, status: ConditionStatus = ConditionStatus.UNKNOWN) -> Match:
    return Match("Ready", status, age, period=60.0)


def test_the_time_counts_from_the_condition_and_not_from_the_first_evaluation() -> None:
    unhealthy_since = UnhealthySince()
    unhealthy_since.note("a", Suspect(silent_for(25.0)), now=100.0)
    unhealthy_since.note("a", Unhealthy(silent_for(65.0)), now=140.0)
    assert unhealthy_since.begin("a", now=150.0) == 75.0


def test_a_condition_that_becomes_worse_does_not_restart_the_time() -> None:
    unhealthy_since = UnhealthySince()
    unhealthy_since.note("a", Suspect(silent_for(0.0)), now=100.0)
    unhealthy_since.note("a", Suspect(silent_for(0.0, ConditionStatus.FALSE)), now=140.0)
    unhealthy_since.note("a", Unjudged("it reports nothing"), now=150.0)
    assert unhealthy_since.begin("a", now=200.0) == 100.0


def test_a_cause_without_an_age_counts_from_the_first_evaluation() -> None:
    unhealthy_since = UnhealthySince()
    unhealthy_since.note("a", Unhealthy(NodeGone("a")), now=100.0)
    unhealthy_since.note("a", Unhealthy(NodeGone("a")), now=120.0)
    assert unhealthy_since.begin("a", now=130.0) == 30.0


def test_only_the_first_remedy_of_an_episode_has_a_time() -> None:
    unhealthy_since = UnhealthySince()
    unhealthy_since.note("a", Unhealthy(silent_for(60.0)), now=100.0)
    assert (unhealthy_since.begin("a", now=100.0), unhealthy_since.begin("a", now=500.0)) == (60.0, None)
    unhealthy_since.note("a", Healthy(30.0), now=600.0)
    unhealthy_since.note("a", Suspect(silent_for(0.0)), now=700.0)
    assert unhealthy_since.begin("a", now=760.0) == 60.0


def test_without_an_observed_cause_there_is_no_time() -> None:
    assert UnhealthySince().begin("ordered", now=10.0) is None
