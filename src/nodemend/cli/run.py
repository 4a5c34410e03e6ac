"""Checks, writes and withdraws the order of `kubectl mend run` and `override`.

The decision whether an order is useful now is pure, and uses the code that executes the order. Both commands
have the same flow: read, preview, confirm, write.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import click

from nodemend.api.remediation_policy import RemediationOrder
from nodemend.api.resources import NODE, REMEDIATION_ORDER
from nodemend.cli.cluster import (
    MANAGER,
    MOST_TRIES,
    Cluster,
    Refusal,
    accepted,
    may_have,
    not_installed,
    too_busy,
)
from nodemend.cli.connection import with_cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.explain.facts import ExplainFacts, gather_node
from nodemend.cli.explain.node import NodeReasoning, evaluate_node
from nodemend.cli.options import ClusterOptions, Form
from nodemend.cli.output import spell_so_far
from nodemend.cli.terminal import ask, show, write_lines
from nodemend.cli.text import quoted, spell_seconds
from nodemend.kube.request import Precondition, Request, create, delete, object_of
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import GOOD_FOR, is_well, passes
from nodemend.safety.guard import reasons
from nodemend.safety.holds import HoldReason


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """The facts that an operator should know before ordering: the node and the caller's rights."""

    node: ExplainFacts
    caller: str
    may_run: bool
    may_override: bool


@dataclass(frozen=True, slots=True)
class ValidOrder:
    """The order is useful.

    `holds` are the reasons that would delay it, `passed` those that an override passes.
    """

    judged: NodeReasoning
    holds: tuple[HoldReason, ...]
    passed: tuple[HoldReason, ...]


def check_order(facts: OrderFacts, *, past_guard: bool) -> ValidOrder | Refusal:
    node = facts.node.node.name
    if (refusal := _refuse_caller(facts, past_guard=past_guard)) is not None:
        return refusal
    judged = evaluate_node(facts.node)
    if judged is None:
        return Refusal(
            f"{node} is watched by no check, so there is no remedy for it.",
            "write a NodeHealthCheck that selects it.",
        )
    if (refusal := _refuse_state(facts, judged)) is not None:
        return refusal
    passed, held = passes(reasons(judged.guard_facts))
    if not past_guard:
        return ValidOrder(judged, (*held, *passed), ())
    return _refuse_override(node, passed, held) or ValidOrder(judged, (), passed)


def _refuse_caller(facts: OrderFacts, *, past_guard: bool) -> Refusal | None:
    if past_guard and not (facts.may_run and facts.may_override):
        # The ClusterRole nodemend-overrider is sufficient alone: it also grants the verb create.
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


def _refuse_state(facts: OrderFacts, judged: NodeReasoning) -> Refusal | None:
    node, check = facts.node.node.name, judged.target.check.metadata.name
    if judged.existing is not None or facts.node.open_ is not None:
        return Refusal(f"{node} is under remediation already.", f"kubectl mend explain {node}")
    if is_well(judged.health):
        # The checker would delete the remediation at once: it treats a node that is Ready and meets no
        # threshold as recovered.
        return Refusal(
            f"{node} is Ready, and nhc/{check} finds nothing wrong with it: a remediation would end at once.",
            f"kubectl drain {node} takes a running node out of service; a condition in spec.thresholds"
            " lets the check detect what is wrong.",
        )
    return None


def _refuse_override(
    node: str, passed: tuple[HoldReason, ...], held: tuple[HoldReason, ...]
) -> Refusal | None:
    """Refuse an override that would pass nothing, or not enough, so that overrides remain exceptions."""
    if held:
        said = held[0].explain()
        return Refusal(f"An override does not apply to this: {said.sentence}", said.next_step)
    if not passed:
        return Refusal(
            f"Nothing holds {node} that an override would pass.", f"kubectl mend run {node} --reason ..."
        )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderView:
    """The order to write.

    `held` and `passed` are the guard's sentences about reasons that hold the order, or that it passes.
    """

    kind: ClassVar[str] = "Order"
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
    kind: ClassVar[str] = "Ordered"
    order: OrderView
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderWithdrawnView:
    kind: ClassVar[str] = "OrderWithdrawn"
    node: str
    by: str
    reason: str
    past_guard: bool
    dry_run: bool


