"""Before anything is created or deleted: the same question, asked of the API server itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.group_versions import NODE_HEALTH_CHECK
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck, Recovery, RecoveryPhase, TemplateReference
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.neighbours import Neighbours
from nodemend.controllers.checking.open_remediations import list_remediations
from nodemend.controllers.checking.remedies import NotServed
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.checking.withdrawal import withdraw_remediation
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.node_exclusion import excluded_by
from nodemend.controllers.node_health_check import act, gather
from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.controllers.node_health_check.orders import Orders, Warrant
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import Excluded, OtherRemediation
from nodemend.decide.holds import CannotRead, Hold, HoldReason, NodeReady
from nodemend.decide.recovery import PASSES
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.api_request import Request
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


class _TemplateBody(msgspec.Struct):
    spec: dict[str, Any] = {}


class _TemplateSpec(msgspec.Struct):
    template: _TemplateBody = msgspec.field(default_factory=_TemplateBody)


class _Template(msgspec.Struct):
    """Of whatever kind: what it is a template of stands in spec.template.spec."""

    spec: _TemplateSpec = msgspec.field(default_factory=_TemplateSpec)


class SecondLook:
    """Turns a wish into a write, or into the hold that a fresh look gave."""

    def __init__(
        self, reader: Reader, view: View, guarding: Guarding, orders: Orders, neighbours: Neighbours
    ) -> None:
        self._reader = reader
        self._view = view
        self._guarding = guarding
        self._orders = orders
        self._neighbours = neighbours

    async def before_create(
        self, target: Target, place: Place, index: int, warrant: Warrant | None = None
    ) -> Request | Hold:
        """Node and check must still be the same, it unhealthy, nobody at work on it, and the guard open.

        With a `warrant` it need not be unhealthy for long, if only it is not well; and the order must stand.
        """
        fresh = await self._reader.node(target.node.name)
        doubt = _doubt(target, fresh, ordered=warrant is not None) or await self._doubt_check(target)
        if doubt is None and warrant is not None:
            doubt = await self._orders.doubt(target.node.name, warrant.order)
        doubt = doubt or await self._doubt_others(target, place, warrant.passing if warrant else ())
        if doubt is not None:
            return doubt
        template = target.check.spec.remedies[index].template
        return await self._from_template(target, template, warrant.annotations if warrant else {})

    async def before_recovery(self, target: Target, place: Place, recovery: Recovery) -> Request | Hold:
        """Node and check must still be the same, it well, its recovery owed, and nobody at work on it."""
        fresh = await self._reader.node(target.node.name)
        doubt = (
            _doubt_health(target, fresh)
            or await self._doubt_check(target, owed=True)
            or await self._doubt_others(target, place, PASSES)
        )
        return doubt or await self._from_template(target, recovery.template, {keys.RECOVERY: "true"})

    async def before_end(self, record: RemediationRecord) -> Request | Hold:
        """Of a recovery: the very object, in whichever version it is now."""
        outcome = await self._reader.get(record.resource, record.name, RemediationWire, record.namespace)
        match seen(outcome):
            case Present(wire) if wire.metadata.uid == record.uid:
                return withdraw_remediation(as_record(record.resource, wire))
            case Present() | Absent():
                return Hold(CannotRead("the recovery", "it is gone already"))
            case Unreadable(why):
                return Hold(CannotRead("the recovery", why))

    async def before_withdraw(self, target: Target, found: Found) -> Request | Hold:
        """Only what is ours, and only the very version in which nothing was released, or all is over."""
        record = found.record
        outcome = await self._reader.get(record.resource, record.name, RemediationWire, record.namespace)
        match seen(outcome):
            case Present(wire):
                fresh = as_record(record.resource, wire)
                existing = gather.as_open(Found(fresh, found.index), target, self._view, 0.0)
                if not existing.ours or (existing.committed and not existing.finished):
                    return Hold(OtherRemediation(existing.holder))
                if existing.ending:
                    return Hold(CannotRead("the remediation", "it is ending already"))
                return withdraw_remediation(fresh)
            case Absent():
                return Hold(CannotRead("the remediation", "it is gone already"))
            case Unreadable(why):
                return Hold(CannotRead("the remediation", why))

    async def _doubt_others(
        self, target: Target, place: Place, passing: tuple[type[HoldReason], ...]
    ) -> Hold | None:
        """Who else is at work, on the node and elsewhere."""
        others = await list_remediations(self._reader, self._view.remedies)
        if isinstance(others, Unreadable):
            return Hold(CannotRead("the other remediations", others.why))
        if (rival := self._rival(target.node.name, others)) is not None:
            return Hold(OtherRemediation(rival))
        if (neighbour := await self._neighbours.at_work_on(target.node.name)) is not None:
            return neighbour
        guarded = await self._guard(target, place, gather.under_remediation(others), passing)
        return guarded if isinstance(guarded, Hold) else None

    def _rival(self, node: str, others: list[RemediationRecord]) -> str | None:
        """Who is at work on the node already: by its own name, or by that of the Machine behind it."""
        machines = self._view.machines
        behind = machines.uids_behind(node) if machines is not None else frozenset()
        for record in others:
            if record.name == node or not behind.isdisjoint(record.owners):
                return str(record)
        return (machines.asked_behind(node) or None) if machines is not None else None

    async def _doubt_check(self, target: Target, *, owed: bool = False) -> Hold | None:
        """Somebody may have paused or changed it just now: only what was judged by is acted upon.

        `owed`: a recovery of the target must be, by what stands there now.
        """
        known = target.check.metadata
        what = f"the check {known.name}"
        match seen(await self._reader.get(NODE_HEALTH_CHECK, known.name, NodeHealthCheck)):
            case Present(check):
                same = (check.metadata.uid, check.metadata.generation) == (known.uid, known.generation)
                written = gather.recovery_written(check, target.node.uid)
                if same and owed and written is not RecoveryPhase.OWED:
                    return Hold(CannotRead(what, "it owes no recovery any more"))
                return None if same else Hold(CannotRead(what, "it has just changed"))
            case Absent():
                return Hold(CannotRead(what, "it is gone"))
            case Unreadable(why):
                return Hold(CannotRead(what, why))

    async def _guard(
        self, target: Target, place: Place, busy: frozenset[str], passing: tuple[type[HoldReason], ...]
    ) -> Go | Hold:
        """The counts are those that watches keep; what people said and what is open is read afresh."""
        policy, runtime = await self._reader.policy(), self._reader.runtime
        moment = Moment(runtime.monotonic(), runtime.wall())
        facts = self._guarding.facts_of(ward_of(target, moment.wall), place, moment)
        others = Present(len(busy - {target.node.name}))
        return guard(replace(facts, policy=policy, others=others), passing)

    async def _from_template(
        self, target: Target, reference: TemplateReference, annotations: Mapping[str, str]
    ) -> Request | Hold:
        kind = self._view.remedies.kind_of(reference)
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {reference.kind}", kind.why))
        outcome = await self._reader.get(kind.template, reference.name, _Template, reference.namespace)
        found = seen(outcome)
        if isinstance(found, Present):
            spec = found.value.spec.template.spec
            return act.create_remediation(target, kind, reference, spec, annotations)
        why = found.why if isinstance(found, Unreadable) else "there is none"
        return Hold(CannotRead(f"the template {reference.namespace}/{reference.name}", why))


def _doubt(target: Target, fresh: Seen[Node], *, ordered: bool) -> Hold | None:
    """A reason not to believe what the cache said of the node."""
    match fresh:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Present(node):
            if by := excluded_by(node.metadata.labels, node.metadata.annotations):
                return Hold(Excluded(by))
            unready = ordered and node.ready is not ConditionStatus.TRUE
            unwell = _meets_threshold(target, node) or unready
            return None if _is_same(target, node) and unwell else Hold(NodeReady(target.node.name))


def _doubt_health(target: Target, fresh: Seen[Node]) -> Hold | None:
    """A reason not to believe that the node is well."""
    match fresh:
        case Present(node) if by := excluded_by(node.metadata.labels, node.metadata.annotations):
            return Hold(Excluded(by))
        case Present(node) if _is_same(target, node):
            well = node.ready is ConditionStatus.TRUE and not _meets_threshold(target, node)
            return None if well else Hold(CannotRead("the Node", "it is not well any more"))
        case Present() | Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))


def _is_same(target: Target, node: Node) -> bool:
    return node.metadata.uid == target.node.uid


def _meets_threshold(target: Target, node: Node) -> bool:
    now = {condition.type: condition.status for condition in node.status.conditions}
    return any(now.get(t.type) == t.status for t in target.check.spec.thresholds)
