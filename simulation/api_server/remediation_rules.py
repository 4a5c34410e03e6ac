"""The transition rules in the CRDs of remediations, of their template, and of settings and orders.

Each table has the rules of one CRD in its order; each rule has the server's message.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from simulation.api_server.admission import Attempt, Operation, RuleViolation

Part = Mapping[str, Any]
Holds = Callable[[Part, Part], bool]
NOTHING: Final[Part] = {}


class Rule(NamedTuple):
    """The field in the refusal, the condition on the new and the old object, and the message."""

    field: str
    holds: Holds
    message: str
    always: bool = False
    """False: it compares with the old object and is evaluated on updates only."""


def _spec(object_: Part, name: str) -> Any:
    return (object_.get("spec") or NOTHING).get(name)


def status_of(object_: Part, name: str, absent: Any = None) -> Any:
    return (object_.get("status") or NOTHING).get(name, absent)


def _host(object_: Part) -> str:
    found: str = (status_of(object_, "host") or NOTHING).get("uid", "")
    return found


def _class(object_: Part) -> str:
    found: str = (status_of(object_, "evidence") or NOTHING).get("class", "")
    return found


def _confirmation_is_not_withdrawn_late(new: Part, old: Part) -> bool:
    withdrawn = _spec(old, "confirmation") is not None and _spec(new, "confirmation") is None
    return not withdrawn or not (status_of(old, "tainted") or status_of(old, "released"))


def _boot_stays(new: Part, old: Part) -> bool:
    before, after = status_of(old, "bootID", ""), status_of(new, "bootID", "")
    no_evidence = status_of(old, "evidence") is None and status_of(new, "evidence") is None
    return before in {"", after} or (after != "" and no_evidence)


def _marked_boot_stays(new: Part, old: Part) -> bool:
    before, after = status_of(old, "bootID", ""), status_of(new, "bootID", "")
    bound = any(status_of(one, "evidence") for one in (old, new)) or status_of(new, "marked")
    return before in {"", after} or (bool(after) and not bound)


def _contradiction_stays(new: Part, old: Part) -> bool:
    forgotten = status_of(old, "contradicted") and not status_of(new, "contradicted")
    return not forgotten or status_of(new, "bootID", "") != status_of(old, "bootID", "")


def _retries_rise_by_one(new: Part, old: Part) -> bool:
    before = status_of(old, "retryCount", 0)
    return status_of(new, "retryCount", 0) in (before, before + 1)


def _evidence_is_for_this_node_and_boot(new: Part, _old: Part) -> bool:
    evidence = status_of(new, "evidence")
    return evidence is None or (
        evidence["nodeUID"] == status_of(new, "nodeUID", "")
        and evidence["bootID"] == status_of(new, "bootID", "")
    )


def _evidence_is_for_this_host_too(new: Part, old: Part) -> bool:
    evidence = status_of(new, "evidence")
    return evidence is None or (
        _evidence_is_for_this_node_and_boot(new, old)
        and (evidence.get("host") or NOTHING).get("uid", "") == _host(new)
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


def _time_is_proven(new: Part, old: Part) -> bool:
    if _class(new) != "E4" or _class(old) == "E4":
        return True
    proven, needed = status_of(new, "provenSeconds", 0), status_of(new, "safeTimeSeconds", 0)
    marked = status_of(new, "marked") is not None and not status_of(new, "contradicted")
    return bool(marked and 0 < needed <= proven)


def _evidence_outlasts_the_taint(new: Part, old: Part) -> bool:
    removed = status_of(old, "evidence") is not None and status_of(new, "evidence") is None
    return not removed or not status_of(new, "tainted")


def _evidence_outlasts_taint_and_release(new: Part, old: Part) -> bool:
    removed = status_of(old, "evidence") is not None and status_of(new, "evidence") is None
    return not removed or not (status_of(new, "tainted") or status_of(old, "released"))


def _same_once_set(name: str, get: Callable[[Part, str], Any]) -> Holds:
    def holds(new: Part, old: Part) -> bool:
        before, after = get(old, name), get(new, name)
        return before is None or after is None or before == after

    return holds


def _only_with_evidence(field: str) -> Rule:
    return Rule(
        f"status.{field}",
        lambda new, _: not status_of(new, field) or status_of(new, "evidence") is not None,
        "must not be true without status.evidence: workloads are released on evidence alone",
        always=True,
    )


SPEC_STAYS: Final = Rule(
    "spec",
    lambda new, old: new.get("spec") == old.get("spec"),
    "cannot be changed: it may be in progress; delete this object and change the template",
)
EPOCH_STAYS_OR_RISES: Final = Rule(
    "status.epoch",
    lambda new, old: bool(status_of(new, "epoch", 0) >= status_of(old, "epoch", 0)),
    "must not decrease: a later leader has written this status, so this writer no longer leads",
)
NODE_STAYS: Final = Rule(
    "status.nodeUID",
    lambda new, old: status_of(old, "nodeUID", "") in {"", status_of(new, "nodeUID", "")},
    "cannot be changed once it is set: a remediation is for one Node object",
)
BOOT_STAYS: Final = Rule(
    "status.bootID",
    _boot_stays,
    "cannot be removed, nor changed while evidence is recorded: evidence is for one boot",
)
RELEASE_STAYS: Final = Rule(
    "status.released",
    lambda new, old: not status_of(old, "released") or bool(status_of(new, "released")),
    "cannot be reset to false: a release is never undone",
)
EVIDENCE_STAYS: Final = Rule(
    "status.evidence",
    _same_once_set("evidence", status_of),
    "cannot be changed: evidence is recorded once, and removed before other evidence is recorded",
)
EVIDENCE_OUTLASTS_RELEASE: Final = Rule(
    "status.evidence",
    _evidence_outlasts_taint_and_release,
    "cannot be removed while the taint may be on the node, nor after the release",
)
EVIDENCE_FITS: Final = Rule(
    "status.evidence",
    _evidence_is_for_this_node_and_boot,
    "must be for the node and the boot in status.nodeUID and status.bootID",
    always=True,
)
TAINT_NEEDS_EVIDENCE: Final = _only_with_evidence("tainted")
RELEASE_NEEDS_EVIDENCE: Final = _only_with_evidence("released")

MANUAL: Final = (
    TAINT_NEEDS_EVIDENCE,
    RELEASE_NEEDS_EVIDENCE,
    EVIDENCE_FITS,
    Rule(
        "spec.confirmation",
        _same_once_set("confirmation", _spec),
        "cannot be changed: withdraw the confirmation, then confirm again",
    ),
    EVIDENCE_STAYS._replace(message="cannot be changed: it is recorded once"),
    Rule(
        "spec.confirmation",
        _confirmation_is_not_withdrawn_late,
        "may be withdrawn only before the release starts: this remediation is releasing or has released",
    ),
    Rule(
        "spec.instructions",
        lambda new, old: _spec(new, "instructions") == _spec(old, "instructions"),
        "cannot be changed: an operator may be following them; change the template for the next remediation",
    ),
    EPOCH_STAYS_OR_RISES,
    NODE_STAYS,
    BOOT_STAYS,
    RELEASE_STAYS,
    Rule(
        "status.evidence",
        _evidence_repeats_confirmation,
        "must repeat spec.confirmation if its class is E5: that evidence is the operator's confirmation",
    ),
    EVIDENCE_OUTLASTS_RELEASE,
)
POWER_CYCLE: Final = (
    SPEC_STAYS,
    EPOCH_STAYS_OR_RISES,
    NODE_STAYS,
    Rule(
        "status.host",
        lambda new, old: _host(old) in {"", _host(new)},
        "cannot be changed once it is set: a remediation is for one host",
    ),
    BOOT_STAYS,
    Rule(
        "status.retryCount",
        _retries_rise_by_one,
        "must increase by one with each failed attempt, and must not decrease",
    ),
    EVIDENCE_STAYS,
    Rule(
        "status.evidence",
        _evidence_outlasts_the_taint,
        "cannot be removed while the taint may be on the node",
    ),
    TAINT_NEEDS_EVIDENCE,
    Rule(
        "status.released",
        lambda new, _: (
            not (status_of(new, "released") and status_of(new, "tainted"))
            or status_of(new, "evidence") is not None
        ),
        "must not be true without status.evidence if status.tainted is true",
        always=True,
    ),
    Rule(
        "status.evidence",
        _evidence_is_for_this_host_too,
        "must be for the node, the boot and the host in the status",
        always=True,
    ),
)
SELF_FENCING: Final = (
    SPEC_STAYS,
    EPOCH_STAYS_OR_RISES,
    NODE_STAYS,
    Rule(
        "status.bootID",
        _marked_boot_stays,
        "cannot be removed, nor changed once it is marked or evidence is recorded: both are for one boot",
    ),
    Rule("status.contradicted", _contradiction_stays, "cannot be reset to false for the same boot"),
    RELEASE_STAYS,
    Rule(
        "status.evidence",
        _time_is_proven,
        "must not be E4 before status.provenSeconds reaches status.safeTimeSeconds",
    ),
    EVIDENCE_STAYS,
    EVIDENCE_OUTLASTS_RELEASE,
    TAINT_NEEDS_EVIDENCE,
    RELEASE_NEEDS_EVIDENCE,
    EVIDENCE_FITS,
    Rule(
        "status.evidence",
        lambda new, _: _class(new) in {"", "E2", "E4"},
        "must be a new boot (E2) or a proof by time (E4)",
        always=True,
    ),
)


def _broken(attempt: Attempt, rules: tuple[Rule, ...]) -> list[RuleViolation]:
    if attempt.operation is Operation.DELETE or attempt.new is None:
        return []
    new, old = attempt.new, attempt.old
    due = [rule for rule in rules if rule.always or old is not None]
    return [RuleViolation(rule.field, rule.message) for rule in due if not rule.holds(new, old or NOTHING)]


def remediation_rules(attempt: Attempt) -> list[RuleViolation]:
    found = _broken(attempt, MANUAL)
    if attempt.old is None and _spec(attempt.new or NOTHING, "confirmation") is not None:
        why = "must be absent from a new remediation: confirm it later, with kubectl mend confirm"
        found.append(RuleViolation("spec.confirmation", why))
    return found


def power_cycle_rules(attempt: Attempt) -> list[RuleViolation]:
    return _broken(attempt, POWER_CYCLE)


def self_remediation_rules(attempt: Attempt) -> list[RuleViolation]:
    return _broken(attempt, SELF_FENCING)


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
