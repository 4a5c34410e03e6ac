"""Evidence E5: whether a person's word may be believed now."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.manual_remediation import Confirmation, ManualRemediation
from nodemend.decide.facts import LeaseFacts, NodeFacts
from nodemend.decide.holds import (
    HoldReason,
    KubeletSpeaks,
    NodeReady,
    NoWord,
    WordDisproved,
    WordExpired,
    WordForOther,
    WordFromBefore,
    WordOutlived,
    WordUndated,
)

CLOCKS_DIFFER: Final = 10.0
"""Seconds, by which the clocks of two API servers may differ."""
GOOD_FOR: Final = 600.0
"""Seconds. After that the person's look at the machine is too old to rest a release on."""


@dataclass(frozen=True, slots=True)
class Believed:
    """The word stands, at this moment, for this boot of this node."""

    word: Confirmation


def weigh(
    word: Confirmation | None,
    age: float | None,
    node: NodeFacts,
    lease: LeaseFacts,
    remembers_for: float,
    *,
    disproved: bool = False,
) -> Believed | HoldReason:
    """Whether to believe that the boot which `node` reports has ended; never again once it was `disproved`.

    `age` is the larger of what the API server's clock and our own say; None when neither can tell. A word
    that is older than what the leader's process remembers may be out of a backup of etcd.
    """
    if word is None:
        return NoWord(node.name)
    if word.node_uid != node.uid:
        return WordForOther("node", word.node_uid, node.uid)
    if word.boot_id != node.boot_id:
        return WordForOther("boot", word.boot_id, node.boot_id)
    if disproved:
        return WordDisproved()
    if word.last_renew_time != lease.renew_time:
        return WordOutlived(word.last_renew_time, lease.renew_time)
    if not lease.silent:
        return KubeletSpeaks(lease.unchanged_for, lease.lasts)
    if node.ready is ConditionStatus.TRUE:
        return NodeReady(node.name)
    if age is None:
        return WordUndated()
    if age > GOOD_FOR:
        return WordExpired(age, GOOD_FOR)
    if age + CLOCKS_DIFFER > remembers_for:
        return WordFromBefore(age, remembers_for)
    return Believed(word)


def is_disproved(remediation: ManualRemediation) -> bool:
    """Whether its word was believed before, and its node heard after that."""
    disproved = remediation.status.disproved_generation
    return disproved > 0 and remediation.metadata.generation <= disproved
