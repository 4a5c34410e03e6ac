"""Evidence E1: a host counts as off only if it went off under Nodemend's power-off request, without
counterevidence.
"""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.evidence import Evidence
from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import OffSighting, PowerOffEvent
from nodemend.safety import holds, host_power
from nodemend.safety.facts import Absent, LeaseFacts, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import HoldReason
from nodemend.safety.host_power import HostFacts
from nodemend.safety.power_off import (
    SEEN_OFF_FOR,
    SeenOff,
    WatchedHost,
    evaluate_power_off,
    evidence_of,
    first_sighting,
)
from tests.unit.remediation.metal3.power_worlds import EARLIER, HELD, LATER, LET_GO, OFF, PROOF, RENEWED, SEEN
from tests.unit.safety.worlds import SILENT_LEASE, SILENT_NODE

AGAINST: list[tuple[str, HostFacts, HoldReason]] = [
    ("our hold is not on it", LET_GO, host_power.PowerOffRequestLost("metal3/h1")),
    ("it is on", HELD, host_power.HostOn("metal3/h1")),
    (
        "it is paused",
        replace(OFF, paused=True),
        host_power.HostPowerUncertain("metal3/h1", host_power.PausedHost()),
    ),
    (
        "it is detached",
        replace(OFF, detached=True),
        host_power.HostPowerUncertain("metal3/h1", host_power.Detached()),
    ),
    (
        "it is in error",
        replace(OFF, error_type="power management error"),
        host_power.HostPowerUncertain("metal3/h1", host_power.HostInError("power management error", "")),
    ),
    (
        "its firmware is at work",
        replace(OFF, operational_status="servicing"),
        host_power.HostPowerUncertain("metal3/h1", host_power.Servicing()),
    ),
    (
        "it never said",
        replace(OFF, powered_on=None),
        host_power.HostPowerUncertain("metal3/h1", host_power.PowerUnreported()),
    ),
]


def evaluate(
    host: HostFacts = OFF,
    *,
    unchanged_for: float = 60.0,
    first: OffSighting | None = SEEN,
    baseline: tuple[PowerOffEvent, ...] | None = (EARLIER,),
    node: NodeFacts = SILENT_NODE,
    lease: ReadResult[LeaseFacts] = Present(SILENT_LEASE),  # noqa: B008 - frozen
    recorded: Evidence | None = None,
) -> SeenOff | HoldReason:
    return evaluate_power_off(WatchedHost(host, unchanged_for, first, baseline), node, lease, recorded)


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
def test_a_held_powered_off_and_silent_host_is_accepted(recorded: Evidence | None) -> None:
    assert evaluate(recorded=recorded) == SeenOff(OFF, "12:00:00")


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
@pytest.mark.parametrize(("host", "why"), [pytest.param(h, why, id=name) for name, h, why in AGAINST])
def test_a_host_report_is_rejected_when(host: HostFacts, why: HoldReason, recorded: Evidence | None) -> None:
    assert evaluate(host, recorded=recorded) == why


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"first": None}, host_power.OffTimeUncertain("metal3/h1")),
        ({"baseline": None}, host_power.OffTimeUncertain("metal3/h1")),
        ({"first": SEEN.but(last_updated="11:59")}, host_power.OffTimeUncertain("metal3/h1")),
        ({"lease": Unreadable("500")}, holds.CannotRead("the kubelet's Lease", "500")),
        ({"lease": Absent()}, holds.NoKubeletLease("n1")),
        ({"lease": Present(RENEWED)}, host_power.ActiveAfterPowerOff("metal3/h1", "12:05:00")),
        ({"node": replace(SILENT_NODE, ready=ConditionStatus.TRUE)}, holds.NodeReady("n1")),
    ],
    ids=[
        "unseen",
        "seen by two clocks",
        "undated",
        "Lease unreadable",
        "no Lease",
        "it speaks",
        "it is Ready",
    ],
)
def test_off_is_not_enough_when(changes: dict[str, Any], why: HoldReason, recorded: Evidence | None) -> None:
    assert evaluate(recorded=recorded, **changes) == why


def watched(
    host: HostFacts = OFF,
    *,
    unchanged_for: float = 60.0,
    lease: ReadResult[LeaseFacts] = Present(SILENT_LEASE),  # noqa: B008 - frozen
    baseline: tuple[PowerOffEvent, ...] | None = (EARLIER,),
    power_offs: ReadResult[tuple[PowerOffEvent, ...]] = Present((EARLIER, LATER)),  # noqa: B008 - frozen
) -> OffSighting | HoldReason:
    """The first observation of power off."""
    return first_sighting(WatchedHost(host, unchanged_for, None, baseline, power_offs), lease, SILENT_NODE)


def test_a_first_sighting_says_when_both_last_moved() -> None:
    assert watched() == SEEN


def test_before_it_counts_it_has_been_so_for_a_while() -> None:
    assert SEEN_OFF_FOR == 2.0  # lastUpdated counts whole seconds
    assert watched(unchanged_for=1.9) == host_power.OffTooRecent("metal3/h1")
    assert watched(unchanged_for=2.0) == SEEN


