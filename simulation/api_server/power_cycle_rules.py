"""The transition rules of the Metal3Remediation CRD, in the order of the CRD."""

from typing import Final

from simulation.api_server.admission import Attempt, Operation, RuleViolation
from simulation.api_server.remediation_rules import NOTHING, Holds, Part, boot_stays, status_of


def _host(object_: Part) -> str:
    found: str = (status_of(object_, "host") or NOTHING).get("uid", "")
    return found


def _retries_rise_by_one(new: Part, old: Part) -> bool:
    before = status_of(old, "retryCount", 0)
    return status_of(new, "retryCount", 0) in (before, before + 1)


def _evidence_is_for_these(new: Part, _old: Part) -> bool:
    evidence = status_of(new, "evidence")
    return evidence is None or (
        evidence["nodeUID"] == status_of(new, "nodeUID", "")
        and evidence["bootID"] == status_of(new, "bootID", "")
        and (evidence.get("host") or NOTHING).get("uid", "") == _host(new)
    )


def _evidence_stays_as_recorded(new: Part, old: Part) -> bool:
    before, after = status_of(old, "evidence"), status_of(new, "evidence")
    return before is None or after is None or before == after


def _evidence_outlasts_the_taint(new: Part, old: Part) -> bool:
    removed = status_of(old, "evidence") is not None and status_of(new, "evidence") is None
    return not removed or not status_of(new, "tainted")


ON_UPDATE: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "spec",
        lambda new, old: new.get("spec") == old.get("spec"),
        "cannot be changed: it may be in progress; delete this object and change the template",
    ),
    (
        "status.epoch",
        lambda new, old: bool(status_of(new, "epoch", 0) >= status_of(old, "epoch", 0)),
        "must not decrease: a later leader has written this status, so this writer no longer leads",
    ),
    (
        "status.nodeUID",
        lambda new, old: status_of(old, "nodeUID", "") in {"", status_of(new, "nodeUID", "")},
        "cannot be changed once it is set: a remediation is for one Node object",
    ),
    (
        "status.host",
        lambda new, old: _host(old) in {"", _host(new)},
        "cannot be changed once it is set: a remediation is for one host",
    ),
    (
        "status.bootID",
        boot_stays,
        "cannot be removed, nor changed while evidence is recorded: evidence is for one boot",
    ),
    (
        "status.retryCount",
        _retries_rise_by_one,
        "must increase by one with each failed attempt, and must not decrease",
    ),
    (
        "status.evidence",
        _evidence_stays_as_recorded,
        "cannot be changed: evidence is recorded once, and removed before other evidence is recorded",
    ),
    (
        "status.evidence",
        _evidence_outlasts_the_taint,
        "cannot be removed while the taint may be on the node",
    ),
)
"""Rules that compare with the old object; evaluated on updates."""

ALWAYS: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "status.tainted",
        lambda new, _: not status_of(new, "tainted") or status_of(new, "evidence") is not None,
        "must not be true without status.evidence: workloads are released on evidence alone",
    ),
    (
        "status.released",
        lambda new, _: (
            not (status_of(new, "released") and status_of(new, "tainted"))
            or status_of(new, "evidence") is not None
        ),
        "must not be true without status.evidence if status.tainted is true",
    ),
    (
        "status.evidence",
        _evidence_is_for_these,
        "must be for the node, the boot and the host in the status",
    ),
)
"""Rules that are evaluated on every write."""


def power_cycle_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    new, old = attempt.new, attempt.old
    rules = [*(ON_UPDATE if old is not None else ()), *ALWAYS]
    return [
        RuleViolation(field, message) for field, holds, message in rules if not holds(new, old or NOTHING)
    ]
