"""Before anything is created or deleted: the same question, asked of the API server itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck, Recovery, TemplateReference
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.open_remediations import Listed
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.remedies import NotServed, RemedyKind
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.checking.withdrawal import look_before_withdrawal, withdraw_remediation
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.controllers.node_health_check import act, gather
from nodemend.controllers.node_health_check.doubts import doubt_check, doubt_health, doubt_sickness
from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.controllers.node_health_check.orders import Orders, Warrant
from nodemend.controllers.node_health_check.rivals import find_rival
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, Hold, HoldReason
from nodemend.decide.recovery import PASSES
from nodemend.decide.remediation_request import Open
from nodemend.decide.storm_guard import guard
from nodemend.kube.api_request import Request
from nodemend.kube.at_once import AtOnce
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


class _TemplateBody(msgspec.Struct):
    spec: dict[str, Any] = {}


class _TemplateSpec(msgspec.Struct):
    template: _TemplateBody = msgspec.field(default_factory=_TemplateBody)


class _Template(msgspec.Struct):
    """Of whatever kind: what it is a template of stands in spec.template.spec."""

    spec: _TemplateSpec = msgspec.field(default_factory=_TemplateSpec)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be made, and what of the guard it passes."""

    template: TemplateReference
    annotations: Mapping[str, str]
    passing: tuple[type[HoldReason], ...]


@dataclass(frozen=True, slots=True)
class _Look:
    """What the API server says of all that a creation rests on, asked at one moment."""

    kind: RemedyKind
    node: Seen[Node]
    check: Seen[NodeHealthCheck]
    others: Listed
    policy: Seen[PolicyFacts]
    template: Seen[_Template]
    order: Hold | None
    neighbour: Hold | None


class SecondLook:
    """Turns a wish into a write, or into the hold that a fresh look gave."""

    def __init__(
        self, reader: Reader, view: View, guarding: Guarding, orders: Orders, precautions: Precautions
    ) -> None:
        self._reader = reader
        self._view = view
        self._guarding = guarding
        self._orders = orders
        self._precautions = precautions

    async def before_create(
        self, target: Target, place: Place, index: int, warrant: Warrant | None = None
    ) -> Request | Hold:
        """Node and check must still be the same, it unhealthy, nobody at work on it, and the guard open.

        With a `warrant` it need not be unhealthy for long, if only it is not well; and the order must stand.
        """
        template = target.check.spec.remedies[index].template
        look = await self._look(target, template, warrant)
        if isinstance(look, Hold):
            return look
        doubt = (
            doubt_sickness(target, look.node, ordered=warrant is not None)
            or doubt_check(target, look.check)
            or look.order
        )
        annotations, passing = (warrant.annotations, warrant.passing) if warrant else ({}, ())
        return doubt or self._weigh(target, place, look, _Wanted(template, annotations, passing))

    async def before_recovery(self, target: Target, place: Place, recovery: Recovery) -> Request | Hold:
        """Node and check must still be the same, it well, its recovery owed, and nobody at work on it."""
        look = await self._look(target, recovery.template, None)
        if isinstance(look, Hold):
            return look
        doubt = doubt_health(target, look.node) or doubt_check(target, look.check, owed=True)
        wanted = _Wanted(recovery.template, {keys.RECOVERY: "true"}, PASSES)
        return doubt or self._weigh(target, place, look, wanted)

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
        def as_open(fresh: RemediationRecord) -> Open:
            return gather.as_open(Found(fresh, found.index), target, self._view, 0.0)

        return await look_before_withdrawal(self._reader, found.record, as_open)

    async def _look(
        self, target: Target, template: TemplateReference, warrant: Warrant | None
    ) -> _Look | Hold:
        """At once: one question after the other would be as late as there are questions."""
        kind, name, reader = self._view.remedies.kind_of(template), target.node.name, self._reader
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {template.kind}", kind.why))
        async with AtOnce(reader.runtime) as questions:
            node = questions.ask(reader.node(name))
            check = questions.ask(reader.get(NODE_HEALTH_CHECK, target.check.metadata.name, NodeHealthCheck))
            others = questions.ask(self._precautions.open_remediations.listed())
            policy = questions.ask(reader.policy())
            made_from = questions.ask(reader.get(kind.template, template.name, _Template, template.namespace))
            order = questions.ask(self._orders.doubt(name, warrant.order)) if warrant is not None else None
            neighbour = questions.ask(self._precautions.neighbours.at_work_on(name))
        return _Look(
            kind=kind,
            node=node.answer,
            check=seen(check.answer),
            others=others.answer,
            policy=policy.answer,
            template=seen(made_from.answer),
            order=order.answer if order is not None else None,
            neighbour=neighbour.answer,
        )

    def _weigh(self, target: Target, place: Place, look: _Look, wanted: _Wanted) -> Request | Hold:
        """Who else is at work, on the node and elsewhere; and whether there is a template."""
        if isinstance(look.others, Unreadable):
            return Hold(CannotRead("the other remediations", look.others.why))
        hold = (
            find_rival(self._view, target.node.name, look.others)
            or look.neighbour
            or self._guard(target, place, look.policy, look.others, wanted.passing)
        )
        if hold is not None:
            return hold
        template = wanted.template
        if isinstance(look.template, Present):
            spec = look.template.value.spec.template.spec
            return act.create_remediation(target, look.kind, template, spec, wanted.annotations)
        why = look.template.why if isinstance(look.template, Unreadable) else "there is none"
        return Hold(CannotRead(f"the template {template.namespace}/{template.name}", why))

    def _guard(
        self,
        target: Target,
        place: Place,
        policy: Seen[PolicyFacts],
        others: list[RemediationRecord],
        passing: tuple[type[HoldReason], ...],
    ) -> Hold | None:
        """The counts are those that watches keep; what people said and what is open is read afresh."""
        runtime = self._reader.runtime
        moment = Moment(runtime.monotonic(), runtime.wall())
        busy = gather.busy_nodes(self._view, others, moment.now)
        facts = self._guarding.facts_of(ward_of(target, moment.wall), place, moment, busy)
        guarded = guard(replace(facts, policy=policy), passing)
        return guarded if isinstance(guarded, Hold) else None
