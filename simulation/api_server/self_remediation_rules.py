"""The transition rules of the SelfRemediation CRD, in the order of the CRD."""

from typing import Final

from simulation.api_server.admission import Attempt, Operation, RuleViolation
from simulation.api_server.remediation_rules import NOTHING, Holds, Part, status_of


def _class(object_: Part) -> str:
    found: str = (status_of(object_, "evidence") or NOTHING).get("class", "")
    return found


def _boot_stays(new: Part, old: Part) -> bool:
    before, after = status_of(old, "bootID", ""), status_of(new, "bootID", "")
    bound = any(status_of(one, "evidence") for one in (old, new)) or status_of(new, "marked")
    return before in {"", after} or (bool(after) and not bound)


def _contradiction_stays(new: Part, old: Part) -> bool:
    forgotten = status_of(old, "contradicted") and not status_of(new, "contradicted")
    return not forgotten or status_of(new, "bootID", "") != status_of(old, "bootID", "")


def _evidence_is_for_these(new: Part, _old: Part) -> bool:
    evidence = status_of(new, "evidence")
    return evidence is None or (
        evidence["nodeUID"] == status_of(new, "nodeUID", "")
        and evidence["bootID"] == status_of(new, "bootID", "")
    )


def _time_is_proven(new: Part, old: Part) -> bool:
    if _class(new) != "E4" or _class(old) == "E4":
        return True
    proven, needed = status_of(new, "provenSeconds", 0), status_of(new, "safeTimeSeconds", 0)
    marked = status_of(new, "marked") is not None and not status_of(new, "contradicted")
    return bool(marked and 0 < needed <= proven)


def _evidence_stays_as_recorded(new: Part, old: Part) -> bool:
    before, after = status_of(old, "evidence"), status_of(new, "evidence")
    return before is None or after is None or before == after


def _evidence_outlasts_the_taint(new: Part, old: Part) -> bool:
    removed = status_of(old, "evidence") is not None and status_of(new, "evidence") is None
    return not removed or not (status_of(new, "tainted") or status_of(old, "released"))


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
        "status.bootID",
        _boot_stays,
        "cannot be removed, nor changed once it is marked or evidence is recorded: both are for one boot",
    ),
    (
        "status.contradicted",
        _contradiction_stays,
        "cannot be reset to false for the same boot",
    ),
    (
        "status.released",
        lambda new, old: not status_of(old, "released") or bool(status_of(new, "released")),
        "cannot be reset to false: a release is never undone",
    ),
    (
        "status.evidence",
        _time_is_proven,
        "must not be E4 before status.provenSeconds reaches status.safeTimeSeconds",
    ),
    (
        "status.evidence",
        _evidence_stays_as_recorded,
        "cannot be changed: evidence is recorded once, and removed before other evidence is recorded",
    ),
    (
        "status.evidence",
        _evidence_outlasts_the_taint,
        "cannot be removed while the taint may be on the node, nor after the release",
    ),
)
"""Rules that compare with the old object; evaluated on updates."""

_ON_EVIDENCE: Final = "must not be true without status.evidence: workloads are released on evidence alone"

ALWAYS: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "status.tainted",
        lambda new, _: not status_of(new, "tainted") or status_of(new, "evidence") is not None,
        _ON_EVIDENCE,
    ),
    (
        "status.released",
        lambda new, _: not status_of(new, "released") or status_of(new, "evidence") is not None,
        _ON_EVIDENCE,
    ),
    (
        "status.evidence",
        _evidence_is_for_these,
        "must be for the node and the boot in status.nodeUID and status.bootID",
    ),
    (
        "status.evidence",
        lambda new, _: _class(new) in {"", "E2", "E4"},
        "must be a new boot (E2) or a proof by time (E4)",
    ),
)
"""Rules that are evaluated on every write."""


def self_remediation_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    new, old = attempt.new, attempt.old
    rules = [*(ON_UPDATE if old is not None else ()), *ALWAYS]
    return [
        RuleViolation(field, message) for field, holds, message in rules if not holds(new, old or NOTHING)
    ]