def order_view(facts: OrderFacts, sensible: ValidOrder, reason: str, *, past_guard: bool) -> OrderView:
    judged, before = sensible.judged, sensible.judged.evaluation.order
    return OrderView(
        node=facts.node.node.name,
        node_uid=facts.node.node.uid,
        check=judged.target.check.metadata.name,
        by=facts.caller,
        reason=reason,
        past_guard=past_guard,
        state=_state(judged.health),
        held=tuple(hold.explain().sentence for hold in sensible.holds),
        passed=tuple(hold.explain().sentence for hold in sensible.passed),
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


def render_preview(view: OrderView) -> Iterator[str]:
    """Render all facts that an operator should know before ordering."""
    yield f"{view.node} {view.state}, by nhc/{view.check}."
    if view.before_by:
        yield f"Its remediation is ordered already, by {view.before_by}: {view.before_reason}"
        yield "Your order would replace it."
    yield from (f"It would be held for now. {sentence}" for sentence in view.held[:1])
    if view.passed:
        yield "It would override these limits of the guard:"
        yield from (f"  {sentence}" for sentence in view.passed)
        yield "The guard holds it because the failures may have one common cause. Look for that first."


def render_ordered(view: OrderedView) -> Iterator[str]:
    order, verb = view.order, "override" if view.order.past_guard else "run"
    if view.dry_run:
        yield f"dry run: the API server would accept the order of {order.by} to remediate {order.node} now."
        yield "Nothing was changed."
        yield f"Next: kubectl mend {verb} {order.node} --reason {quoted(order.reason)}"
        return
    past = ", past the guard" if order.past_guard else ""
    yield f"ordered by {order.by}: the remediation of {order.node}, now{past}: {order.reason}"
    if order.held:
        yield f"It is held for now. {order.held[0]}"
    else:
        yield "The checker verifies everything once more, and then begins."
    good_for = spell_seconds(order.good_for)
    yield f"The order is valid for {good_for}, and ends when its remediation is created."
    yield f"  undo, until then:  kubectl mend {verb} {order.node} --withdraw"
    yield f"Next: kubectl mend explain {order.node}"


def render_order_withdrawn(view: OrderWithdrawnView) -> Iterator[str]:
    verb = "override" if view.past_guard else "run"
    if view.dry_run:
        yield f"dry run: the API server would withdraw the order of {view.by} to remediate {view.node}."
        yield "Nothing was changed."
        yield f"Next: kubectl mend {verb} {view.node} --withdraw"
        return
    yield f"withdrawn: the order of {view.by} to remediate {view.node}: {view.reason}"
    yield "If its remediation has already begun, that continues; kubectl mend stop ends it."
    yield f"  undo:  kubectl mend {verb} {view.node} --reason ..."
    yield f"Next: kubectl mend explain {view.node}"


_UNORDERED: Final = "Nothing was ordered."


async def prepare(cluster: Cluster, node: str, reason: str, *, past_guard: bool) -> OrderView:
    """Return the view to show. Raises CommandFailure if the order is not useful or not allowed."""
    facts = OrderFacts(
        node=await gather_node(cluster, node),
        caller=await cluster.caller(),
        may_run=await cluster.may("create", REMEDIATION_ORDER, name=node),
        may_override=await cluster.may("override", REMEDIATION_ORDER, name=node),
    )
    checked = accepted(check_order(facts, past_guard=past_guard), _UNORDERED)
    return order_view(facts, checked, reason, past_guard=past_guard)


async def order(cluster: Cluster, shown: OrderView, *, dry_run: bool) -> None:
    """Write the order for exactly the Node that was shown. An existing order is replaced."""
    for _ in range(MOST_TRIES):
        before = await _find(cluster, shown.node)
        if before is not None and not await _took(cluster, _delete(before), dry_run=dry_run):
            continue
        if before is not None and dry_run:
            # In a dry run the existing order still occupies the name, so the creation cannot be tried.
            return
        if await _took(cluster, _create(shown), dry_run=dry_run):
            return
    raise _too_busy(shown.node)


async def withdraw_order(cluster: Cluster, node: str, *, dry_run: bool) -> OrderWithdrawnView:
    for _ in range(MOST_TRIES):
        before = await _find(cluster, node)
        if before is None:
            raise CommandFailure(
                ExitCode.WRONG,
                f"no order to withdraw: {node} has no order, or its remediation has begun.",
                f"kubectl mend explain {node}",
            )
        if await _took(cluster, _delete(before), dry_run=dry_run):
            spec = before.spec
            return OrderWithdrawnView(
                node=node, by=spec.by, reason=spec.reason, past_guard=spec.past_guard, dry_run=dry_run
            )
    raise _too_busy(node)


async def _find(cluster: Cluster, node: str) -> RemediationOrder | None:
    found = await cluster.find(REMEDIATION_ORDER, node, RemediationOrder)
    return may_have(found, f"the order for {node}")


async def _took(cluster: Cluster, request: Request, *, dry_run: bool) -> bool:
    return await cluster.change(request, _UNORDERED, dry_run=dry_run, missing=not_installed())


def _create(shown: OrderView) -> Request:
    # Owned by the Node, so that the order is deleted with the Node.
    owner = object_of(NODE, {"name": shown.node, "uid": shown.node_uid})
    spec = {"by": shown.by, "reason": shown.reason, "nodeUID": shown.node_uid}
    fields = {
        "metadata": {"name": shown.node, "ownerReferences": [owner]},
        "spec": {**spec, "pastGuard": True} if shown.past_guard else spec,
    }
    return create(REMEDIATION_ORDER, object_of(REMEDIATION_ORDER, fields), manager=MANAGER)


def _delete(found: RemediationOrder) -> Request:
    metadata = found.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(REMEDIATION_ORDER, metadata.name, only_if=only_if)


def _too_busy(node: str) -> CommandFailure:
    return too_busy(f"the order for {node}", "It may not have been written.", "kubectl mend status")


def fulfil(  # noqa: PLR0913 - one parameter per flag
    cluster: ClusterOptions,
    form: Form,
    node: str,
    reason: str | None,
    *,
    past_guard: bool,
    withdrawn: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Write or withdraw the order."""
    node = node.removeprefix("node/")
    if withdrawn:
        if reason is not None:
            raise click.UsageError("--withdraw removes the order; it does not allow --reason.")
        view = with_cluster(cluster, lambda connected: withdraw_order(connected, node, dry_run=dry_run))
        show(view, form, render_order_withdrawn)
        return
    why = (reason or "").strip()
    if not why:
        raise click.UsageError("Say with --reason why. It is recorded with your name on the remediation.")
    shown = with_cluster(cluster, lambda connected: prepare(connected, node, why, past_guard=past_guard))
    if form is Form.TEXT:
        write_lines([*render_preview(shown), ""])
    if not yes and not dry_run:
        ask(f"Order the remediation of {node}{' past the guard' if past_guard else ''}, as {shown.by}?")
    with_cluster(cluster, lambda connected: order(connected, shown, dry_run=dry_run))
    show(OrderedView(order=shown, dry_run=dry_run), form, render_ordered)
