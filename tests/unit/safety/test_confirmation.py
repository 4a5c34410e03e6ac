"""Conditions under which an operator's confirmation is accepted."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.safety import holds
from nodemend.safety.confirmation import Confirmed, evaluate_confirmation
from nodemend.safety.facts import LeaseFacts, NodeFacts
from nodemend.safety.holds import HoldReason
from tests.unit.safety.worlds import CONFIRMATION, SILENT_LEASE, SILENT_NODE

DAY = 86_400.0


def test_a_confirmation_for_this_silent_boot_is_accepted() -> None:
    assert evaluate_confirmation(CONFIRMATION, 5.0, SILENT_NODE, SILENT_LEASE, DAY) == Confirmed(CONFIRMATION)


def test_without_a_confirmation_nothing_is_accepted() -> None:
    assert evaluate_confirmation(None, None, SILENT_NODE, SILENT_LEASE, DAY) == holds.WaitingForConfirmation(
        "n1"
    )


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (599.9, Confirmed(CONFIRMATION)),
        (600.0, Confirmed(CONFIRMATION)),
        (600.1, holds.ConfirmationExpired(600.1, 600.0)),
        (None, holds.ConfirmationTimeUnknown()),
    ],
)
def test_it_is_good_for_ten_minutes(age: float | None, expected: Confirmed | HoldReason) -> None:
    assert evaluate_confirmation(CONFIRMATION, age, SILENT_NODE, SILENT_LEASE, DAY) == expected


@pytest.mark.parametrize(
    ("node", "lease", "expected"),
    [
        (
            replace(SILENT_NODE, uid="uid-2"),
            SILENT_LEASE,
            holds.ConfirmationForOther("node", "uid-1", "uid-2"),
        ),
        (
            replace(SILENT_NODE, boot_id="b2"),
            SILENT_LEASE,
            holds.ConfirmationForOther("boot", "boot-1", "b2"),
        ),
        (SILENT_NODE, replace(SILENT_LEASE, renew_time="x"), holds.ConfirmationOutdated("12:00:00", "x")),
        (SILENT_NODE, replace(SILENT_LEASE, unchanged_for=39.9), holds.KubeletActive(39.9, 40.0)),
        (replace(SILENT_NODE, ready=ConditionStatus.TRUE), SILENT_LEASE, holds.NodeReady("n1")),
    ],
)
def test_a_confirmation_is_rejected_if_the_facts_contradict_it(
    node: NodeFacts, lease: LeaseFacts, expected: HoldReason
) -> None:
    assert evaluate_confirmation(CONFIRMATION, 5.0, node, lease, DAY) == expected


@pytest.mark.parametrize("ready", [ConditionStatus.FALSE, ConditionStatus.UNKNOWN])
def test_any_node_that_is_not_ready_may_be_confirmed(ready: ConditionStatus) -> None:
    assert evaluate_confirmation(
        CONFIRMATION, 5.0, replace(SILENT_NODE, ready=ready), SILENT_LEASE, DAY
    ) == Confirmed(CONFIRMATION)


@pytest.mark.parametrize(("unchanged_for", "silent"), [(39.9, False), (40.0, True), (40.1, True)])
def test_silence_is_a_whole_lease_without_a_sign(unchanged_for: float, silent: bool) -> None:
    assert LeaseFacts("12:00:00", 40.0, unchanged_for).silent is silent


@pytest.mark.attack("K1")
@pytest.mark.parametrize("remembers_for", [0.0, 5.0, 14.9])
def test_a_confirmation_older_than_the_leader_s_watch_may_come_from_a_backup(remembers_for: float) -> None:
    accepted = evaluate_confirmation(CONFIRMATION, 5.0, SILENT_NODE, SILENT_LEASE, remembers_for)

    assert accepted == holds.ConfirmationPredatesLeader(5.0, remembers_for)
