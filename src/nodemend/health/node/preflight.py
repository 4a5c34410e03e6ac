"""Repeats the decision on live (uncached) reads before anything is created or deleted, and builds the write.

A manual order is found in the cache, and then verified by a live read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus, ObjectMeta, parse_time
from nodemend.api.node_health_check import NodeHealthCheck, Recovery, RecoveryPhase, TemplateReference
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK, REMEDIATION_ORDER, REMEDIATION_POLICY, Resource
from nodemend.api.upstream_types import Node, reference_to
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import PlacedTarget, meets_threshold
from nodemend.health.creation import (
    FIELD_MANAGER,
    CreationContext,
    check_before_deletion,
    create_remediation,
    delete_remediation,
    read_remediation,
)
from nodemend.health.node import targets
from nodemend.health.node.targets import (
    FoundRemediation,
    NodeTarget,
    NodeView,
    find_conflicting_remediation,
)
from nodemend.health.remediation_index import Listed, NotServed, RemedyKind
from nodemend.kube.outcome import Ok
from nodemend.kube.request import Request, apply, delete_as_read
from nodemend.kube.tasks import ConcurrentReads
from nodemend.records.live_reads import LiveReader, excluded_by, read_result
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.node import NodeHealth
from nodemend.rules.request import (
    GOOD_FOR,
    PASSES,
    ExistingRemediation,
    Order,
    OrderConsumed,
    OrderExpired,
    OrderInvalid,
    OrderValid,
    evaluate_order,
    expired,
    passes,
)
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import GuardFacts, guard, reasons
from nodemend.safety.guard_holds import OVERRIDABLE, Excluded
from nodemend.safety.holds import CannotRead, Hold, HoldReason, NodeReady


@dataclass(frozen=True, slots=True)
class ApprovedOrder:
    """A valid order, and the guard's holds that it overrides now."""

    order: Order
    passed: tuple[HoldReason, ...] = ()

    @property
    def passing(self) -> tuple[type[HoldReason], ...]:
        return OVERRIDABLE if self.order.past_guard else ()

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations that keep the order's author, its reason and the overridden holds on the remediation.

        They cannot be changed there.
        """
        order = self.order
        said = {
            well_known.ORDER: order.uid,
            well_known.ORDERED_BY: order.by,
            well_known.ORDERED_BECAUSE: order.reason,
        }
        return said | {well_known.PAST_GUARD: self.passed_by_name} if order.past_guard else said

    @property
    def passed_by_name(self) -> str:
        return ", ".join(reason.reason for reason in self.passed) or "nothing"


@dataclass(frozen=True, slots=True)
class OrderEvaluation:
    """The order of a target, if there is one, and its verdict."""

    order: Order | None = None
    verdict: OrderValid | OrderConsumed | OrderExpired | None = None

    @property
    def stands(self) -> bool:
        return isinstance(self.verdict, OrderValid)

    def approved_order(self, facts: GuardFacts | None) -> ApprovedOrder | None:
        """Return the approved order; None if there is no valid one.

        `facts` are the guard's input; None if the guard is not asked.
        """
        if self.order is None or not self.stands:
            return None
        asked = reasons(facts) if facts is not None and self.order.past_guard else ()
        return ApprovedOrder(self.order, passes(asked)[0])


@dataclass(frozen=True, slots=True)
class Orders:
    """RemediationOrders of one leader term.

    `first_seen` is the time of the first observation of each, by UID. An order's age is the larger of the age
    since then and the age by the API server's clock.
    """

    view: NodeView
    first_seen: dict[str, float]
    reader: LiveReader

    def of(self, node: str, now: float) -> Order | None:
        """Return the cached order, valid or not; None if absent or being deleted."""
        found = self.view.orders.get(node)
        if found is None or found.metadata.deleting:
            return None
        return as_order(found, now - self.first_seen.setdefault(found.metadata.uid, now))

    def evaluate(
        self, target: NodeTarget, health: NodeHealth, existing: ExistingRemediation | None, now: float
    ) -> OrderEvaluation:
        order = self.of(target.node.name, now)
        if order is None:
            return OrderEvaluation()
        return OrderEvaluation(order, evaluate_order(order, target.node.uid, health, existing))

    async def verify(self, node: str, order: Order) -> Hold | None:
        """Return a hold unless a live read confirms that the order exists and has not expired."""
        outcome = await self.reader.get(REMEDIATION_ORDER, node, RemediationOrder)
        server_time = outcome.server_time if isinstance(outcome, Ok) else None
        match read_result(outcome):
            case Present(found) if found.metadata.uid == order.uid and not found.metadata.deleting:
                return self._verify_age(order, age_by(found, server_time))
            case Present() | Absent():
                return Hold(OrderInvalid(order.by, "it was deleted"))
            case Unreadable(why):
                return Hold(CannotRead("the order", why))

    def _verify_age(self, order: Order, age: float | None) -> Hold | None:
        if age is None:
            return Hold(OrderInvalid(order.by, "the API server does not report when it was created"))
        # A new leader first observed the order late. Keep the API server's age.
        since = self.reader.runtime.monotonic() - age
        self.first_seen[order.uid] = min(self.first_seen.get(order.uid, since), since)
        return Hold(OrderInvalid(order.by, expired(age))) if age > GOOD_FOR else None


def as_order(order: RemediationOrder, age: float) -> Order:
    spec = order.spec
    return Order(order.metadata.uid, spec.node_uid, spec.by, spec.reason, spec.past_guard, age)


def age_by(order: RemediationOrder, server_time: float | None) -> float | None:
    """Return the order's age in seconds; None if either time is missing.

    Both times are the API server's, so neither a user's clock nor Nodemend's matters.
    """
    created = order.metadata.creation_timestamp
    if not created or server_time is None:
        return None
    return max(0.0, server_time - parse_time(created).timestamp())


def end_order(order: RemediationOrder) -> Request:
    return delete_as_read(REMEDIATION_ORDER, order.metadata)


def report_policy(policy: RemediationPolicy, status: Mapping[str, Any]) -> Request:
    return _applied(REMEDIATION_POLICY, policy.metadata, status)


def report_status(check: NodeHealthCheck, status: Mapping[str, Any]) -> Request:
    """Bind the status write to the version it was built from: pending recoveries are stored only there."""
    return _applied(
        NODE_HEALTH_CHECK, check.metadata, status, resourceVersion=check.metadata.resource_version
    )


def _applied(resource: Resource, of: ObjectMeta, status: Mapping[str, Any], **only_if: str) -> Request:
    """Apply the whole status: the field manager owns all of it, so fields left out are removed."""
    return apply(
        resource,
        of.name,
        fields={"metadata": {"name": of.name, "uid": of.uid, **only_if}, "status": status},
        manager=FIELD_MANAGER,
        subresource="status",
    )


def verify_unhealthy(target: NodeTarget, fresh: ReadResult[Node], *, ordered: bool) -> Hold | None:
    """Return a hold unless the node is still unhealthy; with `ordered` it is enough that it is not Ready."""
    match fresh:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Present(node):
            if by := excluded_by(node.metadata.labels, node.metadata.annotations):
                return Hold(Excluded(by))
            unready = ordered and node.ready is not ConditionStatus.TRUE
            unwell = meets_threshold(target.check, node.status.conditions) or unready
            return None if _is_same(target, node) and unwell else Hold(NodeReady(target.node.name))


def verify_healthy(target: NodeTarget, fresh: ReadResult[Node]) -> Hold | None:
    match fresh:
        case Present(node) if by := excluded_by(node.metadata.labels, node.metadata.annotations):
            return Hold(Excluded(by))
        case Present(node) if _is_same(target, node):
            well = node.ready is ConditionStatus.TRUE and not meets_threshold(
                target.check, node.status.conditions
            )
            return None if well else Hold(CannotRead("the Node", "it is not healthy any more"))
        case Present() | Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))


def verify_check(
    target: NodeTarget, fresh: ReadResult[NodeHealthCheck], *, pending: bool = False
) -> Hold | None:
    """Return a hold unless the check is unchanged: a user may have paused or changed it just now.

    Before a recovery, its live status must also list the target's recovery as pending.
    """
    known = target.check.metadata
    what = f"the check {known.name}"
    match fresh:
        case Present(check):
            same = (check.metadata.uid, check.metadata.generation) == (known.uid, known.generation)
            written = targets.recovery_written(check, target.node.uid)
            if same and pending and written is not RecoveryPhase.PENDING:
                return Hold(CannotRead(what, "it has no pending recovery any more"))
            return None if same else Hold(CannotRead(what, "it has just changed"))
        case Absent():
            return Hold(CannotRead(what, "it is gone"))
        case Unreadable(why):
            return Hold(CannotRead(what, why))


def _is_same(target: NodeTarget, node: Node) -> bool:
    return node.metadata.uid == target.node.uid


class _TemplateBody(msgspec.Struct):
    spec: dict[str, Any] = {}


class _TemplateSpec(msgspec.Struct):
    template: _TemplateBody = msgspec.field(default_factory=_TemplateBody)


class _Template(msgspec.Struct):
    """A template of any kind; the remediation's spec is in spec.template.spec."""

    spec: _TemplateSpec = msgspec.field(default_factory=_TemplateSpec)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The template to create from, and the holds that the creation overrides."""

    template: TemplateReference
    annotations: Mapping[str, str]
    passing: tuple[type[HoldReason], ...]


@dataclass(frozen=True, slots=True)
class _LiveState:
    """Live reads of everything that a creation depends on, made concurrently."""

    kind: RemedyKind
    node: ReadResult[Node]
    check: ReadResult[NodeHealthCheck]
    others: Listed
    policy: ReadResult[PolicyFacts]
    template: ReadResult[_Template]
    order: Hold | None
    external_hold: Hold | None


@dataclass(frozen=True, slots=True)
class NodePreflight:
    """Turns a request into a write, or into the hold that live reads gave."""

    reader: LiveReader
    view: NodeView
    evaluator: GuardEvaluator
    orders: Orders
    creation_context: CreationContext

    async def before_create(
        self,
        target: NodeTarget,
        placed: PlacedTarget,
        index: int,
        approved_order: ApprovedOrder | None = None,
    ) -> Request | Hold:
        """Return the create request of a remediation, or a hold.

        Node and check must be unchanged, the node unhealthy and without another remediation, and the guard
        open. With an `approved_order` the node need only be not healthy; the order must still be valid.
        """
        template = target.check.spec.remedies[index].template
        live = await self._read_live(target, template, approved_order)
        if isinstance(live, Hold):
            return live
        objection = (
            verify_unhealthy(target, live.node, ordered=approved_order is not None)
            or verify_check(target, live.check)
            or live.order
        )
        annotations, passing = (
            (approved_order.annotations, approved_order.passing) if approved_order else ({}, ())
        )
        return objection or self._evaluate(target, placed, live, _Wanted(template, annotations, passing))

    async def before_recovery(
        self, target: NodeTarget, placed: PlacedTarget, recovery: Recovery
    ) -> Request | Hold:
        """Return the create request of a recovery, or a hold.

        Node and check must be unchanged, the node healthy, its recovery pending, and no other remediation
        active.
        """
        live = await self._read_live(target, recovery.template, None)
        if isinstance(live, Hold):
            return live
        objection = verify_healthy(target, live.node) or verify_check(target, live.check, pending=True)
        wanted = _Wanted(recovery.template, {well_known.RECOVERY: "true"}, PASSES)
        return objection or self._evaluate(target, placed, live, wanted)

    async def before_end(self, record: RemediationRecord) -> Request | Hold:
        """Return the delete request of a recovery: the same object by UID, in its current version."""
        match await read_remediation(self.reader, record):
            case Present(fresh) if fresh.uid == record.uid:
                return delete_remediation(fresh)
            case Present() | Absent():
                return Hold(CannotRead("the recovery", "it is gone already"))
            case Unreadable(why):
                return Hold(CannotRead("the recovery", why))

    async def before_withdraw(self, target: NodeTarget, found: FoundRemediation) -> Request | Hold:
        def as_open(fresh: RemediationRecord) -> ExistingRemediation:
            return targets.as_existing(FoundRemediation(fresh, found.index), target, self.view, 0.0)

        return await check_before_deletion(self.reader, found.record, as_open)

    async def _read_live(
        self, target: NodeTarget, template: TemplateReference, approved_order: ApprovedOrder | None
    ) -> _LiveState | Hold:
        """Read everything concurrently: sequential reads would add up their latencies."""
        kind, name, reader = self.view.remedies.kind_of(template), target.node.name, self.reader
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {template.kind}", kind.why))
        async with ConcurrentReads(reader.runtime) as questions:
            node = questions.ask(reader.node(name))
            check = questions.ask(reader.read(NODE_HEALTH_CHECK, target.check.metadata.name, NodeHealthCheck))
            others = questions.ask(self.creation_context.open_remediations.listed())
            policy = questions.ask(reader.policy())
            made_from = questions.ask(
                reader.read(kind.template, template.name, _Template, template.namespace)
            )
            order = (
                questions.ask(self.orders.verify(name, approved_order.order))
                if approved_order is not None
                else None
            )
            external_hold = questions.ask(self.creation_context.external_leases.hold_on(name))
        return _LiveState(
            kind=kind,
            node=node.answer,
            check=check.answer,
            others=others.answer,
            policy=policy.answer,
            template=made_from.answer,
            order=order.answer if order is not None else None,
            external_hold=external_hold.answer,
        )

    def _evaluate(
        self, target: NodeTarget, placed: PlacedTarget, live: _LiveState, wanted: _Wanted
    ) -> Request | Hold:
        """Return the create request, or a hold: conflicting remediation, guard, or missing template."""
        if isinstance(live.others, Unreadable):
            return Hold(CannotRead("the other remediations", live.others.why))
        hold = (
            find_conflicting_remediation(self.view, target.node.name, live.others)
            or live.external_hold
            or self._guard(placed, live.policy, live.others, wanted.passing)
        )
        if hold is not None:
            return hold
        check, template = target.check.metadata, wanted.template
        if isinstance(live.template, Present):
            made_from = {well_known.CHECK_UID: check.uid, well_known.TEMPLATE: template.name}
            return create_remediation(
                live.kind.remediation,
                template.namespace,
                reference_to(NODE, target.node.name, uid=target.node.uid),
                labels={well_known.CHECK: check.name},
                annotations={**wanted.annotations, **made_from},
                spec=live.template.value.spec.template.spec,
            )
        why = live.template.why if isinstance(live.template, Unreadable) else "it does not exist"
        return Hold(CannotRead(f"the template {template.namespace}/{template.name}", why))

    def _guard(
        self,
        placed: PlacedTarget,
        policy: ReadResult[PolicyFacts],
        others: list[RemediationRecord],
        passing: tuple[type[HoldReason], ...],
    ) -> Hold | None:
        """Ask the guard with watched counts, and with policy and open remediations read live."""
        runtime = self.reader.runtime
        moment = Clocks(runtime.monotonic(), runtime.wall())
        busy = targets.busy_nodes(self.view, others, moment.now)
        facts = self.evaluator.evaluate(placed, moment, busy)
        guarded = guard(replace(facts, policy=policy), passing)
        return guarded if isinstance(guarded, Hold) else None
