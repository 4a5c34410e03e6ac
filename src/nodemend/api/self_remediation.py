"""SelfRemediation: a node ends itself by its watchdog, and everybody else knows when it has.

Then its workloads are released, by a new boot that it reports (E2) or by time (E4).
"""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from nodemend.api import self_remediation_rules
from nodemend.api.agent_lease import MOST_LISTS, MOST_PROPOSED
from nodemend.api.conditions import Condition
from nodemend.api.evidence import BOOT_ID, NODE_UID, Evidence, HardwareId
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Rule, Wire, about


class Phase(StrEnum):
    """For people, but for one thing: from FENCING on a marker may be on the Lease."""

    PENDING = "Pending"
    FENCING = "Fencing"
    RELEASING = "Releasing"
    RECOVERING = "Recovering"
    CONTRADICTED = "Contradicted"
    """Its workloads are released, and the boot that was vouched to be over runs: they may run twice."""
    SUCCEEDED = "Succeeded"


class Weakness(StrEnum):
    """What makes a time proof weaker, and is not believed unless an admin accepts it by name."""

    NO_BOOT_GATE = "NoBootGate"
    """A new boot may run the node's pods before anybody knows of it."""
    SOFTWARE_WATCHDOG = "SoftwareWatchdog"
    """It hangs with the kernel that it should reset."""
    UNTESTED_WATCHDOG = "UntestedWatchdog"
    """It was never seen to reset its machine: its chip may be wired to nothing, or told to do nothing."""


class SelfRemediationSpec(Wire):
    safe_time_seconds: Annotated[
        int,
        about(
            "How long to wait for a proof by time. 0 is what the node's own times prove; less than that is "
            "refused, not raised.",
            ge=0,
            le=86_400,
        ),
    ] = 0
    accept: Annotated[
        tuple[Weakness, ...],
        about(
            "Weaknesses of nodes that you accept. NoBootGate: a node that comes back may run its pods before "
            "anybody knows of it. SoftwareWatchdog: a kernel that hangs may never be reset. "
            "UntestedWatchdog: a device that nobody has seen reset its machine may never do so.",
            max_length=3,
        ),
    ] = ()


class MarkedLease(Wire):
    """The Lease on which our marker was seen. Another version, by the same boot, begins the proof anew."""

    uid: Annotated[str, about("The very Lease.", min_length=1, max_length=63, example=NODE_UID)]
    version: Annotated[str, about("Its version with the marker on it.", min_length=1, max_length=64)]


class ProvenPeer(Wire):
    """For how long one peer cannot have kept the node alive."""

    name: Annotated[str, about("The peer's node.", min_length=1, max_length=253)]
    node_uid: Annotated[str, about("The very node.", min_length=1, max_length=63, example=NODE_UID)] = (
        msgspec.field(name="nodeUID")
    )
    boot_id: Annotated[str, about("Its boot.", min_length=1, max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID")
    )
    acknowledged: Annotated[int, about("Its last acknowledged renewal when this began.", ge=0)]
    milliseconds: Annotated[int, about("Since then, without a lapse.", ge=0)] = 0


class SelfRemediationStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    epoch: Annotated[int, about("The leadership that wrote this. A lower one is refused.", ge=0)] = 0
    phase: Annotated[Phase, about("Where it stands, for people.")] = Phase.PENDING
    message: Annotated[str, about("What it waits for, and what would change that.", max_length=1024)] = ""
    node_name: Annotated[str, about("The node under remediation.", max_length=253)] = ""
    node_uid: Annotated[str, about("The very node.", max_length=63, example=NODE_UID)] = msgspec.field(
        name="nodeUID", default=""
    )
    boot_id: Annotated[str, about("The boot that must end.", max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID", default="")
    )
    hardware_id: HardwareId = msgspec.field(name="hardwareID", default="")
    marked: Annotated[MarkedLease | None, about("Where our marker was seen.")] = None
    proven: Annotated[
        tuple[ProvenPeer, ...],
        about(
            "What was counted so far, for each peer of the node.",
            max_length=MOST_LISTS * MOST_PROPOSED,
            keys=("name",),
        ),
    ] = ()
    proven_seconds: Annotated[int, about("For so long enough of its peers are covered.", ge=0)] = 0
    safe_time_seconds: Annotated[
        int, about("So many prove that the boot is over; 0 while that is not known.", ge=0)
    ] = 0
    contradicted: Annotated[
        bool, about("This boot spoke after it was proven to be over: time proves nothing for it any more.")
    ] = False
    evidence: Annotated[Evidence | None, about("What the release rests on, recorded before it.")] = None
    tainted: Annotated[bool, about("Our out-of-service taint was asked for and may be on the node.")] = False
    released: Annotated[bool, about("Its pods and volumes are gone from the node.")] = False
    pods_left: Annotated[int, about("Pods still bound to the node.", ge=0)] = 0
    attachments_left: Annotated[int, about("Volumes still attached to the node.", ge=0)] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        about(
            "Processing, Fenced, WorkloadReleased, Succeeded, EvidenceContradicted.",
            max_length=16,
            keys=("type",),
        ),
    ] = ()


class SelfRemediation(Wire):
    """One attempt to heal one node by its own watchdog. Named like the node, or like its Machine."""

    RULES: ClassVar = self_remediation_rules.RULES

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[
        SelfRemediationSpec,
        about(
            "What is to be done.",
            rules=(
                Rule(
                    "self == oldSelf",
                    "cannot be changed: it may be under way; delete this, and change the template",
                ),
            ),
        ),
    ] = SelfRemediationSpec()
    status: SelfRemediationStatus = SelfRemediationStatus()


class TemplatedSelfSpec(Wire):
    """A remediation to be."""

    spec: Annotated[SelfRemediationSpec, about("The spec of each remediation made from this.")] = (
        SelfRemediationSpec()
    )


class SelfRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSelfSpec, about("What each remediation starts as.")] = TemplatedSelfSpec()


class SelfRemediationTemplate(Wire):
    """From which health checks make SelfRemediations."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SelfRemediationTemplateSpec = SelfRemediationTemplateSpec()
