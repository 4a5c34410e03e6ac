"""What the API server refuses to let happen to a ManualRemediation, whoever writes.

These stand at the root of the schema: they relate spec and status, and a status that is left out of a write
altogether must not slip past them.
"""

from typing import Final

from nodemend.api.wire import Rule

_WORD: Final = "self.?spec.?confirmation.hasValue()"
_WORD_BEFORE: Final = "oldSelf.?spec.?confirmation.hasValue()"
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
_REPEATS_THE_WORD: Final = " && ".join(
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
        f"!{_WORD_BEFORE} || {_WORD} || !({_TAINTED_BEFORE} || {_RELEASED_BEFORE})",
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
        f" || ({_WORD} && {_REPEATS_THE_WORD})",
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
