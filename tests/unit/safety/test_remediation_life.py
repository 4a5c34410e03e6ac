"""A leader continues from an earlier leader's records, for every kind of remediation."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.remediation.manual import decide as manual_remediation
from nodemend.remediation.metal3 import decide as power_cycle_phases
from nodemend.remediation.metal3 import status as power_status
from nodemend.remediation.self_fencing import decide as self_remediation
from nodemend.remediation.self_fencing import status as self_status
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import CannotRead, EvidencePredatesLeader, Hold
from nodemend.safety.lifecycle import (
    OUR_TAINT,
    ClearRevocation,
    ForgetEvidence,
    RecordEpoch,
    RemoveTaint,
    RevokeRelease,
)
from tests.unit.remediation.metal3 import power_worlds
from tests.unit.remediation.self_fencing import fencing_worlds
from tests.unit.safety import worlds
from tests.unit.safety.worlds import SILENT_NODE

OURS = "rem-1.55"
TAINTED = replace(SILENT_NODE, taints=(OUR_TAINT,))


def _status(status: Any, changes: dict[str, Any]) -> Any:
    """The status with those of the changes that belong to it."""
    about = {name: changes.pop(name) for name in ("evidence", "tainted") if name in changes}
    return status.but(epoch=6, **about)


def manual(released: bool = False, **changes: Any) -> Any:
    status = _status(worlds.RELEASED if released else worlds.RELEASING, changes)
    return manual_remediation.decide(worlds.facts(worlds.remediation(status), **changes))


def power(released: bool = False, **changes: Any) -> Any:
    status = _status(power_worlds.RELEASED if released else power_worlds.RELEASING, changes)
    usual = {"host": Present(power_worlds.OFF)}
    return power_cycle_phases.decide(power_worlds.facts(status, **{**usual, **changes}))


def fencing(released: bool = False, **changes: Any) -> Any:
    status = _status(fencing_worlds.RELEASED if released else fencing_worlds.RELEASING, changes)
    usual = {"agent": Present(fencing_worlds.MARKED)}
    about = fencing_worlds.remediation(status)
    return self_remediation.decide(fencing_worlds.facts(about, **{**usual, **changes}))


KINDS = pytest.mark.parametrize("decide", [manual, power, fencing])


@KINDS
def test_a_leader_that_watched_since_before_the_last_term_takes_over_what_it_recorded(decide: Any) -> None:
    assert decide(remembers_from=5) == RecordEpoch()


@KINDS
@pytest.mark.attack("K1")
@pytest.mark.parametrize("remembers_from", [6, 7])
def test_one_that_did_not_undoes_the_evidence_before_anything_else(decide: Any, remembers_from: int) -> None:
    from_before = EvidencePredatesLeader(6, remembers_from)

    assert decide(remembers_from=remembers_from) == RevokeRelease(SILENT_NODE, OURS)
    assert decide(remembers_from=remembers_from, revocation=OURS) == ForgetEvidence(from_before)
    tainted = {"node": Present(TAINTED), "remembers_from": remembers_from}
    assert decide(**tainted) == RemoveTaint(TAINTED, mark=OURS)
    unreadable = {"node": Unreadable("500"), "remembers_from": remembers_from}
    assert decide(**unreadable) == Hold(CannotRead("the Node", "500"))


@KINDS
@pytest.mark.parametrize("changes", [{"released": True}, {"node": Absent()}])
def test_what_can_release_nothing_any_more_stays(decide: Any, changes: dict[str, Any]) -> None:
    assert decide(remembers_from=6, **changes) == RecordEpoch(forgets=True)


@KINDS
@pytest.mark.attack("K1")
def test_the_mark_that_voids_it_goes_before_there_is_other_evidence(decide: Any) -> None:
    forgotten = {"evidence": None, "tainted": False}

    assert decide(remembers_from=6, revocation=OURS, **forgotten) == ClearRevocation(SILENT_NODE)
    assert decide(remembers_from=6, **forgotten) == RecordEpoch(forgets=True)


@pytest.mark.attack("K1")
def test_what_was_gathered_towards_evidence_is_forgotten_with_the_stamp() -> None:
    reported: dict[str, Any] = {"epoch": 7, "generation": 1, "now": "2026-01-01T00:00:00Z"}
    counted = fencing_worlds.NOTED.but(proven=fencing_worlds.proven(70.0), proven_seconds=70)
    forgotten = self_status.after(counted.but(epoch=6), RecordEpoch(forgets=True), **reported)
    assert (forgotten.epoch, forgotten.marked, forgotten.proven, forgotten.proven_seconds) == (7, None, (), 0)

    off = power_status.after(power_worlds.NOTED, RecordEpoch(forgets=True), **reported)
    assert (off.seen_on_version, off.power_off_events, off.seen_off) == ("", None, None)

    silent = worlds.AWAITING.but(last_renew_time="12:00:00")
    asked = manual_remediation.after(silent, RecordEpoch(forgets=True), **reported)
    assert asked.last_renew_time == ""


def test_a_release_that_is_done_is_not_forgotten() -> None:
    reported: dict[str, Any] = {"epoch": 8, "generation": 1, "now": "2026-01-01T00:00:00Z"}
    kinds: list[tuple[Any, Any]] = [
        (self_status.after, fencing_worlds.RELEASED),
        (power_status.after, power_worlds.RELEASED),
    ]

    for after, status in kinds:
        assert (
            after(status, RecordEpoch(forgets=True), **reported).but(epoch=7, observed_generation=0) == status
        )