@pytest.mark.parametrize(("host", "why"), [pytest.param(h, why, id=name) for name, h, why in AGAINST])
def test_a_host_is_not_observed_off_when(host: HostFacts, why: HoldReason) -> None:
    assert watched(host) == why


def test_without_a_date_or_a_lease_nothing_is_seen() -> None:
    assert watched(replace(OFF, last_updated="")) == host_power.OffTimeUncertain("metal3/h1")
    assert watched(lease=Absent()) == holds.NoKubeletLease("n1")
    assert watched(lease=Unreadable("500")) == holds.CannotRead("the kubelet's Lease", "500")


@pytest.mark.attack("K2")
@pytest.mark.parametrize(
    ("baseline", "power_offs", "why"),
    [
        ((), Present(()), host_power.PowerOffUnreported("metal3/h1")),
        ((EARLIER,), Present((EARLIER,)), host_power.PowerOffUnreported("metal3/h1")),
        (
            (EARLIER.but(count=3),),
            Present((EARLIER.but(count=3),)),
            host_power.PowerOffUnreported("metal3/h1"),
        ),
        (
            (EARLIER.but(count=3),),
            Present((EARLIER.but(count=2),)),
            host_power.PowerOffUnreported("metal3/h1"),
        ),
        ((EARLIER, LATER), Present((LATER,)), host_power.PowerOffUnreported("metal3/h1")),
        (None, Present((EARLIER, LATER)), host_power.PowerOffUnreported("metal3/h1")),
        ((), Unreadable("403"), holds.CannotRead("the events of its host", "403")),
    ],
    ids=["none", "known", "not again", "fewer", "expired", "nothing recorded", "unreadable"],
)
def test_without_a_new_power_off_event_the_host_may_have_been_off_before(
    baseline: tuple[PowerOffEvent, ...] | None,
    power_offs: ReadResult[tuple[PowerOffEvent, ...]],
    why: HoldReason,
) -> None:
    assert watched(baseline=baseline, power_offs=power_offs) == why


@pytest.mark.attack("K2")
@pytest.mark.parametrize(
    ("baseline", "events"),
    [((), (LATER,)), ((EARLIER,), (LATER,)), ((EARLIER.but(count=3),), (EARLIER.but(count=4),))],
    ids=["the first", "another", "the same once more"],
)
def test_a_new_event_and_one_that_occurred_again_confirm_it(
    baseline: tuple[PowerOffEvent, ...], events: tuple[PowerOffEvent, ...]
) -> None:
    assert watched(baseline=baseline, power_offs=Present(events)) == SEEN


def test_a_power_off_is_requested_only_once() -> None:
    assert evaluate() == SeenOff(OFF, "12:00:00")


def test_the_silence_counts_from_the_remediator_s_own_observation() -> None:
    young = replace(SILENT_LEASE, unchanged_for=39.0)
    assert evaluate(lease=Present(young)) == holds.KubeletActive(39.0, 40.0)
    assert isinstance(evaluate(lease=Present(replace(young, unchanged_for=40.0))), SeenOff)


def test_a_new_leader_need_not_wait_again_for_what_was_recorded() -> None:
    unseen = Present(replace(SILENT_LEASE, unchanged_for=0.0))
    assert isinstance(evaluate(unchanged_for=0.0, lease=unseen, recorded=PROOF), SeenOff)
    assert evaluate(unchanged_for=0.0, lease=unseen) == holds.KubeletActive(0.0, 40.0)


@pytest.mark.parametrize(
    "host", [replace(OFF, last_updated="12:09"), replace(OFF, uid="host-2")], ids=["touched", "another"]
)
def test_what_was_recorded_falls_when_the_host_was_touched_since(host: HostFacts) -> None:
    assert evaluate(host, recorded=PROOF) == host_power.OffTimeUncertain("metal3/h1")


def test_a_recorded_word_of_a_person_is_no_sighting() -> None:
    assert evaluate(recorded=PROOF.but(host=None)) == host_power.OffTimeUncertain("metal3/h1")


def test_any_later_heartbeat_voids_recorded_evidence_regardless_of_its_age() -> None:
    long_ago = replace(RENEWED, unchanged_for=500.0)
    assert evaluate(lease=Present(long_ago), recorded=PROOF) == host_power.ActiveAfterPowerOff(
        "metal3/h1", "12:05:00"
    )


def test_evidence_names_the_boot_the_host_and_both_last_signs() -> None:
    seen = evaluate()
    assert isinstance(seen, SeenOff)
    assert evidence_of(seen, SILENT_NODE, ("provider ID",)) == PROOF


def test_a_kubelet_that_renews_after_the_power_off_runs_on_another_host() -> None:
    """It has been silent for ten minutes since, too."""
    spoke = replace(RENEWED, unchanged_for=600.0)
    assert evaluate(lease=Present(spoke)) == host_power.ActiveAfterPowerOff("metal3/h1", "12:05:00")
