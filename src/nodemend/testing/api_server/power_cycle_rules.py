"""The transition rules of the Metal3Remediation CRD, in the order in which it has them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from nodemend.testing.api_server.admission import Attempt, Operation, RuleViolation

Part = Mapping[str, Any]
Holds = Callable[[Part, Part], bool]
NOTHING: Final[Part] = {}


def _status(object_: Part, name: str, absent: Any = None) -> Any:
    return (object_.get("status") or NOTHING).get(name, absent)


def _host(object_: Part) -> str:
    found: str = (_status(object_, "host") or NOTHING).get("uid", "")
    return found


def _boot_stays(new: Part, old: Part) -> bool:
    before, after = _status(old, "bootID", ""), _status(new, "bootID", "")
    no_evidence = _status(old, "evidence") is None and _status(new, "evidence") is None
    return before in {"", after} or (after != "" and no_evidence)


def _retries_rise_by_one(new: Part, old: Part) -> bool:
    before = _status(old, "retryCount", 0)
    return _status(new, "retryCount", 0) in (before, before + 1)


def _evidence_is_for_these(new: Part, _old: Part) -> bool:
    evidence = _status(new, "evidence")
    return evidence is None or (
        evidence["nodeUID"] == _status(new, "nodeUID", "")
        and evidence["bootID"] == _status(new, "bootID", "")
        and (evidence.get("host") or NOTHING).get("uid", "") == _host(new)
    )


def _evidence_stays_as_recorded(new: Part, old: Part) -> bool:
    before, after = _status(old, "evidence"), _status(new, "evidence")
    return before is None or after is None or before == after


def _evidence_outlasts_the_taint(new: Part, old: Part) -> bool:
    removed = _status(old, "evidence") is not None and _status(new, "evidence") is None
    return not removed or not _status(new, "tainted")


ON_UPDATE: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "spec",
        lambda new, old: new.get("spec") == old.get("spec"),
        "cannot be changed: it may be under way; delete this, and change the template",
    ),
    (
        "status.epoch",
        lambda new, old: bool(_status(new, "epoch", 0) >= _status(old, "epoch", 0)),
        "must not fall: a later leadership has written here, so this writer no longer leads",
    ),
    (
        "status.nodeUID",
        lambda new, old: _status(old, "nodeUID", "") in {"", _status(new, "nodeUID", "")},
        "cannot be changed once it is set: a remediation is for one Node object",
    ),
    (
        "status.host",
        lambda new, old: _host(old) in {"", _host(new)},
        "cannot be changed once it is set: a remediation is for one host",
    ),
    (
        "status.bootID",
        _boot_stays,
        "cannot be removed, nor changed while there is evidence: evidence is for one boot",
    ),
    (
        "status.retryCount",
        _retries_rise_by_one,
        "rises by one with each attempt that failed, and never falls",
    ),
    (
        "status.evidence",
        _evidence_stays_as_recorded,
        "cannot be changed: it is recorded once, and forgotten before there is other evidence",
    ),
    (
        "status.evidence",
        _evidence_outlasts_the_taint,
        "cannot be removed while the taint may be on the node",
    ),
)
"""Asked when there is an old object to compare with."""

ALWAYS: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "status.tainted",
        lambda new, _: not _status(new, "tainted") or _status(new, "evidence") is not None,
        "must not be true without status.evidence: workloads are released on evidence alone",
    ),
    (
        "status.released",
        lambda new, _: (
            not (_status(new, "released") and _status(new, "tainted")) or _status(new, "evidence") is not None
        ),
        "must not be true without status.evidence where the taint was asked for",
    ),
    (
        "status.evidence",
        _evidence_is_for_these,
        "must be for the node, the boot and the host that the status names",
    ),
)
"""Asked on every write."""


def power_cycle_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    new, old = attempt.new, attempt.old
    rules = [*(ON_UPDATE if old is not None else ()), *ALWAYS]
    return [
        RuleViolation(field, message) for field, holds, message in rules if not holds(new, old or NOTHING)
    ]
