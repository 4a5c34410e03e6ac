"""Selection of nodes by name, pattern and label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.cli.simulate.scenario import Span, members, moments, parse_choice, share, spread
from nodemend.safety.limits import Count, Percent
from tests.unit.cli.simulate.clusters import Object, node, workers
from tests.unit.cli.simulate.simulated import a_snapshot

NODES = a_snapshot(workers(3)).nodes


def meant(written: str, objects: list[Object] | None = None) -> tuple[str, ...]:
    return members(parse_choice(written), NODES if objects is None else a_snapshot(objects).nodes)


def test_names_and_patterns_of_names() -> None:
    assert meant("edge-b2") == ("edge-b2",)
    assert meant("edge-b*") == ("edge-b1", "edge-b2", "edge-b3")
    assert meant("edge-[ac]1") == ("edge-a1", "edge-c1")
    assert meant("*") == tuple(sorted(NODES))


def test_labels_may_be_written_short_and_with_patterns() -> None:
    assert meant("topology.kubernetes.io/zone=a") == ("edge-a1", "edge-a2", "edge-a3")
    assert meant("zone=a") == ("edge-a1", "edge-a2", "edge-a3")
    assert meant("zone=[ab],hostname=*1") == ("edge-a1", "edge-b1")


def test_a_short_label_that_may_be_two_is_to_be_written_out() -> None:
    objects = [node("n1", "a", labels={"example.com/zone": "x"}), node("n2", labels={"rack": "r1"})]
    with pytest.raises(ValueError, match=r"zone may be example.com/zone or topology.kubernetes.io/zone"):
        meant("zone=a", objects)
    assert meant("example.com/zone=x", objects) == ("n1",)
    assert meant("rack=r1", objects) == ("n2",)


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("edge-d1", "no node matches edge-d1"),
        ("zone=d", "no node matches zone=d"),
        ("rack=r1", "no node has"),
    ],
)
def test_a_selection_of_no_node_is_an_error(written: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        meant(written)


def test_a_share_is_rounded_up() -> None:
    assert [share(Percent(40), total) for total in (0, 1, 5, 6, 10)] == [0, 1, 2, 3, 4]
    assert share(Percent(0), 10) == 0
    assert (share(Count(3), 10), share(Count(30), 10), share(None, 10)) == (3, 10, 10)


def test_some_of_many_are_spread_over_all() -> None:
    names = [f"n{number:02}" for number in range(12)]
    assert spread(names, 3) == ("n00", "n04", "n08")
    assert spread(names, 5) == ("n00", "n02", "n04", "n07", "n09")


@given(st.integers(0, 60), st.integers(0, 80))
def test_a_spread_has_as_many_as_asked_for_and_none_twice(total: int, number: int) -> None:
    names = [f"n{place:02}" for place in range(total)]
    chosen = spread(names, number)
    assert len(chosen) == len(set(chosen)) == min(total, number)
    assert list(chosen) == sorted(chosen)


def test_one_after_the_other_from_the_beginning_to_the_end() -> None:
    assert moments(Span(60, 60), 3) == (60, 60, 60)
    assert moments(Span(60, 120), 3) == (60, 90, 120)
    assert moments(Span(60, 120), 1) == (60,)
    assert moments(Span(60, 120), 0) == ()
