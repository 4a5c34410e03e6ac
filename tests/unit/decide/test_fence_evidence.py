"""Evidence E1: off is believed only of a host that went off under our hold, while nothing speaks against."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.decide import holds, host_holds, host_power
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.fence_evidence import SEEN_OFF_FOR, SeenOff, Watched, evidence_of, weigh_off
from nodemend.decide.holds import HoldReason
from nodemend.decide.host_power import HostFacts
from tests.unit.decide.power_worlds import HELD, LET_GO, OFF, PROOF, RENEWED
from tests.unit.decide.worlds import SILENT_LEASE, SILENT_NODE

AGAINST: list[tuple[str, HostFacts, HoldReason]] = [
    ("our hold is not on it", LET_GO, host_holds.HoldLost("metal3/h1")),
    ("it is on", HELD, host_holds.HostOn("metal3/h1")),
    (
        "it is paused",
        replace(OFF, paused=True),
        host_holds.HostDoubtful("metal3/h1", host_power.PausedHost()),
    ),
    (
        "it is detached",
        replace(OFF, detached=True),
        host_holds.HostDoubtful("metal3/h1", host_power.Detached()),
    ),
    (
        "it is in error",
        replace(OFF, error_type="power management error"),
        host_holds.HostDoubtful("metal3/h1", host_power.HostInError("power management error", "")),
    ),
    (
        "its firmware is at work",
        replace(OFF, operational_status="servicing"),
        host_holds.HostDoubtful("metal3/h1", host_power.Servicing()),
    ),
    ("it never said", replace(OFF, powered_on=None), host_holds.HostOn("metal3/h1")),
]


def weigh(
    host: HostFacts = OFF,
    *,
    unchanged_for: float = 60.0,
    dated: bool = True,
    node: NodeFacts = SILENT_NODE,
    lease: Seen[LeaseFacts] = Present(SILENT_LEASE),  # noqa: B008 - frozen
    recorded: Evidence | None = None,
) -> SeenOff | HoldReason:
    return weigh_off(Watched(host, unchanged_for, dated), node, lease, recorded)


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
def test_off_under_our_hold_and_silent_is_believed(recorded: Evidence | None) -> None:
    assert weigh(recorded=recorded) == SeenOff(OFF, "12:00:00")


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
@pytest.mark.parametrize(("host", "why"), [pytest.param(h, why, id=name) for name, h, why in AGAINST])
def test_a_host_is_not_believed_when(host: HostFacts, why: HoldReason, recorded: Evidence | None) -> None:
    assert weigh(host, recorded=recorded) == why


@pytest.mark.parametrize("recorded", [None, PROOF], ids=["first", "recorded"])
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"dated": False}, host_holds.OffUndated("metal3/h1")),
        ({"lease": Unreadable("500")}, holds.CannotRead("the kubelet's Lease", "500")),
        ({"lease": Absent()}, holds.NoKubeletLease("n1")),
        ({"lease": Present(RENEWED)}, holds.KubeletSpeaks(0.0, 40.0)),
        ({"node": replace(SILENT_NODE, ready=ConditionStatus.TRUE)}, holds.NodeReady("n1")),
    ],
    ids=["undated", "Lease unreadable", "no Lease", "it speaks", "it is Ready"],
)
def test_off_is_not_enough_when(changes: dict[str, Any], why: HoldReason, recorded: Evidence | None) -> None:
    assert weigh(recorded=recorded, **changes) == why


def test_a_first_look_is_repeated() -> None:
    assert SEEN_OFF_FOR == 2.0  # lastUpdated counts whole seconds
    assert weigh(unchanged_for=1.9) == host_holds.OffTooFresh("metal3/h1")
    assert isinstance(weigh(unchanged_for=2.0), SeenOff)


def test_silence_is_first_seen_by_ourselves() -> None:
    young = replace(SILENT_LEASE, unchanged_for=39.0)
    assert weigh(lease=Present(young)) == holds.KubeletSpeaks(39.0, 40.0)
    assert isinstance(weigh(lease=Present(replace(young, unchanged_for=40.0))), SeenOff)


def test_a_new_leader_need_not_wait_again_for_what_was_recorded() -> None:
    unseen = Present(replace(SILENT_LEASE, unchanged_for=0.0))
    assert isinstance(weigh(unchanged_for=0.0, lease=unseen, recorded=PROOF), SeenOff)
    assert isinstance(weigh(unchanged_for=0.0, lease=unseen), host_holds.OffTooFresh)


@pytest.mark.parametrize(
    "host", [replace(OFF, last_updated="12:09"), replace(OFF, uid="host-2")], ids=["touched", "another"]
)
def test_what_was_recorded_falls_when_the_host_was_touched_since(host: HostFacts) -> None:
    assert weigh(host, recorded=PROOF) == host_holds.OffUndated("metal3/h1")


def test_a_recorded_word_of_a_person_is_no_sighting() -> None:
    assert weigh(recorded=PROOF.but(host=None)) == host_holds.OffUndated("metal3/h1")


def test_what_was_recorded_falls_with_any_later_sign_of_life_however_old() -> None:
    long_ago = replace(RENEWED, unchanged_for=500.0)
    assert weigh(lease=Present(long_ago), recorded=PROOF) == holds.KubeletSpeaks(500.0, 40.0)


def test_evidence_names_the_boot_the_host_and_both_last_signs() -> None:
    seen = weigh()
    assert isinstance(seen, SeenOff)
    assert evidence_of(seen, SILENT_NODE) == PROOF


@pytest.mark.xfail(reason="flaw 6: silence is asked for now, not since the host was seen off")
def test_a_kubelet_that_spoke_after_its_host_was_off_runs_on_another() -> None:
    """Seen off for five minutes; the Lease was renewed a minute ago."""
    assert not isinstance(weigh(unchanged_for=300.0), SeenOff)


@pytest.mark.xfail(reason="flaw 12: two empty dates are taken for the same sighting")
def test_a_host_that_dates_nothing_proves_nothing() -> None:
    undated = replace(OFF, last_updated="")
    recorded = PROOF.but(host=PROOF.host.but(last_updated="") if PROOF.host else None)
    assert not isinstance(weigh(undated, recorded=recorded), SeenOff)
