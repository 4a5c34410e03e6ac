"""The time proof: what is counted, from where on, and when it is enough."""

from dataclasses import replace

import pytest

from nodemend.safety.time_proof import Anchor, Contact, PeerObservation, PeerProof, count, enough, proven

CONTACT = Contact(uid="uid", boot_id="boot", sequence=12, acknowledged=11, steady_since=4, contact_age=15.0)
ANCHOR = Anchor("uid", "boot", acknowledged=9)
OBSERVATION = PeerObservation(CONTACT, covered_until=120.0)


def test_a_peer_s_first_read_starts_at_zero() -> None:
    assert count({}, {"a": OBSERVATION}, 5.0) == {"a": PeerProof(Anchor("uid", "boot", 11), 0.0)}


def test_time_is_added_to_every_steady_peer() -> None:
    assert count({"a": PeerProof(ANCHOR, 10.0)}, {"a": OBSERVATION}, 5.0) == {"a": PeerProof(ANCHOR, 15.0)}


def test_a_peer_that_lapsed_restarts_from_its_current_value() -> None:
    expired = PeerObservation(replace(CONTACT, steady_since=10), 120.0)
    counted = count(
        {"a": PeerProof(ANCHOR, 60.0), "b": PeerProof(ANCHOR, 60.0)}, {"a": expired, "b": OBSERVATION}, 5.0
    )

    assert counted == {"a": PeerProof(Anchor("uid", "boot", 11), 0.0), "b": PeerProof(ANCHOR, 65.0)}


def test_one_that_could_not_be_read_keeps_what_it_has_but_proves_nothing_now() -> None:
    counted = count({"a": PeerProof(ANCHOR, 60.0)}, {}, 5.0)

    assert counted == {"a": PeerProof(ANCHOR, 65.0)}
    assert proven(counted, {}, 100.0, 60.0) == frozenset()


@pytest.mark.parametrize(
    ("seconds", "observation", "now", "is_proven"),
    [
        (72.0, OBSERVATION, 119.9, True),
        (71.9, OBSERVATION, 119.9, False),
        (72.0, OBSERVATION, 120.0, False),
        (72.0, PeerObservation(CONTACT, None), 100.0, False),
        (72.0, PeerObservation(replace(CONTACT, steady_since=10), 120.0), 100.0, False),
        (72.0, PeerObservation(replace(CONTACT, boot_id="another"), 120.0), 100.0, False),
    ],
)
def test_proven_is_who_was_covered_for_all_of_it_and_still_is(
    seconds: float, observation: PeerObservation, now: float, is_proven: bool
) -> None:
    found = proven({"a": PeerProof(ANCHOR, seconds)}, {"a": observation}, now, 72.0)
    assert (found == {"a"}) is is_proven


@pytest.mark.parametrize("passed", [0.0, 0.25])
def test_no_time_is_too_short_to_be_counted(passed: float) -> None:
    assert count({"a": PeerProof(ANCHOR, 10.0)}, {"a": OBSERVATION}, passed) == {
        "a": PeerProof(ANCHOR, 10.0 + passed)
    }


def test_time_does_not_pass_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        count({}, {}, -0.1)


@pytest.mark.parametrize(
    ("covered", "lists", "is_enough"),
    [
        ("", [], False),
        ("", [[]], False),
        ("a", [["a"]], True),
        ("a", [["a", "b"]], True),
        ("a", [["a", "b", "c"]], False),
        ("ab", [["a", "b", "c"]], True),
        ("xy", [["a", "b", "c"]], False),
        ("ab", [["a", "b", "c"], ["c", "d"]], False),
        ("abd", [["a", "b", "c"], ["c", "d"]], True),
        ("ab", [["a", "b", "c"], []], False),
    ],
)
def test_enough_is_half_of_every_list_by_which_the_node_may_go(
    covered: str, lists: list[list[str]], is_enough: bool
) -> None:
    assert enough(frozenset(covered), lists) is is_enough


@pytest.mark.parametrize("byzantine_peers", [0, 1])
@pytest.mark.parametrize("size", range(1, 16))
def test_every_majority_has_one_of_those_who_are_enough_and_does_not_lie(
    size: int, byzantine_peers: int
) -> None:
    names = [str(number) for number in range(size)]
    sizes = [count for count in range(size + 1) if enough(frozenset(names[:count]), [names], byzantine_peers)]
    majority = size // 2 + 1

    assert all(majority - (size - count) > byzantine_peers for count in sizes)
    if size > 2 * byzantine_peers:
        assert not majority - (size - (sizes[0] - 1)) > byzantine_peers
