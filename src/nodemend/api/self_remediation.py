"""SelfRemediation: a node resets itself by its watchdog, and Nodemend proves from outside that it has.

Then Nodemend releases its workloads. The proof is a new boot that the node reports (E2), or time (E4).
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nodemend.api import releasing
from nodemend.api.agent import MOST_LISTS, MOST_PROPOSED
from nodemend.api.evidence import BOOT_ID, NODE_UID, HardwareId
from nodemend.api.meta import KubernetesObject, ObservedGeneration, Rule, Wire, about
from nodemend.api.releasing import BOOT, BOOT_BEFORE, HAD_EVIDENCE, HAS_EVIDENCE

_MARKED: Final = "self.?status.?marked.hasValue()"
_PROVEN: Final = "self.?status.?provenSeconds.orValue(0)"
_NEEDED: Final = "self.?status.?safeTimeSeconds.orValue(0)"
_BY_TIME: Final = "self.?status.?evidence.?class.orValue('') == 'E4'"
_BY_TIME_BEFORE: Final = "oldSelf.?status.?evidence.?class.orValue('') == 'E4'"
_CONTRADICTED: Final = "self.?status.?contradicted.orValue(false)"
_CONTRADICTED_BEFORE: Final = "oldSelf.?status.?contradicted.orValue(false)"

_ON_THE_TARGET: Final = (
    releasing.SPEC_KEPT,
    releasing.EPOCH_GROWS,
    releasing.NODE_FIXED,
    Rule(
        f"{BOOT_BEFORE} in ['', {BOOT}]"
        f" || ({BOOT} != '' && !{HAD_EVIDENCE} && !{HAS_EVIDENCE} && !{_MARKED})",
        "cannot be removed, nor changed once it is marked or evidence is recorded: both are for one boot",
        field=".status.bootID",
    ),
    Rule(
        # `in`, as in the rule above: with `!=` the API server's cost estimate ignores the string limits.
        f"!{_CONTRADICTED_BEFORE} || {_CONTRADICTED} || !({BOOT_BEFORE} in ['', {BOOT}])",
        "cannot be reset to false for the same boot",
        field=".status.contradicted",
    ),
)

_ON_THE_RELEASE: Final = (
    releasing.TAINTED_ON_EVIDENCE,
    releasing.RELEASED_ON_EVIDENCE,
    releasing.RELEASED_KEPT,
    releasing.EVIDENCE_OF_TARGET,
    Rule(
        f"!{HAS_EVIDENCE} || self.status.evidence.class in ['E2', 'E4']",
        "must be a new boot (E2) or a proof by time (E4)",
        field=".status.evidence",
    ),
    Rule(
        f"!({_BY_TIME}) || {_BY_TIME_BEFORE}"
        f" || ({_MARKED} && {_NEEDED} > 0 && {_PROVEN} >= {_NEEDED} && !{_CONTRADICTED})",
        "must not be E4 before status.provenSeconds reaches status.safeTimeSeconds",
        field=".status.evidence",
    ),
    releasing.EVIDENCE_FIXED,
    releasing.EVIDENCE_KEPT,
)


class SelfRemediationPhase(StrEnum):
    """The current phase. From FENCING on, a marker may be on the Lease, so Nodemend reads the phase too."""

    PENDING = "Pending"
    FENCING = "Fencing"
    RELEASING = "Releasing"
    RECOVERING = "Recovering"
    CONTRADICTED = "Contradicted"
    """The workloads are released, but the boot that was proven to be over runs: workloads may run twice."""
    SUCCEEDED = "Succeeded"


class Weakness(StrEnum):
    """A property that weakens a time proof. Nodemend refuses the proof unless an admin accepts the name."""

    NO_BOOT_GATE = "NoBootGate"
    """A new boot may run the node's pods before Nodemend knows of it."""
    SOFTWARE_WATCHDOG = "SoftwareWatchdog"
    """The watchdog is part of the kernel that it must reset, and hangs with it."""
    UNTESTED_WATCHDOG = "UntestedWatchdog"
    """No reset by the watchdog was observed. Its chip may not be wired, or be configured to do nothing."""


