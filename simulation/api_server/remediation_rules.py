"""The transition rules of the ManualRemediation CRD, in the order of the CRD.

Each line of a table is one rule: the field in the refusal, the condition that must hold, and the server's
message.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulation.api_server.admission import Attempt, Operation, RuleViolation

Part = Mapping[str, Any]
Holds = Callable[[Part, Part], bool]
NOTHING: Final[Part] = {}


def _spec(object_: Part, name: str) -> Any:
    return (object_.get("spec") or NOTHING).get(name)


def status_of(object_: Part, name: str, absent: Any = None) -> Any:
    return (object_.get("status") or NOTHING).get(name, absent)


def _confirmation_is_not_withdrawn_late(new: Part, old: Part) -> bool:
    withdrawn = _spec(old, "confirmation") is not None and _spec(new, "confirmation") is None
    return not withdrawn or not (status_of(old, "tainted") or status_of(old, "released"))


def boot_stays(new: Part, old: Part) -> bool:
    before, after = status_of(old, "bootID", ""), status_of(new, "bootID", "")
    no_evidence = status_of(old, "evidence") is None and status_of(new, "evidence") is None
    return before in {"", after} or (after != "" and no_evidence)


def _evidence_is_for_this_node_and_boot(new: Part, _old: Part) -> bool:
    evidence = status_of(new, "evidence")
    return evidence is None or (
        evidence["nodeUID"] == status_of(new, "nodeUID", "")
        and evidence["bootID"] == status_of(new, "bootID", "")
    )


def _evidence_repeats_confirmation(new: Part, old: Part) -> bool:
    evidence, confirmation = status_of(new, "evidence"), _spec(new, "confirmation")
    if evidence is None or evidence["class"] != "E5":
        return True
    previous = status_of(old, "evidence") is not None
    if previous and (status_of(old, "tainted") or not status_of(new, "tainted")):
        return True
    fields = ("by", "reason", "nodeUID", "bootID", "lastRenewTime")
    return confirmation is not None and all(
        evidence.get(field, "") == confirmation[field] for field in fields
    )


def _evidence_outlasts_the_taint(new: Part, old: Part) -> bool:
    removed = status_of(old, "evidence") is not None and status_of(new, "evidence") is None
    return not removed or not (status_of(new, "tainted") or status_of(old, "released"))


def _same_once_set(name: str, get: Callable[[Part, str], Any]) -> Holds:
    def holds(new: Part, old: Part) -> bool:
        before, after = get(old, name), get(new, name)
        return before is None or after is None or before == after

    return holds


ALWAYS: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "status.tainted",
        lambda new, _: not status_of(new, "tainted") or status_of(new, "evidence") is not None,
        "must not be true without status.evidence: workloads are released on evidence alone",
    ),
    (
        "status.released",
        lambda new, _: not status_of(new, "released") or status_of(new, "evidence") is not None,
        "must not be true without status.evidence: workloads are released on evidence alone",
    ),
    (
        "status.evidence",
        _evidence_is_for_this_node_and_boot,
        "must be for the node and the boot in status.nodeUID and status.bootID",
    ),
)
"""Rules that are evaluated on every write."""

ON_UPDATE: Final[tuple[tuple[str, Holds, str], ...]] = (
    (
        "spec.confirmation",
        _same_once_set("confirmation", _spec),
        "cannot be changed: withdraw the confirmation, then confirm again",
    ),
    (
        "status.evidence",
        _same_once_set("evidence", status_of),
        "cannot be changed: it is recorded once",
    ),
    (
        "spec.confirmation",
        _confirmation_is_not_withdrawn_late,
        "may be withdrawn only before the release starts: this remediation is releasing or has released",
    ),
    (
        "spec.instructions",
        lambda new, old: _spec(new, "instructions") == _spec(old, "instructions"),
        "cannot be changed: an operator may be following them; change the template for the next remediation",
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
        boot_stays,
        "cannot be removed, nor changed while evidence is recorded: evidence is for one boot",
    ),
    (
        "status.released",
        lambda new, old: not status_of(old, "released") or bool(status_of(new, "released")),
        "cannot be reset to false: a release is never undone",
    ),
    (
        "status.evidence",
        _evidence_repeats_confirmation,
        "must repeat spec.confirmation if its class is E5: that evidence is the operator's confirmation",
    ),
    (
        "status.evidence",
        _evidence_outlasts_the_taint,
        "cannot be removed while the taint may be on the node, nor after the release",
    ),
)
"""Rules that compare with the old object; evaluated on updates."""


def remediation_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    new, old = attempt.new, attempt.old
    rules = [*ALWAYS, *(ON_UPDATE if old is not None else ())]
    found = [
        RuleViolation(field, message) for field, holds, message in rules if not holds(new, old or NOTHING)
    ]
    if old is None and _spec(new, "confirmation") is not None:
        why = "must be absent from a new remediation: confirm it later, with kubectl mend confirm"
        found.append(RuleViolation("spec.confirmation", why))
    return found


def template_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    template = (attempt.new.get("spec") or NOTHING).get("template") or NOTHING
    if (template.get("spec") or NOTHING).get("confirmation") is None:
        return []
    why = "must be absent from a template: only a node that has failed can be confirmed as down"
    return [RuleViolation("spec.template.spec.confirmation", why)]


def policy_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.new is None or attempt.new["metadata"]["name"] == "cluster":
        return []
    why = "a cluster has one RemediationPolicy: metadata.name must be cluster"
    return [RuleViolation("", why)]


def order_rules(attempt: Attempt) -> list[RuleViolation]:
    if attempt.new is None or attempt.old is None or attempt.new.get("spec") == attempt.old.get("spec"):
        return []
    return [RuleViolation("spec", "cannot be changed: delete the order, then create a new one")]
