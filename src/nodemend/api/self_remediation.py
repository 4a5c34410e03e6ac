"""SelfRemediation: a node ends itself by its watchdog, and everybody else knows when it has.

Then its workloads are released, by a new boot that it reports (E2) or by time (E4).

What the API server refuses to let happen to a SelfRemediation, whoever writes.

These stand at the root of the schema: a status that is left out of a write must not slip past them.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

from nodemend.api.agent import MOST_LISTS, MOST_PROPOSED
from nodemend.api.evidence import BOOT_ID, NODE_UID, Evidence, HardwareId
from nodemend.api.meta import Condition, ObjectMeta, Rule, Wire, about

_EVIDENCE: Final = "self.?status.?evidence.hasValue()"
_EVIDENCE_BEFORE: Final = "oldSelf.?status.?evidence.hasValue()"
_TAINTED: Final = "self.?status.?tainted.orValue(false)"
_RELEASED: Final = "self.?status.?released.orValue(false)"
_RELEASED_BEFORE: Final = "oldSelf.?status.?released.orValue(false)"
_EPOCH: Final = "self.?status.?epoch.orValue(0)"
_EPOCH_BEFORE: Final = "oldSelf.?status.?epoch.orValue(0)"
_NODE: Final = "self.?status.?nodeUID.orValue('')"
_NODE_BEFORE: Final = "oldSelf.?status.?nodeUID.orValue('')"
_BOOT: Final = "self.?status.?bootID.orValue('')"
_BOOT_BEFORE: Final = "oldSelf.?status.?bootID.orValue('')"
_MARKED: Final = "self.?status.?marked.hasValue()"
_PROVEN: Final = "self.?status.?provenSeconds.orValue(0)"
_NEEDED: Final = "self.?status.?safeTimeSeconds.orValue(0)"
_BY_TIME: Final = "self.?status.?evidence.?class.orValue('') == 'E4'"
_BY_TIME_BEFORE: Final = "oldSelf.?status.?evidence.?class.orValue('') == 'E4'"
_CONTRADICTED: Final = "self.?status.?contradicted.orValue(false)"
_CONTRADICTED_BEFORE: Final = "oldSelf.?status.?contradicted.orValue(false)"

_ON_THE_TARGET: Final = (
    Rule(
        "has(self.spec) == has(oldSelf.spec)",
        "cannot be added or removed: it may be under way; delete this, and change the template",
        field=".spec",
    ),
    Rule(
        f"{_EPOCH} >= {_EPOCH_BEFORE}",
        "must not fall: a later leadership has written here, so this writer no longer leads",
        field=".status.epoch",
    ),
    Rule(
        f"{_NODE_BEFORE} in ['', {_NODE}]",
        "cannot be changed once it is set: a remediation is for one Node object",
        field=".status.nodeUID",
    ),
    Rule(
        f"{_BOOT_BEFORE} in ['', {_BOOT}]"
        f" || ({_BOOT} != '' && !{_EVIDENCE_BEFORE} && !{_EVIDENCE} && !{_MARKED})",
        "cannot be removed, nor changed while it is marked or there is evidence: these are for one boot",
        field=".status.bootID",
    ),
    Rule(
        # Written as the rule above: through `!=` the API server cannot see how long strings may be.
        f"!{_CONTRADICTED_BEFORE} || {_CONTRADICTED} || !({_BOOT_BEFORE} in ['', {_BOOT}])",
        "cannot go back to false for the same boot",
        field=".status.contradicted",
    ),
)

_ON_THE_RELEASE: Final = (
    Rule(
        f"!{_TAINTED} || {_EVIDENCE}",
        "must not be true without status.evidence: workloads are released on evidence alone",
        field=".status.tainted",
    ),
    Rule(
        f"!{_RELEASED} || {_EVIDENCE}",
        "must not be true without status.evidence: workloads are released on evidence alone",
        field=".status.released",
    ),
    Rule(
        f"!{_RELEASED_BEFORE} || {_RELEASED}",
        "cannot go back to false: what was released stays released",
        field=".status.released",
    ),
    Rule(
        f"!{_EVIDENCE}"
        f" || (self.status.evidence.nodeUID == {_NODE} && self.status.evidence.bootID == {_BOOT})",
        "must be for the node and the boot in status.nodeUID and status.bootID",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE} || self.status.evidence.class in ['E2', 'E4']",
        "must be a new boot (E2) or a proof by time (E4)",
        field=".status.evidence",
    ),
    Rule(
        f"!({_BY_TIME}) || {_BY_TIME_BEFORE}"
        f" || ({_MARKED} && {_NEEDED} > 0 && {_PROVEN} >= {_NEEDED} && !{_CONTRADICTED})",
        "must not be E4 before status.provenSeconds reaches status.safeTimeSeconds",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE} || !{_EVIDENCE_BEFORE} || self.status.evidence == oldSelf.status.evidence",
        "cannot be changed: it is recorded once, and forgotten before there is other evidence",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE_BEFORE} || {_EVIDENCE} || !({_TAINTED} || {_RELEASED_BEFORE})",
        "cannot be removed while the taint may be on the node, nor after the release",
        field=".status.evidence",
    ),
)

RULES: Final = (*_ON_THE_TARGET, *_ON_THE_RELEASE)


class SelfRemediationPhase(StrEnum):
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
    phase: Annotated[SelfRemediationPhase, about("Where it stands, for people.")] = (
        SelfRemediationPhase.PENDING
    )
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

    RULES: ClassVar = RULES

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
