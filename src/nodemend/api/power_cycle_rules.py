"""What the API server refuses to let happen to a Metal3Remediation, whoever writes.

These stand at the root of the schema: a status that is left out of a write must not slip past them.
"""

from typing import Final

from nodemend.api.wire import Rule

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
