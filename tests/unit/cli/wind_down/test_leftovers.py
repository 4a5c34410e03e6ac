"""`wind-down` finds all of Nodemend's leftovers, reports nothing else, and does not take unreadable for
empty.
"""

import pytest

from nodemend.api import well_known
from nodemend.cli.cluster import LeaderState, LeaderView
from nodemend.cli.wind_down.leftovers import (
    Known,
    MarkerOnLease,
    NotRead,
    PowerNotRestored,
    PowerOffRequestOnHost,
    Revocation,
    StillOpen,
    StrayLock,
    TaintedNode,
    find_leftovers,
    is_in_the_way,
    may_pass,
)
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import remediation
from tests.unit.cli.wind_down.scenes import (
    AFTER,
    BEGUN,
    NO_LEADER,
    facts,
    fences_itself,
    host,
    lock,
    marked_lease,
    node,
    open_facts,
    power_cycle,
)


def test_without_leftovers_nothing_is_found() -> None:
    assert find_leftovers(facts(nodes=Present([node()]), hosts=Present([host()]))) == ()
    assert find_leftovers(facts(hosts=Absent())) == ()


def test_a_hold_is_found_with_its_remediation_or_without() -> None:
    living = power_cycle("m-1")
    with_it = facts(hosts=Present([host("rem-m-1")]), open_=open_facts(power=Present([living])))
    held, still_open = find_leftovers(with_it)
    assert isinstance(held, PowerOffRequestOnHost)
    assert isinstance(still_open, StillOpen)
    assert held.holder is living

    (orphan,) = find_leftovers(facts(hosts=Present([host("rem-gone")])))
    assert isinstance(orphan, PowerOffRequestOnHost)
    assert orphan.holder is None
    assert orphan.key == f"{well_known.POWER_OFF_REQUEST_PREFIX}rem-gone"


def test_holds_and_taints_of_other_controllers_are_ignored() -> None:
    theirs = host()
    theirs.metadata.annotations["reboot.metal3.io/somebody"] = ""

    assert find_leftovers(facts(hosts=Present([theirs]), nodes=Present([node(taint="medik8s")]))) == ()


def test_nodemend_s_taint_and_marker_are_found_on_nodes() -> None:
    tainted = node(taint="nodemend", revoked=True)
    assert find_leftovers(facts(nodes=Present([tainted]))) == (
        TaintedNode("edge-07", None),
        Revocation("edge-07"),
    )

    living = power_cycle("m-1")
    found = find_leftovers(facts(nodes=Present([tainted]), open_=open_facts(power=Present([living]))))
    assert TaintedNode("edge-07", living) in found


def test_a_hold_without_a_remediation_names_the_nodes_that_must_not_come_back_yet() -> None:
    found = find_leftovers(facts(hosts=Present([host("x")]), nodes=Present([node(taint="nodemend")])))
    (held,) = (one for one in found if isinstance(one, PowerOffRequestOnHost))

    assert held.tainted == ("edge-07",)


def test_an_ended_remediation_with_a_finalizer_is_a_leftover() -> None:
    over = remediation("edge-1", phase="Succeeded")

    assert [type(one) for one in find_leftovers(facts(open_=open_facts(manual=Present([over]))))] == [
        StillOpen
    ]


def test_requests_made_since_are_distinguished_from_earlier_ones() -> None:
    both = Present([power_cycle("m-1"), power_cycle("m-2", created=AFTER)])
    found = find_leftovers(facts(open_=open_facts(power=both)))

    assert [(one.remediation.metadata.name, one.anew) for one in found if isinstance(one, StillOpen)] == [
        ("m-1", False),
        ("m-2", True),
    ]


def test_a_lock_is_reported_only_without_its_remediation_and_blocks_nothing() -> None:
    living = open_facts(power=Present([power_cycle("m-1")]))
    kept = find_leftovers(facts(locks=Present([lock("rem-m-1")]), open_=living))
    stray = find_leftovers(facts(locks=Present([lock("rem-gone")])))

    assert not [one for one in kept if isinstance(one, StrayLock)]
    assert stray == (StrayLock("node-uid-edge-07"),)
    assert not any(map(is_in_the_way, stray))


