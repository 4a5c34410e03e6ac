"""Every reason of a Kubernetes event that Nodemend records, with its meaning.

Events regard the Node, so that `kubectl describe node` shows them, and relate to the remediation if there is
one.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api.upstream_types import EventType


@dataclass(frozen=True, slots=True)
class EventReason:
    """`name` is the event's reason, `action` what Nodemend was doing; each is one CamelCase identifier."""

    name: str
    type: EventType
    action: str
    meaning: str


NODE_SUSPECT: Final = EventReason(
    "NodeSuspect", EventType.NORMAL, "Evaluate", "A threshold is met, but not yet for long enough."
)
NODE_UNHEALTHY: Final = EventReason(
    "NodeUnhealthy", EventType.WARNING, "Evaluate", "A threshold has been met for its whole period."
)
NODE_HEALTHY: Final = EventReason(
    "NodeHealthy", EventType.NORMAL, "Evaluate", "No threshold is met any more, and no remediation is open."
)
MACHINE_UNHEALTHY: Final = EventReason(
    "MachineUnhealthy", EventType.WARNING, "Evaluate", "A Machine meets an unhealthy condition of its check."
)
MACHINE_HEALTHY: Final = EventReason(
    "MachineHealthy",
    EventType.NORMAL,
    "Evaluate",
    "The Machine meets no unhealthy condition of its check.",
)
REMEDIATION_ORDERED: Final = EventReason(
    "RemediationOrdered",
    EventType.NORMAL,
    "Order",
    "A user ordered the remediation of the node now (`kubectl mend run` or `override`).",
)
OVERRIDE_USED: Final = EventReason(
    "OverrideUsed",
    EventType.WARNING,
    "Order",
    "A remediation started past the limits of the guard; the note names the user, the limits and the reason.",
)
ORDER_EXPIRED: Final = EventReason(
    "OrderExpired",
    EventType.WARNING,
    "Order",
    "A user's order ended unused; the note says why.",
)
REMEDIATION_STARTED: Final = EventReason(
    "RemediationStarted", EventType.NORMAL, "Request", "A health check created a remediation of the node."
)
REMEDIATION_WITHDRAWN: Final = EventReason(
    "RemediationWithdrawn",
    EventType.NORMAL,
    "Withdraw",
    "The health check no longer needs its remediation, and deleted it.",
)
REMEDIATION_ANNOTATION_CLEARED: Final = EventReason(
    "RemediationAnnotationCleared",
    EventType.NORMAL,
    "Close",
    "Regards a Machine: Nodemend removed host.metal3.io/external-remediation, because its node is healthy.",
)
REMEDIATION_ANNOTATION_IGNORED: Final = EventReason(
    "RemediationAnnotationIgnored",
    EventType.WARNING,
    "Hold",
    "Regards a Machine: Nodemend ignores host.metal3.io/external-remediation on it; the note says why.",
)
REMEDIATION_ESCALATED: Final = EventReason(
    "RemediationEscalated",
    EventType.WARNING,
    "Escalate",
    "A remedy did not heal the node in its time; Nodemend ends it and starts the next one.",
)
REMEDIATION_HELD: Final = EventReason(
    "RemediationHeld",
    EventType.WARNING,
    "Hold",
    "Refused for now; the note says why and what would change it.",
)
STILL_HELD: Final = EventReason(
    "StillHeld",
    EventType.WARNING,
    "Hold",
    "Regards the health check: its remediations have been held for long. Repeated while that lasts,"
    " after 5, 15, 35 and 75 minutes and then every 45; the note has the numbers.",
)
CHECK_OVERLAPPED: Final = EventReason(
    "CheckOverlapped",
    EventType.WARNING,
    "Evaluate",
    "Regards the health check: it selects targets that another check, the first by name, watches. The note"
    " has the number of these, their check, and the number of targets that are left to this check.",
)
CHECK_STALLED: Final = EventReason(
    "CheckStalled",
    EventType.WARNING,
    "Evaluate",
    "Regards the health check: it could not act on any failure. The note has the reason, as its condition"
    " Stalled does.",
)
REMEDIATION_UNSERVED: Final = EventReason(
    "RemediationUnserved",
    EventType.WARNING,
    "Evaluate",
    "Regards the health check: no controller has started its remediation for 2 minutes.",
)
RECOVERY_STARTED: Final = EventReason(
    "RecoveryStarted",
    EventType.NORMAL,
    "Recover",
    "The node is healthy again, and the recovery that its check names has started.",
)
RECOVERY_SUCCEEDED: Final = EventReason(
    "RecoverySucceeded", EventType.NORMAL, "Recover", "The recovery reports that it has succeeded."
)
RECOVERY_FAILED: Final = EventReason(
    "RecoveryFailed",
    EventType.WARNING,
    "Recover",
    "The recovery has failed or is overdue; the note says what to do. The node stays in service.",
)
RECOVERY_WITHDRAWN: Final = EventReason(
    "RecoveryWithdrawn",
    EventType.NORMAL,
    "Recover",
    "The recovery was deleted before it succeeded: the node failed again, or a user deleted it.",
)
OPERATOR_CONFIRMED_OFF: Final = EventReason(
    "OperatorConfirmedOff",
    EventType.WARNING,
    "Fence",
    "An operator confirmed that the node is down (evidence E5).",
)
POWER_OFF_REQUESTED: Final = EventReason(
    "PowerOffRequested",
    EventType.WARNING,
    "Fence",
    "Nodemend placed its power-off request on the node's host: metal3 powers it off.",
)
POWER_OFF_CONFIRMED: Final = EventReason(
    "PowerOffConfirmed",
    EventType.WARNING,
    "Fence",
    "The host went off after Nodemend's power-off request, and the node is silent (evidence E1).",
)
POWER_ON_REQUESTED: Final = EventReason(
    "PowerOnRequested",
    EventType.NORMAL,
    "Recover",
    "Nodemend cleared its power-off request on the node's host.",
)
POWER_NOT_RESTORED: Final = EventReason(
    "PowerNotRestored",
    EventType.WARNING,
    "Close",
    "The remediation has ended, and the host that it powered off is not powered on again.",
)
NODE_RESTORED: Final = EventReason(
    "NodeRestored",
    EventType.NORMAL,
    "Recover",
    "A Node was deleted to release its workloads, and exists again; Nodemend restored on it what the note"
    " names.",
)
NODE_NOT_RESTORED: Final = EventReason(
    "NodeNotRestored",
    EventType.WARNING,
    "Recover",
    "A Node was deleted to release its workloads, and Nodemend could not restore what the note names.",
)
DELEGATE_CREATED: Final = EventReason(
    "DelegateCreated",
    EventType.NORMAL,
    "Request",
    "Regards one of CAPM3's remediations: a Metal3Remediation of nodemend.io with the same name is its"
    " delegate, and carries it out.",
)
DELEGATE_DELETED: Final = EventReason(
    "DelegateDeleted",
    EventType.NORMAL,
    "Withdraw",
    "Regards one of CAPM3's remediations: Nodemend deletes its delegate. The note says why.",
)
POWER_OFF_REQUEST_LEFT_BEHIND: Final = EventReason(
    "PowerOffRequestLeftBehind",
    EventType.WARNING,
    "Recover",
    "Regards the host: it has a power-off request for a remediation that no longer exists. The note says"
    " whether Nodemend clears it.",
)
POWER_CYCLE_FAILED: Final = EventReason(
    "PowerCycleFailed",
    EventType.WARNING,
    "Escalate",
    "One attempt has failed; the note says why. Nodemend tries again after a pause.",
)
REMEDIATION_FAILED: Final = EventReason(
    "RemediationFailed",
    EventType.WARNING,
    "Escalate",
    "All attempts have failed; the note says what an operator should do.",
)
HOST_MARKED_UNHEALTHY: Final = EventReason(
    "HostMarkedUnhealthy",
    EventType.WARNING,
    "Escalate",
    "Nodemend marked the host, so that metal3 does not pick it for another machine.",
)
MACHINE_REPLACEMENT_REQUESTED: Final = EventReason(
    "MachineReplacementRequested",
    EventType.WARNING,
    "Escalate",
    "Power cycles did not help; Nodemend requested a replacement from the Machine's owner. The host stays"
    " off.",
)
SELF_FENCING_REQUESTED: Final = EventReason(
    "SelfFencingRequested",
    EventType.WARNING,
    "Fence",
    "Nodemend set the marker on the agent's Lease: the node must reset itself.",
)
BOOT_END_PROVEN: Final = EventReason(
    "BootEndProven",
    EventType.NORMAL,
    "Fence",
    "Enough time has passed under the marker: the watchdog has reset the node, even if it is isolated.",
)
NEW_BOOT_OBSERVED: Final = EventReason(
    "NewBootObserved",
    EventType.NORMAL,
    "Fence",
    "The node reports a new boot: the one that was marked is over.",
)
MARKER_REMOVED: Final = EventReason(
    "MarkerRemoved", EventType.NORMAL, "Recover", "Nodemend removed the marker from the agent's Lease."
)
EVIDENCE_REVOKED: Final = EventReason(
    "EvidenceRevoked",
    EventType.WARNING,
    "Fence",
    "Recorded evidence is no longer valid; nothing is released on it.",
)
RELEASE_STARTED: Final = EventReason(
    "ReleaseStarted",
    EventType.WARNING,
    "Release",
    "Nodemend set the out-of-service taint on the node, or deleted the Node.",
)
WORKLOADS_RELEASED: Final = EventReason(
    "WorkloadsReleased",
    EventType.NORMAL,
    "Release",
    "All pods and volumes that must leave the node have left.",
)
OUT_OF_SERVICE_TAINT_REMOVED: Final = EventReason(
    "OutOfServiceTaintRemoved",
    EventType.NORMAL,
    "Recover",
    "Nodemend removed the out-of-service taint from the node.",
)
NODE_CONTRADICTED_EVIDENCE: Final = EventReason(
    "NodeContradictedEvidence",
    EventType.WARNING,
    "Recover",
    "After the release had started, the boot that was proven to be down was alive, or its evidence was no"
    " longer valid: its workloads may run twice.",
)
REMEDIATION_SUCCEEDED: Final = EventReason(
    "RemediationSucceeded", EventType.NORMAL, "Close", "The node is back on a new boot, or its Node is gone."
)
REMEDIATION_STOPPED: Final = EventReason(
    "RemediationStopped",
    EventType.NORMAL,
    "Close",
    "The remediation was deleted, and ended before it succeeded.",
)
POLICY_NOT_PROVEN: Final = EventReason(
    "AdmissionPolicyNotProven",
    EventType.WARNING,
    "Hold",
    "Regards one of Nodemend's ValidatingAdmissionPolicies: it is not in force, or that is unknown; the note"
    " says why. Until it is proven nothing irreversible starts, and the signer signs nothing.",
)

EVENT_REASONS: Final = tuple(value for value in list(globals().values()) if isinstance(value, EventReason))
"""In the order of their definitions."""
