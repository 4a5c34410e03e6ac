"""E4: for which nodes time proves anything, how much of it, and how far it has come."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.agent import AgentReport, WatchdogReport
from nodemend.api.self_remediation import SelfRemediationSpec, Weakness
from nodemend.safety.time_proof import (
    DEFAULT_ASSUMPTIONS,
    Anchor,
    Contact,
    NoTimeProof,
    PeerObservation,
    PeerProof,
    Progress,
    evaluate_time,
    needed_for,
)

HARDWARE = WatchdogReport(class_="hardware", effective=10.0)
SOFTWARE = WatchdogReport(class_="software", effective=10.0)
USUAL = SelfRemediationSpec()
PEERS = ("a", "b", "c", "d")


def report(**changes: Any) -> AgentReport:
    usual: dict[str, Any] = {
        "node_uid": "uid-1",
        "boot_id": "boot-1",
        "sequence": 9,
        "acknowledged": 8,
        "steady_since": 1,
        "feed_lease": 35.0,
        "contact_age": 15.0,
        "watchdog": HARDWARE,
        "peers": (PEERS,),
        "boot_gate": True,
    }
    return AgentReport(**{**usual, **changes})


def test_the_usual_times_need_72_seconds() -> None:
    assert needed_for(report(), USUAL) == 72


def test_a_slower_watchdog_needs_more_and_a_quicker_one_less() -> None:
    slow = WatchdogReport(class_="hardware", effective=20.0)
    assert needed_for(report(watchdog=slow), USUAL) == 103
    quick = WatchdogReport(class_="hardware", effective=1.0)
    assert needed_for(report(watchdog=quick), USUAL) == 45


@pytest.mark.parametrize(("wanted", "needed"), [(72, 72), (90, 90)])
def test_a_longer_wait_can_be_configured(wanted: int, needed: int) -> None:
    assert needed_for(report(), SelfRemediationSpec(safe_time_seconds=wanted)) == needed


def test_and_never_shorter() -> None:
    refused = needed_for(report(), SelfRemediationSpec(safe_time_seconds=71))

    assert isinstance(refused, NoTimeProof)
    assert refused.why == "71 s prove nothing for this node: at least 71.7 s do"
    assert "safeTimeSeconds" in refused.remedy


@pytest.mark.attack("K3")
@pytest.mark.parametrize(
    ("changes", "accepted", "why"),
    [
        ({"watchdog": SOFTWARE}, Weakness.SOFTWARE_WATCHDOG, "the kernel's own"),
        (
            {"watchdog": WatchdogReport(class_="untested", effective=10.0)},
            Weakness.UNTESTED_WATCHDOG,
            "never observed to reset it",
        ),
        ({"boot_gate": False}, Weakness.NO_BOOT_GATE, "no boot gate"),
    ],
)
def test_a_weakness_is_accepted_by_its_own_name_alone(
    changes: dict[str, Any], accepted: Weakness, why: str
) -> None:
    others = tuple(one for one in Weakness if one is not accepted)

    refused = needed_for(report(**changes), SelfRemediationSpec(accept=others))

    assert isinstance(refused, NoTimeProof)
    assert why in refused.why
    assert accepted.value in refused.remedy
    assert needed_for(report(**changes), SelfRemediationSpec(accept=(accepted,))) == 72


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"watchdog": WatchdogReport(class_="unsupported", effective=10.0, why="it was paused")}, "paused"),
        ({"watchdog": WatchdogReport(class_="quantum", effective=10.0)}, "its watchdog is quantum"),
        ({"watchdog": WatchdogReport(class_="hardware", effective=0.0)}, "prove nothing"),
        ({"feed_lease": 0.0}, "prove nothing"),
        ({"peers": ()}, "it has 0 peers"),
        ({"peers": (("a",),)}, "it has 1 peer"),
        ({"peers": (PEERS, ("a",))}, "it has 1 peer"),
    ],
)
def test_no_setting_accepts_time_that_proves_nothing(changes: dict[str, Any], why: str) -> None:
    refused = needed_for(report(**changes), SelfRemediationSpec(accept=tuple(Weakness)))

    assert isinstance(refused, NoTimeProof)
    assert why in refused.why


def test_two_peers_are_enough_where_one_may_lie_and_three_where_two_may() -> None:
    two = report(peers=(("a", "b"),))

    assert needed_for(two, USUAL) == 72
    assert isinstance(needed_for(two, USUAL, replace(DEFAULT_ASSUMPTIONS, byzantine_peers=2)), NoTimeProof)
    assert (
        needed_for(report(peers=(("a", "b", "c"),)), USUAL, replace(DEFAULT_ASSUMPTIONS, byzantine_peers=2))
        == 72
    )


CONTACT = Contact(uid="uid", boot_id="boot", sequence=12, acknowledged=11, steady_since=4, contact_age=15.0)
COVERED = PeerObservation(CONTACT, covered_until=120.0)
EXPIRED = PeerObservation(CONTACT, covered_until=100.0)


def counted(**seconds: float) -> dict[str, PeerProof]:
    return {name: PeerProof(Anchor("uid", "boot", 9), one) for name, one in seconds.items()}


def evaluate(
    proof: dict[str, PeerProof], observations: dict[str, PeerObservation], lists: tuple[tuple[str, ...], ...]
) -> Progress:
    return evaluate_time(proof, observations, 110.0, lists, 72)


def test_one_more_than_half_has_to_be_covered_because_one_may_lie() -> None:
    observations = dict.fromkeys(PEERS, COVERED)

    assert evaluate(counted(a=72, b=72, c=72, d=3), observations, (PEERS,)).done
    two = evaluate(counted(a=72, b=72, c=71.9, d=3), observations, (PEERS,))
    assert (two.seconds, two.done, two.covered) == (71, False, 4)


def test_a_peer_is_covered_from_its_first_read_on() -> None:
    first = evaluate(counted(a=0, b=0.4, c=0, d=0), dict.fromkeys(PEERS, COVERED), (PEERS,))

    assert (first.seconds, first.covered) == (0, 4)


def test_of_three_nodes_both_peers_have_to_be_covered() -> None:
    observations = {"a": COVERED, "b": COVERED}

    assert evaluate(counted(a=72, b=72), observations, (("a", "b"),)).done
    assert not evaluate(counted(a=72, b=71), observations, (("a", "b"),)).done


def test_who_is_not_covered_at_this_moment_does_not_count() -> None:
    observations = {**dict.fromkeys(PEERS, COVERED), "c": EXPIRED}

    found = evaluate(counted(a=72, b=72, c=72, d=40), observations, (PEERS,))

    assert (found.seconds, found.done, found.covered) == (40, False, 3)


def test_while_a_node_changes_its_peers_both_lists_have_to_be_covered() -> None:
    observations = dict.fromkeys((*PEERS, "e", "f", "g"), COVERED)
    proof = counted(a=72, b=72, c=72, d=72, e=10, f=10, g=10)

    assert evaluate(proof, observations, (PEERS,)).done
    assert evaluate(proof, observations, (PEERS, ("a", "b", "e", "f", "g"))).seconds == 10


def test_nothing_is_proven_at_the_beginning() -> None:
    found = evaluate(counted(), {}, (PEERS,))
    assert (found.seconds, found.done, found.covered) == (0, False, 0)