@pytest.mark.parametrize("powered_on", [True, None])
def test_a_host_that_is_on_again_or_unknown_is_not_reported(powered_on: bool | None) -> None:
    known = Known(BEGUN, refused={}, switched={"metal3/rack-7": "edge-07"})

    assert find_leftovers(facts(known=known, hosts=Present([host(powered_on=powered_on)]))) == ()


def test_a_host_that_a_remediation_left_off_is_reported_even_without_an_annotation() -> None:
    known = Known(BEGUN, refused={}, switched={"metal3/rack-7": "edge-07"})
    found = find_leftovers(facts(known=known, hosts=Present([host()])))

    assert found == (PowerNotRestored("metal3/rack-7", "edge-07", wanted=True),)
    assert not any(map(is_in_the_way, found))
    # Hosts that are off for another reason are unrelated.
    assert find_leftovers(facts(hosts=Present([host()]))) == ()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"nodes": Unreadable("forbidden")}, "Nodes"),
        ({"hosts": Unreadable("forbidden")}, "BareMetalHosts"),
        ({"locks": Unreadable("forbidden")}, "locks on nodes"),
        ({"agents": Unreadable("forbidden")}, "Leases in nodemend-agents"),
        ({"open_": open_facts(manual=Unreadable("forbidden"))}, "ManualRemediations"),
        ({"open_": open_facts(power=Unreadable("forbidden"))}, "Metal3Remediations"),
        ({"open_": open_facts(by_itself=Unreadable("forbidden"))}, "SelfRemediations"),
    ],
)
def test_unknown_is_not_nothing_and_waiting_does_not_help(change: dict[str, object], what: str) -> None:
    found = find_leftovers(facts(**change))  # type: ignore[arg-type]

    assert found == (NotRead(what, "forbidden"),)
    assert all(map(is_in_the_way, found))
    assert not any(map(may_pass, found))


def test_only_a_lease_that_was_read_shows_a_missing_leader() -> None:
    unread = LeaderView(component="remediator", state=LeaderState.UNKNOWN, why="forbidden")

    def unattended(leader: LeaderView) -> bool:
        (found,) = find_leftovers(facts(open_=open_facts(power=Present([power_cycle("m-1")]), leader=leader)))
        assert isinstance(found, StillOpen)
        return found.leader.absent

    assert unattended(NO_LEADER)
    assert not unattended(unread)


def test_a_marker_is_found_with_its_remediation_or_without() -> None:
    living = fences_itself()
    open_ = open_facts(by_itself=Present([living]))
    (kept, _) = find_leftovers(facts(agents=Present([marked_lease("rem-edge-07")]), open_=open_))
    (left,) = find_leftovers(facts(agents=Present([marked_lease("rem-gone")])))

    assert kept == MarkerOnLease("edge-07", living, "", tainted=False)
    assert left == MarkerOnLease("edge-07", None, "", tainted=False)
    assert is_in_the_way(left)
    assert may_pass(left)


def test_a_marker_on_a_node_with_nodemend_s_taint_reports_that() -> None:
    found = find_leftovers(
        facts(agents=Present([marked_lease("rem-gone")]), nodes=Present([node(taint="nodemend")]))
    )
    (marked,) = (one for one in found if isinstance(one, MarkerOnLease))

    assert marked.tainted


def test_no_remediator_removes_an_unreadable_marker() -> None:
    (left,) = find_leftovers(facts(agents=Present([marked_lease("x", garbled=True)])))

    assert isinstance(left, MarkerOnLease)
    assert left.problem.startswith("its marker cannot be read")
    assert is_in_the_way(left)
    assert not may_pass(left)


def test_a_lease_without_a_marker_is_the_agents_own() -> None:
    lease = marked_lease("x")
    clean = lease.but(metadata=lease.metadata.but(annotations={}))

    assert find_leftovers(facts(agents=Present([clean]))) == ()
