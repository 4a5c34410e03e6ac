"""One node as the checker would judge it, by the code that decides. Pure."""

from dataclasses import dataclass

from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.survey import guard_facts
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target
from nodemend.controllers.node_health_check.orders import Weighed, age_by, as_order
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.node_health import NodeHealth, judge
from nodemend.decide.remediation_order import weigh
from nodemend.decide.remediation_request import Open


@dataclass(frozen=True, slots=True)
class Judged:
    """A node under a check. Every other node is judged for it too, as the guard counts them all."""

    target: Target
    health: NodeHealth
    existing: Open | None
    """The remediation that is there for it, of whatever kind."""
    guarding: GuardFacts
    weighed: Weighed
    """What a person has ordered for it."""


def judge_node(facts: ExplainFacts) -> Judged | None:
    """None when no check watches it."""
    target = gather.find_target(facts.view, facts.node.name)
    if target is None:
        return None
    health = judge(target.check.spec.thresholds, facts.conditions)
    found = gather.find_remediation(facts.view, target)
    # A command has not watched it: no time of it has passed.
    existing = gather.as_open(found, target, facts.view, 0.0) if found is not None else None
    weighed = _weigh(facts, health, existing)
    return Judged(target, health, existing, guard_facts(facts, target), weighed)


def _weigh(facts: ExplainFacts, health: NodeHealth, existing: Open | None) -> Weighed:
    """By the time written in the order and the API server's clock."""
    found = facts.view.orders.get(facts.node.name)
    if found is None or found.metadata.deleting:
        return Weighed()
    order = as_order(found, age_by(found, facts.now.timestamp()) or 0.0)
    return Weighed(order, weigh(order, facts.node.uid, health, existing))
