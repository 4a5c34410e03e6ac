"""Metal3Remediation: powers a host off and on through metal3, and releases its workloads while it is off.

Of CAPM3's Metal3Remediation (infrastructure.cluster.x-k8s.io), only the fields that Nodemend reads and writes
are defined.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nodemend.api import releasing
from nodemend.api.evidence import NODE_UID, HardwareId
from nodemend.api.meta import KubernetesObject, ObservedGeneration, Rule, Wire, about
from nodemend.api.releasing import BOOT, HAD_EVIDENCE, HAS_EVIDENCE, NODE, RELEASED, TAINTED


class Capm3Strategy(Wire):
    type: str = ""
    retry_limit: int = 0
    """CAPM3 treats 0 as one retry."""
    timeout: str | None = None
    """A duration in the syntax of Go."""


class Capm3RemediationSpec(Wire):
    strategy: Capm3Strategy | None = None


class Capm3RemediationStatus(Wire):
    phase: str = ""
    retry_count: int = 0
    last_remediated: str | None = None


class Capm3Remediation(KubernetesObject):
    spec: Capm3RemediationSpec = Capm3RemediationSpec()
    status: Capm3RemediationStatus = Capm3RemediationStatus()


class ReleaseBy(StrEnum):
    """The method by which Kubernetes releases a node's workloads, so that they may start elsewhere."""

    TAINT = "out-of-service-taint"
    """Nodemend sets the out-of-service taint on the Node. The default."""
    NODE_DELETION = "node-deletion"
    """Nodemend deletes the Node: for clusters whose controller manager does not act on that taint."""


class KeptTaint(Wire):
    key: Annotated[str, about("The key of the taint.", min_length=1, max_length=317)]
    effect: Annotated[str, about("The effect of the taint.", min_length=1, max_length=63)]
    value: Annotated[str, about("The value of the taint.", max_length=63)] = ""


