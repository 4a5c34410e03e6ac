"""When a person's word is believed."""

from dataclasses import replace

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import holds
from nodemend.decide.facts import LeaseFacts, NodeFacts
from nodemend.decide.holds import HoldReason
from nodemend.decide.human_word import Believed, weigh
from tests.unit.decide.worlds import SILENT_LEASE, SILENT_NODE, WORD

DAY = 86_400.0


def test_a_word_for_this_silent_boot_is_believed() -> None:
    assert weigh(WORD, 5.0, SILENT_NODE, SILENT_LEASE, DAY) == Believed(WORD)


def test_without_a_word_nothing_is() -> None:
    assert weigh(None, None, SILENT_NODE, SILENT_LEASE, DAY) == holds.NoWord("n1")


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (599.9, Believed(WORD)),
        (600.0, Believed(WORD)),
        (600.1, holds.WordExpired(600.1, 600.0)),
        (None, holds.WordUndated()),
    ],
)
def test_it_is_good_for_ten_minutes(age: float | None, expected: Believed | HoldReason) -> None:
    assert weigh(WORD, age, SILENT_NODE, SILENT_LEASE, DAY) == expected


@pytest.mark.parametrize(
    ("node", "lease", "expected"),
    [
        (replace(SILENT_NODE, uid="uid-2"), SILENT_LEASE, holds.WordForOther("node", "uid-1", "uid-2")),
        (replace(SILENT_NODE, boot_id="b2"), SILENT_LEASE, holds.WordForOther("boot", "boot-1", "b2")),
        (SILENT_NODE, replace(SILENT_LEASE, renew_time="x"), holds.WordOutlived("12:00:00", "x")),
        (SILENT_NODE, replace(SILENT_LEASE, unchanged_for=39.9), holds.KubeletSpeaks(39.9, 40.0)),
        (replace(SILENT_NODE, ready=ConditionStatus.TRUE), SILENT_LEASE, holds.NodeReady("n1")),
    ],
)
def test_it_is_not_believed_against_the_facts(
    node: NodeFacts, lease: LeaseFacts, expected: HoldReason
) -> None:
    assert weigh(WORD, 5.0, node, lease, DAY) == expected


@pytest.mark.parametrize("ready", [ConditionStatus.FALSE, ConditionStatus.UNKNOWN])
def test_any_node_that_is_not_ready_may_be_vouched_for(ready: ConditionStatus) -> None:
    assert weigh(WORD, 5.0, replace(SILENT_NODE, ready=ready), SILENT_LEASE, DAY) == Believed(WORD)


@pytest.mark.parametrize(("unchanged_for", "silent"), [(39.9, False), (40.0, True), (40.1, True)])
def test_silence_is_a_whole_lease_without_a_sign(unchanged_for: float, silent: bool) -> None:
    assert LeaseFacts("12:00:00", 40.0, unchanged_for).silent is silent


@pytest.mark.attack("K1")
@pytest.mark.parametrize("remembers_for", [0.0, 5.0, 14.9])
def test_a_word_from_before_the_leader_watched_may_be_out_of_a_backup(remembers_for: float) -> None:
    believed = weigh(WORD, 5.0, SILENT_NODE, SILENT_LEASE, remembers_for)

    assert believed == holds.WordFromBefore(5.0, remembers_for)
