"""Metal3Remediation: a host is switched off and on again through metal3.

While it is off, its node's workloads are released.

CAPM3's own Metal3Remediation, of infrastructure.cluster.x-k8s.io: what we read of it, and write.

Release by deleting the Node: how that is asked for, and what is kept of a Node while it is gone.

What the API server refuses to let happen to a Metal3Remediation, whoever writes.

These stand at the root of the schema: a status that is left out of a write must not slip past them.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

from nodemend.api.evidence import BOOT_ID, NODE_UID, Evidence, HardwareId
from nodemend.api.meta import Condition, ObjectMeta, Rule, Wire, about


class Capm3Strategy(Wire):
    type: str = ""
    retry_limit: int = 0
    """None is the same as one, for CAPM3."""
    timeout: str | None = None
    """As Go writes durations."""


class Capm3RemediationSpec(Wire):
    strategy: Capm3Strategy | None = None


class Capm3RemediationStatus(Wire):
    phase: str = ""
    retry_count: int = 0
    last_remediated: str | None = None


class Capm3Remediation(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: Capm3RemediationSpec = Capm3RemediationSpec()
    status: Capm3RemediationStatus = Capm3RemediationStatus()


class ReleaseBy(StrEnum):
    """How Kubernetes is told that a node's workloads may start elsewhere."""

    TAINT = "out-of-service-taint"
    """The Node stays as it is, but for one taint of ours. The default."""
    NODE_DELETION = "node-deletion"
    """For clusters whose controller manager does not act on that taint."""


class KeptTaint(Wire):
    key: Annotated[str, about("Its key.", min_length=1, max_length=317)]
    effect: Annotated[str, about("What it does to pods.", min_length=1, max_length=63)]
    value: Annotated[str, about("Its value.", max_length=63)] = ""


class NodeBackup(Wire):
    """What others wrote on a Node, and no kubelet would write there again."""

    labels: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=63)]],
        about("Labels, but for the kubelet's own.", max_length=512),
    ] = {}
    annotations: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=65_536)]],
        about("Annotations, but for those of the kubelet, of controllers and of ours.", max_length=512),
    ] = {}
    taints: Annotated[
        tuple[KeptTaint, ...],
        about("Taints, but for those that controllers set by the node's condition.", max_length=64),
    ] = ()
    unschedulable: Annotated[bool, about("It was cordoned.")] = False

    @property
    def parts(self) -> tuple[str, ...]:
        """By name, for people."""
        named = (*self.labels, *self.annotations, *(taint.key for taint in self.taints))
        return (*named, "its cordon") if self.unschedulable else named


_EVIDENCE: Final = "self.?status.?evidence.hasValue()"
_EVIDENCE_BEFORE: Final = "oldSelf.?status.?evidence.hasValue()"
_TAINTED: Final = "self.?status.?tainted.orValue(false)"
_RELEASED: Final = "self.?status.?released.orValue(false)"
_EPOCH: Final = "self.?status.?epoch.orValue(0)"
_EPOCH_BEFORE: Final = "oldSelf.?status.?epoch.orValue(0)"
_NODE: Final = "self.?status.?nodeUID.orValue('')"
_NODE_BEFORE: Final = "oldSelf.?status.?nodeUID.orValue('')"
_BOOT: Final = "self.?status.?bootID.orValue('')"
_BOOT_BEFORE: Final = "oldSelf.?status.?bootID.orValue('')"
_HOST: Final = "self.?status.?host.?uid.orValue('')"
_HOST_BEFORE: Final = "oldSelf.?status.?host.?uid.orValue('')"
_RETRIES: Final = "self.?status.?retryCount.orValue(0)"
_RETRIES_BEFORE: Final = "oldSelf.?status.?retryCount.orValue(0)"

RULES: Final = (
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
        f"{_HOST_BEFORE} in ['', {_HOST}]",
        "cannot be changed once it is set: a remediation is for one host",
        field=".status.host",
    ),
    Rule(
        f"{_BOOT_BEFORE} in ['', {_BOOT}] || ({_BOOT} != '' && !{_EVIDENCE_BEFORE} && !{_EVIDENCE})",
        "cannot be removed, nor changed while there is evidence: evidence is for one boot",
        field=".status.bootID",
    ),
    Rule(
        f"{_RETRIES} == {_RETRIES_BEFORE} || {_RETRIES} == {_RETRIES_BEFORE} + 1",
        "rises by one with each attempt that failed, and never falls",
        field=".status.retryCount",
    ),
    Rule(
        f"!{_TAINTED} || {_EVIDENCE}",
        "must not be true without status.evidence: workloads are released on evidence alone",
        field=".status.tainted",
    ),
    Rule(
        f"!{_RELEASED} || {_EVIDENCE} || !{_TAINTED}",
        "must not be true without status.evidence where the taint was asked for",
        field=".status.released",
    ),
    Rule(
        f"!{_EVIDENCE}"
        f" || (self.status.evidence.nodeUID == {_NODE} && self.status.evidence.bootID == {_BOOT}"
        # Without optionals on both sides, through which the API server cannot see how long strings may be.
        f" && (has(self.status.evidence.host) ? self.status.evidence.host.uid == {_HOST} : {_HOST} == ''))",
        "must be for the node, the boot and the host that the status names",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE} || !{_EVIDENCE_BEFORE} || self.status.evidence == oldSelf.status.evidence",
        "cannot be changed: it is recorded once, and forgotten before there is other evidence",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE_BEFORE} || {_EVIDENCE} || !{_TAINTED}",
        "cannot be removed while the taint may be on the node",
        field=".status.evidence",
    ),
)


