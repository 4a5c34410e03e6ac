"""ManualRemediation: a person makes the node harmless and says so; we release and close.

What the API server refuses to let happen to a ManualRemediation, whoever writes.

These stand at the root of the schema: they relate spec and status, and a status that is left out of a write
altogether must not slip past them.
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
        "must be absent from a new remediation: the word is given later, by kubectl mend confirm",
        field=".spec.confirmation",
        from_creation=True,
    ),
    Rule(
        f"!{_CONFIRMED_BEFORE} || {_CONFIRMED} || !({_TAINTED_BEFORE} || {_RELEASED_BEFORE})",
        "may be withdrawn only before the release begins: this remediation is releasing or has released",
        field=".spec.confirmation",
    ),
    Rule(
        # Written without optionals, through which the API server cannot see how long a string may be.
        "has(oldSelf.spec) && has(oldSelf.spec.instructions)"
        " ? has(self.spec) && has(self.spec.instructions)"
        " && self.spec.instructions == oldSelf.spec.instructions"
        " : !has(self.spec) || !has(self.spec.instructions)",
        "cannot be changed: somebody may be acting on them; change the template for the next remediation",
        field=".spec.instructions",
    ),
)

_ON_THE_TARGET: Final = (
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
    # Before there is evidence the node may reboot by itself; then the new boot is the one that must end.
    Rule(
        f"{_BOOT_BEFORE} in ['', {_BOOT}] || ({_BOOT} != '' && !{_EVIDENCE_BEFORE} && !{_EVIDENCE})",
        "cannot be removed, nor changed while there is evidence: evidence is for one boot",
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
        "cannot go back to false: what was released stays released",
        field=".status.released",
    ),
    Rule(
        f"!{_EVIDENCE}"
        f" || (self.status.evidence.nodeUID == {_NODE} && self.status.evidence.bootID == {_BOOT})",
        "must be for the node and the boot in status.nodeUID and status.bootID",
        field=".status.evidence",
    ),
    # Asked when evidence appears and when the taint is asked for. Later the word cannot be withdrawn.
    Rule(
        f"!{_EVIDENCE} || self.status.evidence.class != 'E5'"
        f" || ({_EVIDENCE_BEFORE} && ({_TAINTED_BEFORE} || !{_TAINTED}))"
        f" || ({_CONFIRMED} && {_REPEATS_CONFIRMATION})",
        "must repeat spec.confirmation where its class is E5: no person's word, no evidence",
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
    """For people. Code reads the facts beside it."""

    PENDING = "Pending"
    WAITING_FOR_CONFIRMATION = "AwaitingWord"
    RELEASING = "Releasing"
    RECOVERING = "Recovering"
    CONTRADICTED = "Contradicted"
    """Its workloads are released, and the boot that was vouched to be over runs: they may run twice."""
    SUCCEEDED = "Succeeded"


class Confirmation(Wire):
    """A person's word that one boot of one node can no longer run anything (evidence E5).

    Written once, in the writer's own name, repeating what the status shows. Taking it back before the
    release is allowed; changing it is not.
    """

    by: Annotated[
        str,
        about(
            "Who vouches: the user name of whoever writes this.",
            min_length=1,
            max_length=316,
            example=PERSON,
        ),
    ]
    reason: Annotated[str, about("How they know.", min_length=1, max_length=1024, example=REASON)]
    node_uid: Annotated[
        str, about("Repeats status.nodeUID.", min_length=1, max_length=63, example=NODE_UID)
    ] = msgspec.field(name="nodeUID")
    boot_id: Annotated[
        str, about("Repeats status.bootID.", min_length=1, max_length=128, example=BOOT_ID)
    ] = msgspec.field(name="bootID")
    last_renew_time: Annotated[
        str,
        about(
            "Repeats status.lastRenewTime: the last sign of life they saw.",
            min_length=1,
            max_length=64,
            example=RENEW_TIME,
        ),
    ]


class ManualRemediationSpec(Wire):
    instructions: Annotated[str, about("What the person who is called should do.", max_length=4096)] = ""
    confirmation: Annotated[
        Confirmation | None,
        about(
            "The word, once it is given.",
            rules=(Rule("self == oldSelf", "cannot be changed: withdraw the word, then give it anew"),),
        ),
    ] = None


class ManualRemediationStatus(Wire):
    observed_generation: Annotated[int, about("The generation last acted upon.", ge=0)] = 0
    epoch: Annotated[int, about("The leadership that wrote this. A lower one is refused.", ge=0)] = 0
    phase: Annotated[ManualRemediationPhase, about("Where it stands, for people.")] = (
        ManualRemediationPhase.PENDING
    )
    message: Annotated[str, about("What it waits for, and what would change that.", max_length=1024)] = ""
    node_uid: Annotated[str, about("The node under remediation.", max_length=63, example=NODE_UID)] = (
        msgspec.field(name="nodeUID", default="")
    )
    boot_id: Annotated[str, about("The boot that must end.", max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID", default="")
    )
    hardware_id: HardwareId = msgspec.field(name="hardwareID", default="")
    last_renew_time: Annotated[
        str, about("The kubelet's last sign of life, once it has been silent for long enough.", max_length=64)
    ] = ""
    evidence: Annotated[
        Evidence | None,
        about(
            "What the release rests on, recorded before it.",
            rules=(Rule("self == oldSelf", "cannot be changed: it is recorded once"),),
        ),
    ] = None
    disproved_generation: Annotated[
        int,
        about(
            "The generation of the spec whose confirmation was wrong: its node gave a sign of life. Only a"
            " confirmation that is given later counts.",
            ge=0,
        ),
    ] = 0
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


class ManualRemediation(Wire):
    """One attempt to heal one node by a person's hand. Named like the node."""

    RULES: ClassVar = RULES

    metadata: ObjectMeta = ObjectMeta()
    spec: ManualRemediationSpec = ManualRemediationSpec()
    status: ManualRemediationStatus = ManualRemediationStatus()


class TemplatedSpec(Wire):
    """A remediation to be."""

    RULES: ClassVar = (
        Rule(
            "!self.?spec.?confirmation.hasValue()",
            "must be absent from a template: nobody can vouch for a node that has not failed yet",
            field=".spec.confirmation",
        ),
    )

    spec: Annotated[ManualRemediationSpec, about("The spec of each remediation made from this.")] = (
        ManualRemediationSpec()
    )


class ManualRemediationTemplateSpec(Wire):
    template: Annotated[TemplatedSpec, about("What each remediation starts as.")] = TemplatedSpec()


class ManualRemediationTemplate(Wire):
    """From which health checks make ManualRemediations."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ManualRemediationTemplateSpec = ManualRemediationTemplateSpec()
