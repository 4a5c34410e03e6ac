"""Before anything is asked for a machine: the same question, asked of the API servers themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

import msgspec

from nodemend.api.node import Node
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.precautions import Precautions
from nodemend.controllers.checking.remedies import NotServed
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.checking.withdrawal import look_before_withdrawal
from nodemend.controllers.fresh_reads import Reader, node_facts, project, seen, value_of
from nodemend.controllers.machine_health_check import act, gather
from nodemend.controllers.machine_health_check.annotated_machine import Actuator, asking_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.rivals import find_rival
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.wards import MachineSurroundings, ward_of
from nodemend.decide.asking_doubts import doubt_end, doubt_need
from nodemend.decide.facts import Absent, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.findings import AskedFor, Finding, Match, NeverStarted, NodeGone, PhaseFailed, Subject
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold, NodeReady
from nodemend.decide.node_health import NodeHealth, Unhealthy
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.api_request import Request
from nodemend.kube.at_once import AtOnce
from nodemend.kube.machine_record import MachineRecord, MachineWire, as_machine
from nodemend.kube.remediation_record import RemediationRecord


class _Template(msgspec.Struct):
    """Of whatever kind: what it is a template of stands in spec.template."""

    spec: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Fresh:
    """A machine as the API server has it, with all its conditions."""

    machine: MachineRecord
    version: str
    conditions: tuple[dict[str, Any], ...]


class SecondLook:
    """Turns a wish into a write, or into the hold that a fresh look gave."""

    def __init__(
        self,
        reader: Reader,
        view: MachineView,
        guarding: Guarding,
        precautions: Precautions,
    ) -> None:
        self._reader = reader
        self._view = view
        self._guarding = guarding
        self._precautions = precautions
        self._around = MachineSurroundings(view)
        self._actuator = Actuator(reader)

    async def machine(self, target: Target) -> Fresh | Hold:
        """The very machine, if it is still there and still a target."""
        known = target.machine
        found = seen(await self._reader.get(known.resource, known.name, dict[str, Any], known.namespace))
        match found:
            case Unreadable(why):
                return Hold(CannotRead("the Machine", why))
            case Absent():
                return Hold(CannotRead("the Machine", "it is gone"))
            case Present(raw):
                return self._as_fresh(target, raw)

    async def still(self, finding: Finding, fresh: Fresh) -> Hold | None:
        """A reason not to believe what the caches said of a machine."""
        machine = fresh.machine
        match finding:
            case Match(of=Subject.NODE) | NodeGone():
                return _doubt(finding, machine, await self._view.clusters.read_node(machine, self._reader))
            case Match(type_, status):
                holds = any(one.type == type_ and one.status == status for one in machine.conditions)
            case NeverStarted():
                holds = not machine.node
            case AskedFor():
                holds = bool(machine.asked_by)
            case PhaseFailed():
                holds = machine.failed is not None
            case _:
                assert_never(finding)
        return None if holds else Hold(NodeReady(machine.name))

    async def still_asked(self, target: Target, fresh: Fresh) -> Hold | None:
        """A reason not to begin what the caches said that an annotation asks for."""
        machine, value = fresh.machine, target.machine.asked_externally
        doubt = doubt_need(asking_of(machine), value, await self._node_facts(machine))
        return doubt or await self._actuator.at_work_in(machine.namespace)

    async def before_clear(self, target: Target, value: str) -> Request | Hold:
        fresh = await self.machine(target)
        if isinstance(fresh, Hold):
            return fresh
        doubt = doubt_end(asking_of(fresh.machine), value, await self._node_facts(fresh.machine))
        return doubt or act.clear_annotation(fresh.machine, fresh.version)

    async def _node_facts(self, machine: MachineRecord) -> Seen[NodeFacts]:
        if not machine.node:
            return Absent()
        return project(await self._view.clusters.read_node(machine, self._reader), node_facts)

    async def with_reasons(self, health: NodeHealth, machine: MachineRecord) -> NodeHealth:
        """The same verdict, with what the node says about its own conditions. Our caches do not keep that.

        Of a node of another cluster it is left out: a storm there must not use up what may be asked of it.
        """
        if not isinstance(health, Unhealthy):
            return health
        node = value_of(await self._reader.node(machine.node)) if self._is_ours(machine) else None
        conditions = node.status.conditions if node is not None else ()
        told = {(condition.type, condition.status): condition.reason for condition in conditions}
        first, *more = (_with_reason(finding, told) for finding in (health.match, *health.more))
        return Unhealthy(first, tuple(more))

    async def guard(self, target: Target, place: Place) -> Go | Hold:
        """What people said and what is open is read afresh; the others are as our watches have them."""
        async with AtOnce(self._reader.runtime) as questions:
            listed = questions.ask(self._precautions.open_remediations.listed())
            neighbour = questions.ask(self._neighbour(target.machine))
            asked_policy = questions.ask(self._reader.policy())
        others, policy, runtime = listed.answer, asked_policy.answer, self._reader.runtime
        if isinstance(others, Unreadable):
            return Hold(CannotRead("the other remediations", others.why))
        if (rival := find_rival(self._view, target, others)) is not None:
            return Hold(OtherRemediation(str(rival)))
        if neighbour.answer is not None:
            return neighbour.answer
        moment = Moment(runtime.monotonic(), runtime.wall())
        ward = ward_of(self._view, target, value_of(policy))
        busy = self._around.busy_by(others, ward, moment.now)
        return guard(replace(self._guarding.facts_of(ward, place, moment, busy), policy=policy))

    async def _neighbour(self, machine: MachineRecord) -> Hold | None:
        """Leases tell of nodes by name, so only those of our own cluster are asked about."""
        return await self._precautions.neighbours.at_work_on(machine.node) if self._is_ours(machine) else None

    def _is_ours(self, machine: MachineRecord) -> bool:
        """Whether it has a node, and that is one of our own cluster."""
        clusters = self._view.clusters
        return bool(machine.node) and clusters.nodes_of(machine) == clusters.own

    async def from_template(self, target: Target) -> Request | Hold:
        """The write that makes the remediation; held when there is no template to make it from."""
        named = target.check.rules.template
        if named is None:
            raise ValueError(f"{target.check.key} has no template")
        kind = self._view.remedies.kind_of(named)
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {named.kind}", kind.why))
        namespace = target.check.namespace
        found = seen(await self._reader.get(kind.template, named.name, _Template, namespace))
        if isinstance(found, Present):
            return act.create_remediation(target, kind, found.value.spec.get("template") or {})
        why = found.why if isinstance(found, Unreadable) else "there is none"
        return Hold(CannotRead(f"the template {namespace}/{named.name}", why))

    async def before_withdraw(self, target: Target, record: RemediationRecord) -> Request | Hold:
        return await look_before_withdrawal(
            self._reader, record, lambda fresh: gather.as_open(target, fresh, 0.0)
        )

    def _as_fresh(self, target: Target, raw: dict[str, Any]) -> Fresh | Hold:
        try:
            wire = msgspec.convert(raw, MachineWire)
        except msgspec.ValidationError as error:
            return Hold(CannotRead("the Machine", str(error)))
        machine = as_machine(target.machine.resource, target.dialect, wire)
        if machine.uid != target.machine.uid:
            return Hold(CannotRead("the Machine", "another has taken its name"))
        if machine.deleting or machine.left_alone_by:
            return Hold(CannotRead("the Machine", "it is no target any more"))
        conditions = (raw.get("status") or {}).get("conditions") or ()
        return Fresh(machine, wire.metadata.resource_version, tuple(conditions))


def _with_reason(finding: Finding, told: Mapping[tuple[str, str], str]) -> Finding:
    if not isinstance(finding, Match) or finding.of is not Subject.NODE:
        return finding
    return replace(finding, reason=told.get((finding.type, finding.status), ""))


def _doubt(finding: Match | NodeGone, machine: MachineRecord, node: Seen[Node]) -> Hold | None:
    match node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return None if isinstance(finding, NodeGone) else Hold(CannotRead("the Node", "it is gone"))
        case Present(value):
            shown = {condition.type: condition.status for condition in value.status.conditions}
            still = isinstance(finding, Match) and shown.get(finding.type) == finding.status
            return None if still else Hold(NodeReady(machine.node))
