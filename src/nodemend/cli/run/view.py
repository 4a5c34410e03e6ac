"""What `kubectl mend run` and `override` show before they ask, and say afterwards."""

from dataclasses import dataclass

from nodemend.cli.finding_words import spell_so_far
from nodemend.cli.run.judgement import OrderFacts, Sensible
from nodemend.cli.words import spell_seconds
from nodemend.decide.hold_explanations import explain
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_order import GOOD_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """`held` and `passed` are the sentences of the guard: why it would wait, or what it is let past."""

    node: str
    node_uid: str
    check: str
    by: str
    reason: str
    past_guard: bool
    state: str
    held: tuple[str, ...]
    passed: tuple[str, ...]
    before_by: str
    before_reason: str
    good_for: float = GOOD_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedView:
    """What became of it."""

    order: OrderView
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBackView:
    node: str
    by: str
    reason: str
    past_guard: bool
    dry_run: bool


def order_view(facts: OrderFacts, sensible: Sensible, reason: str, *, past_guard: bool) -> OrderView:
    judged, before = sensible.judged, sensible.judged.weighed.order
    return OrderView(
        node=facts.node.node.name,
        node_uid=facts.node.node.uid,
        check=judged.target.check.metadata.name,
        by=facts.caller,
        reason=reason,
        past_guard=past_guard,
        state=_state(judged.health),
        held=tuple(explain(hold).sentence for hold in sensible.holds),
        passed=tuple(explain(hold).sentence for hold in sensible.passed),
        before_by=before.by if before else "",
        before_reason=before.reason if before else "",
    )


def _state(health: NodeHealth) -> str:
    match health:
        case Suspect(match):
            return f"is suspect: {spell_so_far(match)}; unhealthy in {spell_seconds(match.remaining)}"
        case Unhealthy(match):
            return f"is unhealthy: {spell_so_far(match)}"
        case Healthy():
            return "is not Ready, though it meets no threshold"
        case Unjudged(why):
            return f"cannot be judged: {why}"
