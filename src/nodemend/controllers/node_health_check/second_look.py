"""Before anything is created or deleted: the same question, asked of the API server itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from nodemend.api.conditions import ConditionStatus
from nodemend.api.group_versions import NODE_HEALTH_CHECK
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck
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
        if doubt is not None:
            return doubt
        others = await list_remediations(self._reader, self._view.remedies)
        if isinstance(others, Unreadable):
            return Hold(CannotRead("the other remediations", others.why))
        if (rival := self._rival(target.node.name, others)) is not None:
            return Hold(OtherRemediation(rival))
        if (neighbour := await self._neighbours.at_work_on(target.node.name)) is not None:
            return neighbour
        busy, passing = gather.under_remediation(others), warrant.passing if warrant else ()
        guarded = await self._guard(target, place, busy, passing)
        if isinstance(guarded, Hold):
            return guarded
        return await self._from_template(target, index, warrant.annotations if warrant else {})

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

    def _rival(self, node: str, others: list[RemediationRecord]) -> str | None:
        """Who is at work on the node already: by its own name, or by that of the Machine behind it."""
        machines = self._view.machines
        behind = machines.uids_behind(node) if machines is not None else frozenset()
        for record in others:
            if record.name == node or not behind.isdisjoint(record.owners):
                return str(record)
        return (machines.asked_behind(node) or None) if machines is not None else None

    async def _doubt_check(self, target: Target) -> Hold | None:
        """Somebody may have paused or changed it just now: only what was judged by is acted upon."""
        known = target.check.metadata
        what = f"the check {known.name}"
        match seen(await self._reader.get(NODE_HEALTH_CHECK, known.name, NodeHealthCheck)):
            case Present(check):
                same = (check.metadata.uid, check.metadata.generation) == (known.uid, known.generation)
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
        self, target: Target, index: int, annotations: Mapping[str, str]
    ) -> Request | Hold:
        reference = target.check.spec.remedies[index].template
        kind = self._view.remedies.kind_of(reference)
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {reference.kind}", kind.why))
        outcome = await self._reader.get(kind.template, reference.name, _Template, reference.namespace)
        found = seen(outcome)
        if isinstance(found, Present):
            spec = found.value.spec.template.spec
            return act.create_remediation(target, kind, index, spec, annotations)
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
            same = node.metadata.uid == target.node.uid
            now = {condition.type: condition.status for condition in node.status.conditions}
            still = any(now.get(t.type) == t.status for t in target.check.spec.thresholds)
            unready = ordered and node.ready is not ConditionStatus.TRUE
            return None if same and (still or unready) else Hold(NodeReady(target.node.name))
