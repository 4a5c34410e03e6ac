"""What the API server refuses to let happen to a SelfRemediation, whoever writes.

These stand at the root of the schema: a status that is left out of a write must not slip past them.
"""

from typing import Final

from nodemend.api.wire import Rule

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
