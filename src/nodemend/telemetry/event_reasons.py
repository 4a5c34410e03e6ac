"""Every reason of a Kubernetes event that Nodemend records, with its meaning.

Events regard the Node, so that `kubectl describe node` shows them, and relate to the remediation if there is
one.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api.upstream_types import EventType


@dataclass(frozen=True, slots=True)
class EventReason:
    """`word` is what happened, `action` what Nodemend was doing; each is one CamelCase word."""

    name: str
    type: EventType
    action: str
    meaning: str


NODE_SUSPECT: Final = EventReason(
    "NodeSuspect", EventType.NORMAL, "Judge", "A threshold is met, but not yet for long enough."
)
NODE_UNHEALTHY: Final = EventReason(
    "NodeUnhealthy", EventType.WARNING, "Judge", "A threshold has been met for its whole period."
)
NODE_HEALTHY: Final = EventReason(
    "NodeHealthy", EventType.NORMAL, "Judge", "No threshold is met any more, and no remediation is open."
)
MACHINE_UNHEALTHY: Final = EventReason(
    "MachineUnhealthy", EventType.WARNING, "Judge", "A Machine meets what its check calls unhealthy."
)
MACHINE_HEALTHY: Final = EventReason(
    "MachineHealthy", EventType.NORMAL, "Judge", "Nothing that its check watches is wrong with the Machine."
)
REMEDIATION_ORDERED: Final = EventReason(
    "RemediationOrdered",
    EventType.NORMAL,
    "Order",
    "A person ordered the remediation of the node now (`kubectl mend run` or `override`).",
)
OVERRIDE_USED: Final = EventReason(
    "OverrideUsed",
    EventType.WARNING,
    "Order",
    "A remediation began past the limits of the guard; the note says who let it, past what, and why.",
)
ORDER_EXPIRED: Final = EventReason(
    "OrderLapsed",
    EventType.WARNING,
    "Order",
    "A person's order ended unused; the note says why.",
)
REMEDIATION_STARTED: Final = EventReason(
    "RemediationStarted", EventType.NORMAL, "Request", "A health check asked for a remediation of the node."
)
REMEDIATION_WITHDRAWN: Final = EventReason(
    "RemediationWithdrawn", EventType.NORMAL, "Withdraw", "The health check needs its remediation no longer."
)
ASKING_SETTLED: Final = EventReason(
    "AskingSettled",
    EventType.NORMAL,
    "Close",
    "Regards a Machine: host.metal3.io/external-remediation was taken off it, as its node is well.",
)
ANNOTATION_IGNORED: Final = EventReason(
    "AskingUnheeded",
    EventType.WARNING,
    "Hold",
    "Regards a Machine: host.metal3.io/external-remediation asks in vain; the note says why.",
)
REMEDIATION_ESCALATED: Final = EventReason(
    "RemediationEscalated",
    EventType.WARNING,
    "Escalate",
    "A remedy did not heal the node in its time; it is withdrawn for the next one.",
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
    "Regards the health check: remediations have been held under it for long. Told again while that lasts,"
    " after 5, 15, 35 and 75 minutes and then every 45; the note has the numbers.",
)
CHECK_OVERLAPPED: Final = EventReason(
    "CheckOverlapped",
    EventType.WARNING,
    "Judge",
    "Regards the health check: it selects targets that another check, the first by name, watches. The note"
    " says how many, whose they are, and how many are left to it.",
)
CHECK_STALLED: Final = EventReason(
    "CheckStalled",
    EventType.WARNING,
    "Judge",
    "Regards the health check: it could not act whatever failed. The note says why, as its condition.",
)
REMEDIATION_UNSERVED: Final = EventReason(
    "RemediationUnserved",
    EventType.WARNING,
    "Judge",
    "Regards the health check: it asked for a remediation that nobody has taken up for 2 minutes.",
)
RECOVERY_STARTED: Final = EventReason(
    "RecoveryStarted",
    EventType.NORMAL,
    "Recover",
    "The node is well again, and what its check names as recovery has begun.",
)
RECOVERY_SUCCEEDED: Final = EventReason(
    "RecoverySucceeded", EventType.NORMAL, "Recover", "The recovery says that it has succeeded."
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
    "The recovery is gone before it succeeded: the node failed again, or somebody deleted it.",
)
HUMAN_CONFIRMED_OFF: Final = EventReason(
    "HumanConfirmedOff", EventType.WARNING, "Fence", "A person vouched that the node is down (evidence E5)."
)
POWER_OFF_REQUESTED: Final = EventReason(
    "PowerOffRequested", EventType.WARNING, "Fence", "Our hold was placed on the node's host: it goes off."
)
POWER_OFF_CONFIRMED: Final = EventReason(
    "PowerOffConfirmed",
    EventType.WARNING,
    "Fence",
    "The host was seen to go off under our hold, and the node is silent (evidence E1).",
)
POWER_ON_REQUESTED: Final = EventReason(
    "PowerOnRequested", EventType.NORMAL, "Recover", "Our hold was taken off the node's host."
)
POWER_NOT_BACK: Final = EventReason(
    "PowerNotBack",
    EventType.WARNING,
    "Close",
    "The remediation has ended, and the host that it had switched off has not been seen on again.",
)
NODE_RESTORED: Final = EventReason(
    "NodeRestored",
    EventType.NORMAL,
    "Recover",
    "A Node was deleted to release its workloads, and is there again; it got back what the note names.",
)
NODE_NOT_RESTORED: Final = EventReason(
    "NodeNotRestored",
    EventType.WARNING,
    "Recover",
    "A Node was deleted to release its workloads, and what the note names was not given back to another.",
)
DELEGATE_CREATED: Final = EventReason(
    "StandInMade",
    EventType.NORMAL,
    "Request",
    "Regards one of CAPM3's remediations: one of ours, of the same name, carries it out.",
)
DELEGATE_DELETED: Final = EventReason(
    "StandInWithdrawn",
    EventType.NORMAL,
    "Withdraw",
    "Regards one of CAPM3's remediations: ours, which carried it out, is taken back. The note says why.",
)
POWER_OFF_ORPHANED: Final = EventReason(
    "HoldLeftBehind",
    EventType.WARNING,
    "Recover",
    "Regards the host: it is held off for a remediation that is gone. The note says what is done about it.",
)
POWER_CYCLE_FAILED: Final = EventReason(
    "PowerCycleFailed",
    EventType.WARNING,
    "Escalate",
    "One attempt has failed; the note says at what. It is tried again after a pause.",
)
REMEDIATION_FAILED: Final = EventReason(
    "RemediationFailed",
    EventType.WARNING,
    "Escalate",
    "All attempts have failed; the note says what a person should do.",
)
HOST_MARKED_UNHEALTHY: Final = EventReason(
    "HostMarkedUnhealthy", EventType.WARNING, "Escalate", "The host is not picked for another machine."
)
MACHINE_REPLACEMENT: Final = EventReason(
    "MachineHandedOver",
    EventType.WARNING,
    "Escalate",
    "Power cycles did not help; the machine's owner was asked to replace it. Its host stays off.",
)
SELF_FENCING_ASKED: Final = EventReason(
    "SelfFencingAsked", EventType.WARNING, "Fence", "The node's Lease with us asks it to reset itself."
)
BOOT_PROVEN_OVER: Final = EventReason(
    "BootProvenOver",
    EventType.NORMAL,
    "Fence",
    "Enough time has passed under the marker: the watchdog has reset the node, wherever it is.",
)
NEW_BOOT_SEEN: Final = EventReason(
    "NewBootSeen", EventType.NORMAL, "Fence", "The node reports a new boot: the one that was marked is over."
)
MARKER_TAKEN_OFF: Final = EventReason(
    "MarkerTakenOff", EventType.NORMAL, "Recover", "Nothing asks for the node's end any more."
)
EVIDENCE_REVOKED: Final = EventReason(
    "EvidenceVoided",
    EventType.WARNING,
    "Fence",
    "Recorded evidence no longer stands; nothing is released on it.",
)
RELEASE_STARTED: Final = EventReason(
    "ReleaseStarted", EventType.WARNING, "Release", "The out-of-service taint was put on the node."
)
WORKLOADS_RELEASED: Final = EventReason(
    "WorkloadsReleased", EventType.NORMAL, "Release", "The node's pods and volumes are gone from it."
)
OUT_OF_SERVICE_TAINT_REMOVED: Final = EventReason(
    "OutOfServiceTaintRemoved",
    EventType.NORMAL,
    "Recover",
    "The out-of-service taint was taken off the node.",
)
NODE_CONTRADICTED_EVIDENCE: Final = EventReason(
    "NodeContradictedEvidence",
    EventType.WARNING,
    "Recover",
    "After the release had begun the boot that was vouched to be down gave a sign of life, or nobody could"
    " say any more that it was down: its workloads may run twice.",
)
REMEDIATION_SUCCEEDED: Final = EventReason(
    "RemediationSucceeded", EventType.NORMAL, "Close", "The node is back on a new boot, or its Node is gone."
)
REMEDIATION_STOPPED: Final = EventReason(
    "RemediationStopped",
    EventType.NORMAL,
    "Close",
    "The remediation ended at its safe point before it was done.",
)
POLICY_NOT_PROVEN: Final = EventReason(
    "AdmissionPolicyNotProven",
    EventType.WARNING,
    "Hold",
    "Regards a ValidatingAdmissionPolicy of ours: it is not in force, or nobody can tell; the note says why."
    " Until it is proven nothing irreversible begins, and the signer signs nothing.",
)

EVENT_REASONS: Final = (
    NODE_SUSPECT,
    NODE_UNHEALTHY,
    NODE_HEALTHY,
    MACHINE_UNHEALTHY,
    MACHINE_HEALTHY,
    REMEDIATION_ORDERED,
    OVERRIDE_USED,
    ORDER_EXPIRED,
    REMEDIATION_STARTED,
    REMEDIATION_WITHDRAWN,
    ASKING_SETTLED,
    ANNOTATION_IGNORED,
    REMEDIATION_ESCALATED,
    REMEDIATION_HELD,
    STILL_HELD,
    CHECK_OVERLAPPED,
    CHECK_STALLED,
    REMEDIATION_UNSERVED,
    RECOVERY_STARTED,
    RECOVERY_SUCCEEDED,
    RECOVERY_FAILED,
    RECOVERY_WITHDRAWN,
    HUMAN_CONFIRMED_OFF,
    POWER_OFF_REQUESTED,
    POWER_OFF_CONFIRMED,
    POWER_ON_REQUESTED,
    POWER_NOT_BACK,
    NODE_RESTORED,
    NODE_NOT_RESTORED,
    DELEGATE_CREATED,
    DELEGATE_DELETED,
    POWER_OFF_ORPHANED,
    POWER_CYCLE_FAILED,
    REMEDIATION_FAILED,
    HOST_MARKED_UNHEALTHY,
    MACHINE_REPLACEMENT,
    SELF_FENCING_ASKED,
    BOOT_PROVEN_OVER,
    NEW_BOOT_SEEN,
    MARKER_TAKEN_OFF,
    EVIDENCE_REVOKED,
    RELEASE_STARTED,
    WORKLOADS_RELEASED,
    OUT_OF_SERVICE_TAINT_REMOVED,
    NODE_CONTRADICTED_EVIDENCE,
    REMEDIATION_SUCCEEDED,
    REMEDIATION_STOPPED,
    POLICY_NOT_PROVEN,
)