class NodeBackup(Wire):
    """Metadata of a Node from other writers, which a kubelet does not restore when it registers again."""

    labels: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=63)]],
        about("Labels, except those that the kubelet writes.", max_length=512),
    ] = {}
    annotations: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=65_536)]],
        about("Annotations, except those that the kubelet, controllers and Nodemend write.", max_length=512),
    ] = {}
    taints: Annotated[
        tuple[KeptTaint, ...],
        about("Taints, except those that controllers set for the node's conditions.", max_length=64),
    ] = ()
    unschedulable: Annotated[bool, about("The Node was cordoned.")] = False

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the names of all parts, for messages to users."""
        named = (*self.labels, *self.annotations, *(taint.key for taint in self.taints))
        return (*named, "its cordon") if self.unschedulable else named


_HOST: Final = "self.?status.?host.?uid.orValue('')"
_HOST_BEFORE: Final = "oldSelf.?status.?host.?uid.orValue('')"
_RETRIES: Final = "self.?status.?retryCount.orValue(0)"
_RETRIES_BEFORE: Final = "oldSelf.?status.?retryCount.orValue(0)"

RULES: Final = (
    releasing.SPEC_KEPT,
    releasing.EPOCH_GROWS,
    releasing.NODE_FIXED,
    Rule(
        f"{_HOST_BEFORE} in ['', {_HOST}]",
        "cannot be changed once it is set: a remediation is for one host",
        field=".status.host",
    ),
    releasing.BOOT_FIXED_BY_EVIDENCE,
    Rule(
        f"{_RETRIES} == {_RETRIES_BEFORE} || {_RETRIES} == {_RETRIES_BEFORE} + 1",
        "must increase by one with each failed attempt, and must not decrease",
        field=".status.retryCount",
    ),
    releasing.TAINTED_ON_EVIDENCE,
    Rule(
        f"!{RELEASED} || {HAS_EVIDENCE} || !{TAINTED}",
        "must not be true without status.evidence if status.tainted is true",
        field=".status.released",
    ),
    Rule(
        f"!{HAS_EVIDENCE}"
        f" || (self.status.evidence.nodeUID == {NODE} && self.status.evidence.bootID == {BOOT}"
        # No optionals on both sides: with them the API server's cost estimate ignores the string limits.
        f" && (has(self.status.evidence.host) ? self.status.evidence.host.uid == {_HOST} : {_HOST} == ''))",
        "must be for the node, the boot and the host in the status",
        field=".status.evidence",
    ),
    releasing.EVIDENCE_FIXED,
    Rule(
        f"!{HAD_EVIDENCE} || {HAS_EVIDENCE} || !{TAINTED}",
        "cannot be removed while the taint may be on the node",
        field=".status.evidence",
    ),
)


class Strategy(StrEnum):
    """The action when power cycles do not bring the node back."""

    ESCALATE = "escalate"
    """After the retries, the owner of the Machine must replace it."""
    RETRY = "retry"
    """Nodemend retries until the node is back or the remediation is deleted, at most 30 minutes apart."""


class Metal3RemediationPhase(StrEnum):
    """The current phase: the requested power state of the host, and the reason for it."""

    PENDING = "pending"
    POWER_OFF = "power-off"
    RELEASE = "release"
    POWER_ON = "power-on"
    CONTRADICTED = "contradicted"
    """The workloads are released, but the boot that was powered off runs: workloads may run twice."""
    BACKING_OFF = "backing-off"
    DELETING_MACHINE = "deleting-machine"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Metal3RemediationSpec(Wire):
    strategy: Annotated[
        Strategy, about("escalate: after the retries, have the owner replace the Machine. retry: never stop.")
    ] = Strategy.ESCALATE
    delete_after_retries: Annotated[
        int,
        about("Number of retries of a failed power cycle, before the Machine is replaced.", ge=0, le=100),
    ] = 3
    power_off_timeout_seconds: Annotated[
        int,
        about(
            "Seconds within which the host must be observed off; otherwise the attempt fails.",
            ge=30,
            le=86_400,
        ),
    ] = 300
    power_on_timeout_seconds: Annotated[
        int,
        about(
            "Seconds within which the node must be back after power-on; otherwise the attempt fails.",
            ge=60,
            le=86_400,
        ),
    ] = 600
    release_by: Annotated[
        ReleaseBy,
        about(
            "out-of-service-taint: keep the Node. node-deletion: delete the Node, for clusters that do not "
            "act on that taint; the installation must allow it."
        ),
    ] = ReleaseBy.TAINT


class TargetHost(Wire):
    """The host that this remediation powers off and on."""

    namespace: Annotated[str, about("Its namespace.", max_length=63)]
    name: Annotated[str, about("Its name.", min_length=1, max_length=253)]
    uid: Annotated[str, about("The UID of the host.", min_length=1, max_length=63, example=NODE_UID)]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OffSighting(Wire):
    """The first observation of power off under Nodemend's power-off request.

    A later update of the host's status, or a later renewal of the kubelet's Lease, invalidates it.
    """

    last_updated: Annotated[
        str, about("The host's status.lastUpdated at that time.", min_length=1, max_length=64)
    ]
    last_renew_time: Annotated[str, about("The kubelet's last Lease renewal.", max_length=64)] = ""


MOST_POWER_OFF_EVENTS: Final = 256


class PowerOffEvent(Wire):
    """A PowerOff event of the host."""

    uid: Annotated[str, about("The UID of the event.", min_length=1, max_length=63)]
    count: Annotated[int, about("Its count at that time. A higher count later is a new power-off.", ge=0)] = 1


class Metal3RemediationStatus(Wire):
    observed_generation: ObservedGeneration = 0
    epoch: releasing.Epoch = 0
    phase: Annotated[Metal3RemediationPhase, about("The current phase.")] = Metal3RemediationPhase.PENDING
    message: releasing.WaitMessage = ""
    retry_count: Annotated[int, about("The number of failed attempts.", ge=0)] = 0
    node_name: Annotated[
        str, about("The name of the node; empty if the machine has no node.", max_length=253)
    ] = ""
    node_uid: Annotated[str, about("The UID of the Node.", max_length=63, example=NODE_UID)] = ""
    boot_id: releasing.EndingBootId = ""
    hardware_id: HardwareId = ""
    host: Annotated[TargetHost | None, about("The host, after it is identified as the node's.")] = None
    seen_on_version: Annotated[
        str,
        about(
            "The resourceVersion of the host at which it was observed on. Nodemend places its power-off "
            "request on this version only, so an observation of power off under the request is newer.",
            max_length=64,
        ),
    ] = ""
    power_off_events: (
        Annotated[
            tuple[PowerOffEvent, ...],
            about(
                "The PowerOff events of the host that existed before the power-off request. The host counts "
                "as off only if there is another event, or one of these has occurred again. Otherwise an "
                "observation of power off may be the late report of an earlier power-off.",
                max_length=MOST_POWER_OFF_EVENTS,
                keys=("uid",),
            ),
        ]
        | None
    ) = None
    seen_off: Annotated[OffSighting | None, about("The first observation of power off after that.")] = None
    evidence: releasing.RecordedEvidence = None
    tainted: Annotated[
        bool,
        about("The release has started: Nodemend's taint may be on the Node, or the Node may be deleted."),
    ] = False
    backup: Annotated[
        NodeBackup | None,
        about("The metadata of the deleted Node. Nodemend restores it on the next Node of that name."),
    ] = None
    released: Annotated[bool, about("In this attempt, all pods and volumes have left the node.")] = False
    pods_left: releasing.PodsLeft = 0
    attachments_left: releasing.AttachmentsLeft = 0
    conditions: releasing.RemediationConditions = ()


class Metal3Remediation(KubernetesObject):
    """Heals one node by powering its host off and on. Named like its Machine, or its node."""

    RULES: ClassVar = RULES

    spec: Annotated[Metal3RemediationSpec, releasing.FIXED_SETTINGS] = Metal3RemediationSpec()
    status: Metal3RemediationStatus = Metal3RemediationStatus()


class TemplatedMetal3Spec(Wire):
    """The content of a remediation that is created from the template."""

    spec: Annotated[Metal3RemediationSpec, releasing.TEMPLATED_SPEC] = Metal3RemediationSpec()


class Metal3RemediationTemplateSpec(Wire):
    template: Annotated[TemplatedMetal3Spec, releasing.TEMPLATE] = TemplatedMetal3Spec()


class Metal3RemediationTemplate(KubernetesObject):
    """The template from which health checks create Metal3Remediations."""

    spec: Metal3RemediationTemplateSpec = Metal3RemediationTemplateSpec()
