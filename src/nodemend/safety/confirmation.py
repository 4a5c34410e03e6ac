"""Evidence E5: validation of an operator confirmation."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.manual_remediation import Confirmation, ManualRemediation
from nodemend.api.meta import ConditionStatus
from nodemend.safety.facts import LeaseFacts, NodeFacts
from nodemend.safety.holds import (
    ConfirmationDisproved,
    ConfirmationExpired,
    ConfirmationForOther,
    ConfirmationOutdated,
    ConfirmationPredatesLeader,
    ConfirmationTimeUnknown,
    HoldReason,
    KubeletActive,
    NodeReady,
    WaitingForConfirmation,
)

CLOCKS_DIFFER: Final = 10.0
"""Seconds by which the clocks of two API servers may differ."""
GOOD_FOR: Final = 600.0
"""Seconds. An older confirmation is too old to rest a release on: the machine may have changed since."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The confirmation is valid now, for this boot of this node."""

    confirmation: Confirmation


def evaluate_confirmation(
    confirmation: Confirmation | None,
    age: float | None,
    node: NodeFacts,
    lease: LeaseFacts,
    remembers_for: float,
    *,
    disproved: bool = False,
) -> Confirmed | HoldReason:
    """Return whether the confirmation proves that the boot which `node` reports has ended.

    Once it was `disproved` it is never valid again. `age` is the larger of what the API server's clock and
    this process's clock give; None if neither does. A confirmation that is older than what the leader's
    process remembers may come from a backup of etcd.
    """
    if confirmation is None:
        return WaitingForConfirmation(node.name)
    if confirmation.node_uid != node.uid:
        return ConfirmationForOther("node", confirmation.node_uid, node.uid)
    if confirmation.boot_id != node.boot_id:
        return ConfirmationForOther("boot", confirmation.boot_id, node.boot_id)
    if disproved:
        return ConfirmationDisproved()
    if confirmation.last_renew_time != lease.renew_time:
        return ConfirmationOutdated(confirmation.last_renew_time, lease.renew_time)
    if not lease.silent:
        return KubeletActive(lease.unchanged_for, lease.lasts)
    if node.ready is ConditionStatus.TRUE:
        return NodeReady(node.name)
    if age is None:
        return ConfirmationTimeUnknown()
    if age > GOOD_FOR:
        return ConfirmationExpired(age, GOOD_FOR)
    if age + CLOCKS_DIFFER > remembers_for:
        return ConfirmationPredatesLeader(age, remembers_for)
    return Confirmed(confirmation)


def is_disproved(remediation: ManualRemediation) -> bool:
    """Return whether its confirmation was accepted earlier and the node sent a heartbeat after that."""
    disproved = remediation.status.disproved_generation
    return disproved > 0 and remediation.metadata.generation <= disproved