class SelfRemediationSpec(Wire):
    safe_time_seconds: Annotated[
        int,
        about(
            "Seconds to wait for a proof by time; 0 for the least that the times of the node prove. Less "
            "than that is refused, not raised.",
            ge=0,
            le=86_400,
        ),
    ] = 0
    accept: Annotated[
        tuple[Weakness, ...],
        about(
            "Weaknesses of nodes that you accept. NoBootGate: a node that comes back may run its pods before "
            "Nodemend knows of it. SoftwareWatchdog: a kernel that hangs may never be reset. "
            "UntestedWatchdog: a device without an observed reset may never reset its machine.",
            max_length=3,
        ),
    ] = ()


class MarkedLease(Wire):
    """The Lease on which Nodemend's marker was observed. If its version changes, the proof restarts."""

    uid: Annotated[str, about("The UID of the Lease.", min_length=1, max_length=63, example=NODE_UID)]
    version: Annotated[str, about("Its resourceVersion with the marker.", min_length=1, max_length=64)]


class ProvenPeer(Wire):
    """The time for which one peer cannot have kept the node alive."""

    name: Annotated[str, about("The name of the peer's Node.", min_length=1, max_length=253)]
    node_uid: Annotated[str, about("The UID of that Node.", min_length=1, max_length=63, example=NODE_UID)]
    boot_id: Annotated[str, about("The peer's boot ID.", min_length=1, max_length=128, example=BOOT_ID)]
    acknowledged: Annotated[int, about("The peer's last acknowledged renewal when the count started.", ge=0)]
    milliseconds: Annotated[int, about("Milliseconds counted since then, without a gap.", ge=0)] = 0


class SelfRemediationStatus(Wire):
    observed_generation: ObservedGeneration = 0
    epoch: releasing.Epoch = 0
    phase: Annotated[SelfRemediationPhase, about("The current phase.")] = SelfRemediationPhase.PENDING
    message: releasing.WaitMessage = ""
    node_name: Annotated[str, about("The name of the Node under remediation.", max_length=253)] = ""
    node_uid: Annotated[str, about("The UID of that Node.", max_length=63, example=NODE_UID)] = ""
    boot_id: releasing.EndingBootId = ""
    hardware_id: HardwareId = ""
    marked: Annotated[MarkedLease | None, about("The Lease on which Nodemend's marker was observed.")] = None
    proven: Annotated[
        tuple[ProvenPeer, ...],
        about(
            "The time counted so far, for each peer of the node.",
            max_length=MOST_LISTS * MOST_PROPOSED,
            keys=("name",),
        ),
    ] = ()
    proven_seconds: Annotated[int, about("Seconds for which enough peers of the node are covered.", ge=0)] = 0
    safe_time_seconds: Annotated[
        int, about("Seconds that prove that the boot is over; 0 if unknown.", ge=0)
    ] = 0
    contradicted: Annotated[
        bool,
        about("The boot was active after a proof that it was over. Time proves nothing for it any longer."),
    ] = False
    evidence: releasing.RecordedEvidence = None
    tainted: releasing.Tainted = False
    released: releasing.Released = False
    pods_left: releasing.PodsLeft = 0
    attachments_left: releasing.AttachmentsLeft = 0
    conditions: releasing.RemediationConditions = ()


class SelfRemediation(KubernetesObject):
    """Heals one node by a reset through its own watchdog. Named like the node, or like its Machine."""

    RULES: ClassVar = (*_ON_THE_TARGET, *_ON_THE_RELEASE)

    spec: Annotated[SelfRemediationSpec, releasing.FIXED_SETTINGS] = SelfRemediationSpec()
    status: SelfRemediationStatus = SelfRemediationStatus()


class TemplatedSelfSpec(Wire):
    """The content of a remediation that is created from the template."""

    spec: Annotated[SelfRemediationSpec, releasing.TEMPLATED_SPEC] = SelfRemediationSpec()


class SelfRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSelfSpec, releasing.TEMPLATE] = TemplatedSelfSpec()


class SelfRemediationTemplate(KubernetesObject):
    """The template from which health checks create SelfRemediations."""

    spec: SelfRemediationTemplateSpec = SelfRemediationTemplateSpec()
