"""How long it took from the first sight of what is wrong to the beginning."""

from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.checking.first_sights import FirstSights
from nodemend.decide.findings import Match, NodeGone
from nodemend.decide.node_health import Healthy, Suspect, Unhealthy, Unjudged


def silent_for(age: float, status: ConditionStatus = ConditionStatus.UNKNOWN) -> Match:
    return Match("Ready", status, age, period=60.0)


def test_it_counts_from_the_condition_and_not_from_our_first_look() -> None:
    sights = FirstSights()
    sights.note("a", Suspect(silent_for(25.0)), now=100.0)
    sights.note("a", Unhealthy(silent_for(65.0)), now=140.0)
    assert sights.begin("a", now=150.0) == 75.0


def test_a_condition_that_turns_worse_does_not_begin_anew() -> None:
    sights = FirstSights()
    sights.note("a", Suspect(silent_for(0.0)), now=100.0)
    sights.note("a", Suspect(silent_for(0.0, ConditionStatus.FALSE)), now=140.0)
    sights.note("a", Unjudged("it reports nothing"), now=150.0)
    assert sights.begin("a", now=200.0) == 100.0


def test_what_has_no_age_counts_from_our_first_look() -> None:
    sights = FirstSights()
    sights.note("a", Unhealthy(NodeGone("a")), now=100.0)
    sights.note("a", Unhealthy(NodeGone("a")), now=120.0)
    assert sights.begin("a", now=130.0) == 30.0


def test_only_the_first_remedy_of_an_episode_has_a_time() -> None:
    sights = FirstSights()
    sights.note("a", Unhealthy(silent_for(60.0)), now=100.0)
    assert (sights.begin("a", now=100.0), sights.begin("a", now=500.0)) == (60.0, None)
    sights.note("a", Healthy(30.0), now=600.0)
    sights.note("a", Suspect(silent_for(0.0)), now=700.0)
    assert sights.begin("a", now=760.0) == 60.0


def test_where_nothing_was_seen_to_be_wrong_there_is_no_time() -> None:
    assert FirstSights().begin("ordered", now=10.0) is None