class Strategy(StrEnum):
    """What happens when power cycles do not help."""

    ESCALATE = "escalate"
    """After the retries the machine is handed to its owner, to be replaced."""
    RETRY = "retry"
    """It is tried again for as long as somebody wants it, ever more seldom."""


class Metal3RemediationPhase(StrEnum):
    """Where it stands: what is wanted of the host's power, and why."""

    PENDING = "pending"
    POWER_OFF = "power-off"
    RELEASE = "release"
    POWER_ON = "power-on"
    CONTRADICTED = "contradicted"
    """Its workloads are released, and the boot that was switched off runs: they may run twice."""
    BACKING_OFF = "backing-off"
    DELETING_MACHINE = "deleting-machine"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Metal3RemediationSpec(Wire):
    strategy: Annotated[
        Strategy, about("escalate: hand the machine to its owner after the retries; retry: never give up.")
    ] = Strategy.ESCALATE
    delete_after_retries: Annotated[
        int,
        about("How often a power cycle that did not help is repeated before that.", ge=0, le=100),
    ] = 3
    power_off_timeout_seconds: Annotated[
        int,
        about("How long the host may take to be seen off, before an attempt has failed.", ge=30, le=86_400),
    ] = 300
    power_on_timeout_seconds: Annotated[
        int,
        about("How long the node may take to come back, before an attempt has failed.", ge=60, le=86_400),
    ] = 600
    release_by: Annotated[
        ReleaseBy,
        about(
            "out-of-service-taint: the Node stays. node-deletion: for clusters in which nobody acts on "
            "that taint; it has to be allowed at the installation."
        ),
    ] = ReleaseBy.TAINT


class TargetHost(Wire):
    """The host that this remediation switches off and on."""

    namespace: Annotated[str, about("Its namespace.", max_length=63)]
    name: Annotated[str, about("Its name.", min_length=1, max_length=253)]
    uid: Annotated[str, about("The very host.", min_length=1, max_length=63, example=NODE_UID)]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OffSighting(Wire):
    """How the host was first seen off under our hold. Whatever moves after that makes it void."""

    last_updated: Annotated[str, about("When its operator had last written.", min_length=1, max_length=64)]
    last_renew_time: Annotated[str, about("The kubelet's last sign of life.", max_length=64)] = ""


MOST_POWER_OFF_EVENTS: Final = 256


class PowerOffEvent(Wire):
    """A PowerOff event of the host."""

    uid: Annotated[str, about("The very event.", min_length=1, max_length=63)]
    count: Annotated[int, about("How often it had occurred; an aggregated event counts on.", ge=0)] = 1


class Metal3RemediationStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    epoch: Annotated[int, about("The leadership that wrote this. A lower one is refused.", ge=0)] = 0
    phase: Annotated[Metal3RemediationPhase, about("Where it stands.")] = Metal3RemediationPhase.PENDING
    message: Annotated[str, about("What it waits for, and what would change that.", max_length=1024)] = ""
    retry_count: Annotated[int, about("How many attempts have failed.", ge=0)] = 0
    node_name: Annotated[str, about("The node; empty while the machine has none.", max_length=253)] = ""
    node_uid: Annotated[str, about("The very node.", max_length=63, example=NODE_UID)] = msgspec.field(
        name="nodeUID", default=""
    )
    boot_id: Annotated[str, about("The boot that must end.", max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID", default="")
    )
    hardware_id: HardwareId = msgspec.field(name="hardwareID", default="")
    host: Annotated[TargetHost | None, about("The host, once it is known to be the node's.")] = None
    seen_on_version: Annotated[
        str,
        about(
            "The version of the host in which it was on, and on which alone our hold may be placed. "
            "Whatever shows it off under our hold was therefore written after it.",
            max_length=64,
        ),
    ] = ""
    power_off_events: (
        Annotated[
            tuple[PowerOffEvent, ...],
            about(
                "The PowerOff events of the host that existed before the power-off was requested. The host "
                "is believed to be off only with an event that is not among them, or has occurred again: "
                "without one, what shows it off may be the late report of an earlier power-off.",
                max_length=MOST_POWER_OFF_EVENTS,
                keys=("uid",),
            ),
        ]
        | None
    ) = None
    seen_off: Annotated[OffSighting | None, about("How it was first seen off after that.")] = None
    evidence: Annotated[Evidence | None, about("What the release rests on, recorded before it.")] = None
    tainted: Annotated[
        bool, about("A release was asked for: our taint may be on the node, or its Node may be deleted.")
    ] = False
    backup: Annotated[
        NodeBackup | None,
        about("What the Node had before it was deleted; the next of its name gets it back."),
    ] = None
    released: Annotated[bool, about("In this attempt: its pods and volumes are gone from the node.")] = False
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


class Metal3Remediation(Wire):
    """One attempt to heal one node by switching its host off and on. Named like its Machine, or its node."""

    RULES: ClassVar = RULES

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[
        Metal3RemediationSpec,
        about(
            "What is to be done.",
            rules=(
                Rule(
                    "self == oldSelf",
                    "cannot be changed: it may be under way; delete this, and change the template",
                ),
            ),
        ),
    ] = Metal3RemediationSpec()
    status: Metal3RemediationStatus = Metal3RemediationStatus()


class TemplatedMetal3Spec(Wire):
    """A remediation to be."""

    spec: Annotated[Metal3RemediationSpec, about("The spec of each remediation made from this.")] = (
        Metal3RemediationSpec()
    )


class Metal3RemediationTemplateSpec(Wire):
    template: Annotated[TemplatedMetal3Spec, about("What each remediation starts as.")] = (
        TemplatedMetal3Spec()
    )


class Metal3RemediationTemplate(Wire):
    """From which health checks make Metal3Remediations."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Metal3RemediationTemplateSpec = Metal3RemediationTemplateSpec()
