"""ManualRemediation: an operator powers the node off and confirms that; then Nodemend releases its workloads.

The API server applies the CEL rules to every writer. The rules are at the root of the schema: they relate
spec and status, and a rule on the status would not apply to a write that omits the status.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

import msgspec

from nodemend.api.evidence import BOOT_ID, NODE_UID, PERSON, REASON, RENEW_TIME, Evidence, HardwareId
from nodemend.api.meta import Condition, ObjectMeta, Rule, Wire, about

_CONFIRMED: Final = "self.?spec.?confirmation.hasValue()"
_CONFIRMED_BEFORE: Final = "oldSelf.?spec.?confirmation.hasValue()"
_EVIDENCE: Final = "self.?status.?evidence.hasValue()"
_EVIDENCE_BEFORE: Final = "oldSelf.?status.?evidence.hasValue()"
_TAINTED: Final = "self.?status.?tainted.orValue(false)"
_TAINTED_BEFORE: Final = "oldSelf.?status.?tainted.orValue(false)"
_RELEASED: Final = "self.?status.?released.orValue(false)"
_RELEASED_BEFORE: Final = "oldSelf.?status.?released.orValue(false)"
_EPOCH: Final = "self.?status.?epoch.orValue(0)"
_EPOCH_BEFORE: Final = "oldSelf.?status.?epoch.orValue(0)"
_NODE: Final = "self.?status.?nodeUID.orValue('')"
_NODE_BEFORE: Final = "oldSelf.?status.?nodeUID.orValue('')"
_BOOT: Final = "self.?status.?bootID.orValue('')"
_BOOT_BEFORE: Final = "oldSelf.?status.?bootID.orValue('')"
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
        f"!{_CONFIRMED_BEFORE} || {_CONFIRMED} || !({_TAINTED_BEFORE} || {_RELEASED_BEFORE})",
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
    Rule(
        f"{_EPOCH} >= {_EPOCH_BEFORE}",
        "must not decrease: a later leader has written this status, so this writer no longer leads",
        field=".status.epoch",
    ),
    Rule(
        f"{_NODE_BEFORE} in ['', {_NODE}]",
        "cannot be changed once it is set: a remediation is for one Node object",
        field=".status.nodeUID",
    ),
    # Before there is evidence the node may reboot by itself; then the new boot is the one that must end.
    Rule(
        f"{_BOOT_BEFORE} in ['', {_BOOT}] || ({_BOOT} != '' && !{_EVIDENCE_BEFORE} && !{_EVIDENCE})",
        "cannot be removed, nor changed while evidence is recorded: evidence is for one boot",
        field=".status.bootID",
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
        "cannot be reset to false: a release is never undone",
        field=".status.released",
    ),
    Rule(
        f"!{_EVIDENCE}"
        f" || (self.status.evidence.nodeUID == {_NODE} && self.status.evidence.bootID == {_BOOT})",
        "must be for the node and the boot in status.nodeUID and status.bootID",
        field=".status.evidence",
    ),
    # Checked when evidence is added and when status.tainted becomes true. Then no withdrawal is allowed.
    Rule(
        f"!{_EVIDENCE} || self.status.evidence.class != 'E5'"
        f" || ({_EVIDENCE_BEFORE} && ({_TAINTED_BEFORE} || !{_TAINTED}))"
        f" || ({_CONFIRMED} && {_REPEATS_CONFIRMATION})",
        "must repeat spec.confirmation if its class is E5: that evidence is the operator's confirmation",
        field=".status.evidence",
    ),
    Rule(
        f"!{_EVIDENCE_BEFORE} || {_EVIDENCE} || !({_TAINTED} || {_RELEASED_BEFORE})",
        "cannot be removed while the taint may be on the node, nor after the release",
        field=".status.evidence",
    ),
)

RULES: Final = (*_ON_THE_SPEC, *_ON_THE_TARGET, *_ON_THE_RELEASE)


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
    node_uid: Annotated[
        str, about("Repeats status.nodeUID.", min_length=1, max_length=63, example=NODE_UID)
    ] = msgspec.field(name="nodeUID")
    boot_id: Annotated[
        str, about("Repeats status.bootID.", min_length=1, max_length=128, example=BOOT_ID)
    ] = msgspec.field(name="bootID")
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
    observed_generation: Annotated[
        int, about("The generation of the spec that this status is based on.", ge=0)
    ] = 0
    epoch: Annotated[
        int,
        about("The epoch of the leader that wrote this status. Writes with a lower one are refused.", ge=0),
    ] = 0
    phase: Annotated[ManualRemediationPhase, about("The current phase, for users.")] = (
        ManualRemediationPhase.PENDING
    )
    message: Annotated[str, about("The reason why it waits, and how to resolve that.", max_length=1024)] = ""
    node_uid: Annotated[
        str, about("The UID of the Node under remediation.", max_length=63, example=NODE_UID)
    ] = msgspec.field(name="nodeUID", default="")
    boot_id: Annotated[str, about("The ID of the boot that must end.", max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID", default="")
    )
    hardware_id: HardwareId = msgspec.field(name="hardwareID", default="")
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
    tainted: Annotated[
        bool, about("The release has started: Nodemend's out-of-service taint may be on the Node.")
    ] = False
    released: Annotated[bool, about("All pods and volumes have left the node.")] = False
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


class ManualRemediation(Wire):
    """Heals one node with the help of an operator. Named like the node."""

    RULES: ClassVar = RULES

    metadata: ObjectMeta = ObjectMeta()
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

    spec: Annotated[
        ManualRemediationSpec, about("The spec of each remediation created from this template.")
    ] = ManualRemediationSpec()


class ManualRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSpec, about("The content of each remediation.")] = TemplatedSpec()


class ManualRemediationTemplate(Wire):
    """The template from which health checks create ManualRemediations."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ManualRemediationTemplateSpec = ManualRemediationTemplateSpec()
