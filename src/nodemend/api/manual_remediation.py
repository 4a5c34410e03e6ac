"""ManualRemediation: an operator powers the node off and confirms that; then its workloads are released."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from nodemend.api import releasing
from nodemend.api.evidence import BOOT_ID, NODE_UID, PERSON, REASON, RENEW_TIME, Evidence, HardwareId
from nodemend.api.meta import KubernetesObject, ObservedGeneration, Rule, Wire, about
from nodemend.api.releasing import HAD_EVIDENCE, HAS_EVIDENCE, RELEASED_BEFORE, TAINTED, TAINTED_BEFORE

_CONFIRMED: Final = "self.?spec.?confirmation.hasValue()"
_CONFIRMED_BEFORE: Final = "oldSelf.?spec.?confirmation.hasValue()"
_REPEATS_CONFIRMATION: Final = " && ".join(
    f"self.status.evidence.?{field}.orValue('') == self.spec.confirmation.{field}"
    for field in ("by", "reason", "nodeUID", "bootID", "lastRenewTime")
)

_ON_THE_SPEC: Final = (
    Rule(
        "oldSelf.hasValue() || !self.?spec.?confirmation.hasValue()",
        "must be absent from a new remediation: confirm it later, with kubectl mend confirm",
        field=".spec.confirmation",
        from_creation=True,
    ),
    Rule(
        f"!{_CONFIRMED_BEFORE} || {_CONFIRMED} || !({TAINTED_BEFORE} || {RELEASED_BEFORE})",
        "may be withdrawn only before the release starts: this remediation is releasing or has released",
        field=".spec.confirmation",
    ),
    Rule(
        # No optionals: with them the API server's cost estimate ignores the string limits.
        "has(oldSelf.spec) && has(oldSelf.spec.instructions)"
        " ? has(self.spec) && has(self.spec.instructions)"
        " && self.spec.instructions == oldSelf.spec.instructions"
        " : !has(self.spec) || !has(self.spec.instructions)",
        "cannot be changed: an operator may be following them; change the template for the next remediation",
        field=".spec.instructions",
    ),
)

_ON_THE_TARGET: Final = (
    releasing.EPOCH_GROWS,
    releasing.NODE_FIXED,
    # Before there is evidence the node may reboot by itself; then the new boot is the one that must end.
    releasing.BOOT_FIXED_BY_EVIDENCE,
)

_ON_THE_RELEASE: Final = (
    releasing.TAINTED_ON_EVIDENCE,
    releasing.RELEASED_ON_EVIDENCE,
    releasing.RELEASED_KEPT,
    releasing.EVIDENCE_OF_TARGET,
    # Checked when evidence is added and when status.tainted becomes true. Then no withdrawal is allowed.
    Rule(
        f"!{HAS_EVIDENCE} || self.status.evidence.class != 'E5'"
        f" || ({HAD_EVIDENCE} && ({TAINTED_BEFORE} || !{TAINTED}))"
        f" || ({_CONFIRMED} && {_REPEATS_CONFIRMATION})",
        "must repeat spec.confirmation if its class is E5: that evidence is the operator's confirmation",
        field=".status.evidence",
    ),
    releasing.EVIDENCE_KEPT,
)


class ManualRemediationPhase(StrEnum):
    """The current phase, for users. Nodemend itself reads only whether it is SUCCEEDED."""

    PENDING = "Pending"
    WAITING_FOR_CONFIRMATION = "WaitingForConfirmation"
    RELEASING = "Releasing"
    RECOVERING = "Recovering"
    CONTRADICTED = "Contradicted"
    """The workloads are released, but the boot that was confirmed as over runs: workloads may run twice."""
    SUCCEEDED = "Succeeded"


class Confirmation(Wire):
    """An operator's confirmation that one boot of one node can no longer run anything (evidence E5).

    The operator writes it once, under their own user name, and repeats values of the status. It may be
    withdrawn before the release, and never changed.
    """

    by: Annotated[
        str,
        about(
            "The user who confirms. It must be the name of the user who writes this.",
            min_length=1,
            max_length=316,
            example=PERSON,
        ),
    ]
    reason: Annotated[
        str, about("The reason why the operator is certain.", min_length=1, max_length=1024, example=REASON)
    ]
    node_uid: Annotated[str, about("Repeats status.nodeUID.", min_length=1, max_length=63, example=NODE_UID)]
    boot_id: Annotated[str, about("Repeats status.bootID.", min_length=1, max_length=128, example=BOOT_ID)]
    last_renew_time: Annotated[
        str,
        about(
            "Repeats status.lastRenewTime: the last Lease renewal that the operator saw.",
            min_length=1,
            max_length=64,
            example=RENEW_TIME,
        ),
    ]


class ManualRemediationSpec(Wire):
    instructions: Annotated[str, about("Instructions for the operator.", max_length=4096)] = ""
    confirmation: Annotated[
        Confirmation | None,
        about(
            "The confirmation; absent until an operator confirms.",
            rules=(
                Rule("self == oldSelf", "cannot be changed: withdraw the confirmation, then confirm again"),
            ),
        ),
    ] = None


class ManualRemediationStatus(Wire):
    observed_generation: ObservedGeneration = 0
    epoch: releasing.Epoch = 0
    phase: Annotated[ManualRemediationPhase, about("The current phase, for users.")] = (
        ManualRemediationPhase.PENDING
    )
    message: releasing.WaitMessage = ""
    node_uid: Annotated[
        str, about("The UID of the Node under remediation.", max_length=63, example=NODE_UID)
    ] = ""
    boot_id: releasing.EndingBootId = ""
    hardware_id: HardwareId = ""
    last_renew_time: Annotated[
        str, about("The kubelet's last Lease renewal; empty until the Lease has expired.", max_length=64)
    ] = ""
    evidence: Annotated[
        Evidence | None,
        about(
            "The evidence for the release, recorded before it.",
            rules=(Rule("self == oldSelf", "cannot be changed: it is recorded once"),),
        ),
    ] = None
    disproved_generation: Annotated[
        int,
        about(
            "The generation of the spec whose confirmation was wrong: the node sent a heartbeat after it."
            " Only a later confirmation counts.",
            ge=0,
        ),
    ] = 0
    tainted: releasing.Tainted = False
    released: releasing.Released = False
    pods_left: releasing.PodsLeft = 0
    attachments_left: releasing.AttachmentsLeft = 0
    conditions: releasing.RemediationConditions = ()


class ManualRemediation(KubernetesObject):
    """Heals one node with the help of an operator. Named like the node."""

    RULES: ClassVar = (*_ON_THE_SPEC, *_ON_THE_TARGET, *_ON_THE_RELEASE)

    spec: ManualRemediationSpec = ManualRemediationSpec()
    status: ManualRemediationStatus = ManualRemediationStatus()


class TemplatedSpec(Wire):
    """The content of a remediation that is created from the template."""

    RULES: ClassVar = (
        Rule(
            "!self.?spec.?confirmation.hasValue()",
            "must be absent from a template: only a node that has failed can be confirmed as down",
            field=".spec.confirmation",
        ),
    )

    spec: Annotated[ManualRemediationSpec, releasing.TEMPLATED_SPEC] = ManualRemediationSpec()


class ManualRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSpec, releasing.TEMPLATE] = TemplatedSpec()


class ManualRemediationTemplate(KubernetesObject):
    """The template from which health checks create ManualRemediations."""

    spec: ManualRemediationTemplateSpec = ManualRemediationTemplateSpec()
