"""Status fields and CEL rules that the kinds of remediation which release workloads share.

The API server applies the CEL rules of a kind to every writer. They are at the root of the schema: a rule on
the status would not apply to a write that omits the status.
"""

from typing import Annotated, Final

from nodemend.api.evidence import BOOT_ID, Evidence
from nodemend.api.meta import Condition, Rule, about

Epoch = Annotated[
    int, about("The epoch of the leader that wrote this status. Writes with a lower one are refused.", ge=0)
]
WaitMessage = Annotated[str, about("The reason why it waits, and how to resolve that.", max_length=1024)]
EndingBootId = Annotated[str, about("The ID of the boot that must end.", max_length=128, example=BOOT_ID)]
RecordedEvidence = Annotated[Evidence | None, about("The evidence for the release, recorded before it.")]
Tainted = Annotated[
    bool, about("The release has started: Nodemend's out-of-service taint may be on the Node.")
]
Released = Annotated[bool, about("All pods and volumes have left the node.")]
PodsLeft = Annotated[int, about("Pods still bound to the node.", ge=0)]
AttachmentsLeft = Annotated[int, about("Volumes still attached to the node.", ge=0)]
RemediationConditions = Annotated[
    tuple[Condition, ...],
    about(
        "Processing, Fenced, WorkloadReleased, Succeeded, EvidenceContradicted.",
        max_length=16,
        keys=("type",),
    ),
]

# Parts of CEL rules: what a remediation's status says now, and what it said before this write.
HAS_EVIDENCE: Final = "self.?status.?evidence.hasValue()"
HAD_EVIDENCE: Final = "oldSelf.?status.?evidence.hasValue()"
TAINTED: Final = "self.?status.?tainted.orValue(false)"
TAINTED_BEFORE: Final = "oldSelf.?status.?tainted.orValue(false)"
RELEASED: Final = "self.?status.?released.orValue(false)"
RELEASED_BEFORE: Final = "oldSelf.?status.?released.orValue(false)"
_EPOCH: Final = "self.?status.?epoch.orValue(0)"
_EPOCH_BEFORE: Final = "oldSelf.?status.?epoch.orValue(0)"
NODE: Final = "self.?status.?nodeUID.orValue('')"
_NODE_BEFORE: Final = "oldSelf.?status.?nodeUID.orValue('')"
BOOT: Final = "self.?status.?bootID.orValue('')"
BOOT_BEFORE: Final = "oldSelf.?status.?bootID.orValue('')"

_IN_PROGRESS: Final = "it may be in progress; delete this object and change the template"
_ON_EVIDENCE: Final = "must not be true without status.evidence: workloads are released on evidence alone"

SPEC_KEPT: Final = Rule(
    "has(self.spec) == has(oldSelf.spec)", f"cannot be added or removed: {_IN_PROGRESS}", field=".spec"
)
EPOCH_GROWS: Final = Rule(
    f"{_EPOCH} >= {_EPOCH_BEFORE}",
    "must not decrease: a later leader has written this status, so this writer no longer leads",
    field=".status.epoch",
)
NODE_FIXED: Final = Rule(
    f"{_NODE_BEFORE} in ['', {NODE}]",
    "cannot be changed once it is set: a remediation is for one Node object",
    field=".status.nodeUID",
)
BOOT_FIXED_BY_EVIDENCE: Final = Rule(
    f"{BOOT_BEFORE} in ['', {BOOT}] || ({BOOT} != '' && !{HAD_EVIDENCE} && !{HAS_EVIDENCE})",
    "cannot be removed, nor changed while evidence is recorded: evidence is for one boot",
    field=".status.bootID",
)
TAINTED_ON_EVIDENCE: Final = Rule(f"!{TAINTED} || {HAS_EVIDENCE}", _ON_EVIDENCE, field=".status.tainted")
RELEASED_ON_EVIDENCE: Final = Rule(f"!{RELEASED} || {HAS_EVIDENCE}", _ON_EVIDENCE, field=".status.released")
RELEASED_KEPT: Final = Rule(
    f"!{RELEASED_BEFORE} || {RELEASED}",
    "cannot be reset to false: a release is never undone",
    field=".status.released",
)
EVIDENCE_OF_TARGET: Final = Rule(
    f"!{HAS_EVIDENCE} || (self.status.evidence.nodeUID == {NODE} && self.status.evidence.bootID == {BOOT})",
    "must be for the node and the boot in status.nodeUID and status.bootID",
    field=".status.evidence",
)
EVIDENCE_FIXED: Final = Rule(
    f"!{HAS_EVIDENCE} || !{HAD_EVIDENCE} || self.status.evidence == oldSelf.status.evidence",
    "cannot be changed: evidence is recorded once, and removed before other evidence is recorded",
    field=".status.evidence",
)
EVIDENCE_KEPT: Final = Rule(
    f"!{HAD_EVIDENCE} || {HAS_EVIDENCE} || !({TAINTED} || {RELEASED_BEFORE})",
    "cannot be removed while the taint may be on the node, nor after the release",
    field=".status.evidence",
)

FIXED_SETTINGS: Final = about(
    "The settings of the remediation.",
    rules=(Rule("self == oldSelf", f"cannot be changed: {_IN_PROGRESS}"),),
)
TEMPLATED_SPEC: Final = about("The spec of each remediation created from this template.")
TEMPLATE: Final = about("The content of each remediation.")
