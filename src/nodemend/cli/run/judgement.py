"""Whether an order makes sense now, by the code that follows it. Pure."""

from dataclasses import dataclass

from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.judging import Judged, judge_node
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import HoldReason
from nodemend.decide.remediation_order import is_well, passes
from nodemend.decide.storm_guard import reasons


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """What a person should know before they order: the node, and what they may."""

    node: ExplainFacts
    caller: str
    may_run: bool
    may_override: bool


@dataclass(frozen=True, slots=True)
class Sensible:
    """It may be ordered. `holds` is why it would not begin now; `passed` what an override would pass."""

    judged: Judged
    holds: tuple[HoldReason, ...]
    passed: tuple[HoldReason, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an order makes no sense now, and what to do instead."""

    why: str
    next_step: str


def weigh_order(facts: OrderFacts, *, past_guard: bool) -> Sensible | Refusal:
    node = facts.node.node.name
    if (refusal := _refuse_caller(facts, past_guard=past_guard)) is not None:
        return refusal
    judged = judge_node(facts.node)
    if judged is None:
        return Refusal(
            f"{node} is watched by no check, so there is no remedy for it.",
            "write a NodeHealthCheck that selects it.",
        )
    if (refusal := _refuse_state(facts, judged)) is not None:
        return refusal
    passed, held = passes(reasons(judged.guarding))
    if not past_guard:
        return Sensible(judged, (*held, *passed), ())
    return _refuse_override(node, passed, held) or Sensible(judged, (), passed)


def _refuse_caller(facts: OrderFacts, *, past_guard: bool) -> Refusal | None:
    if past_guard and not (facts.may_run and facts.may_override):
        # That role alone is enough: who may override may order, too.
        return Refusal(
            f"{facts.caller} may not override the guard.",
            "ask for the ClusterRole nodemend-overrider, which has the verbs create and override on"
            " remediationorders.",
        )
    if not facts.may_run:
        return Refusal(
            f"{facts.caller} may not order remediations.",
            "ask for the ClusterRole nodemend-operator, which may create remediationorders.",
        )
    return None


def _refuse_state(facts: OrderFacts, judged: Judged) -> Refusal | None:
    node, check = facts.node.node.name, judged.target.check.metadata.name
    if judged.existing is not None or facts.node.open_ is not None:
        return Refusal(f"{node} is under remediation already.", f"kubectl mend explain {node}")
    if is_well(judged.health):
        # It would be withdrawn as soon as it is there: to a check, Ready and no threshold met is healed.
        return Refusal(
            f"{node} is Ready, and nhc/{check} finds nothing wrong with it: a remediation would end at once.",
            f"kubectl drain {node} takes a node out of service that runs; a condition of its own in"
            " spec.thresholds tells the check what is wrong.",
        )
    return None


def _refuse_override(
    node: str, passed: tuple[HoldReason, ...], held: tuple[HoldReason, ...]
) -> Refusal | None:
    """An override that would pass nothing, or not enough, is refused: it should stay an exception."""
    if held:
        said = explain(held[0])
        return Refusal(f"An override does not pass this: {said.sentence}", said.next_step)
    if not passed:
        return Refusal(
            f"Nothing holds {node} that an override would pass.", f"kubectl mend run {node} --reason ..."
        )
    return None
