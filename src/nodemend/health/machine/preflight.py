"""Repeats the checks for a Machine by live reads, and builds the write that follows if they agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

import msgspec

from nodemend.api import well_known
from nodemend.api.machine_health_check import CLUSTER_LABEL
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.api.upstream_types import Node, reference_to
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import PlacedTarget
from nodemend.health.creation import FIELD_MANAGER, CreationContext, check_before_deletion, create_remediation
from nodemend.health.machine import targets
from nodemend.health.machine.annotation import check_ended, check_needed, check_no_other
from nodemend.health.machine.external_annotation import asking_of
from nodemend.health.machine.targets import (
    MachineGuardInputs,
    MachineTarget,
    MachineView,
    find_conflicting_remediation,
    guard_target_of,
)
from nodemend.health.remediation_index import NotServed, RemedyKind
from nodemend.kube.request import Precondition, Request, apply, delete, merge_patch
from nodemend.kube.tasks import ConcurrentReads
from nodemend.records.live_reads import ExternalLeaseReader, LiveReader, node_facts, project, value_of
from nodemend.records.machine import MachineCheckRecord, MachineRecord, MachineWire, as_machine
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.machine import TemplateNamed
from nodemend.rules.node import (
    AskedFor,
    ConditionOwner,
    Finding,
    Match,
    NeverStarted,
    NodeGone,
    NodeHealth,
    PhaseFailed,
    Unhealthy,
)
from nodemend.safety.facts import Absent, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import Allowed, guard
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold, NodeReady

HISTORY_MANAGER: Final = "nodemend-checker-machines"
_CLONED_FROM_NAME: Final = "cluster.x-k8s.io/cloned-from-name"
_CLONED_FROM_KIND: Final = "cluster.x-k8s.io/cloned-from-groupkind"


class _TemplateMetadata(msgspec.Struct):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TemplateBody(msgspec.Struct):
    """The content of a remediation, in a template of any kind."""

    metadata: _TemplateMetadata | None = None
    spec: dict[str, Any] | None = None


class _TemplateSpec(msgspec.Struct):
    template: TemplateBody | None = None


class _Template(msgspec.Struct):
    spec: _TemplateSpec = msgspec.field(default_factory=_TemplateSpec)


def create_from_template(
    target: MachineTarget, kind: RemedyKind, source: TemplateNamed, template: TemplateBody
) -> Request:
    """Return the create request of a remediation in the Machine's namespace.

    `template` is spec.template of the object `source`; its labels and annotations are copied with its spec.
    """
    machine, check = target.machine, target.check
    meta = template.metadata or _TemplateMetadata()
    labels = {well_known.CHECK: check.name}
    if machine.cluster:
        labels[CLUSTER_LABEL] = machine.cluster
    annotations = {
        well_known.CHECK_UID: check.uid,
        well_known.TEMPLATE: source.name,
        _CLONED_FROM_NAME: source.name,
        _CLONED_FROM_KIND: f"{kind.template.kind}.{kind.template.group}",
    }
    return create_remediation(
        kind.remediation,
        machine.namespace,
        reference_to(machine.resource, machine.name, uid=machine.uid),
        labels={**(meta.labels or {}), **labels},
        annotations={**(meta.annotations or {}), **annotations},
        spec=template.spec or {},
    )


def write_conditions(
    machine: MachineRecord, version: str, conditions: Sequence[Mapping[str, Any]]
) -> Request:
    """Replace all conditions of a Machine, in exactly the version that was read."""
    return _patch(machine, version, {"status": {"conditions": conditions}}, "status")


def clear_annotation(machine: MachineRecord, version: str) -> Request:
    """Remove the annotation that requests remediation, in exactly the version that was read."""
    return _patch(machine, version, {"metadata": {"annotations": {well_known.EXTERNAL_REMEDIATION: None}}})


def delete_machine(machine: MachineRecord, version: str) -> Request:
    only_if = Precondition(machine.uid, version)
    return delete(machine.resource, machine.name, machine.namespace, only_if=only_if)


def report_history(policy: RemediationPolicy, history: Sequence[MachineRemediation]) -> Request:
    """Apply the history with a separate field manager: the node controller applies the rest of the status."""
    metadata = policy.metadata
    return apply(
        REMEDIATION_POLICY,
        metadata.name,
        fields={
            "metadata": {"name": metadata.name, "uid": metadata.uid},
            "status": {"machineHistory": msgspec.to_builtins(history)},
        },
        manager=HISTORY_MANAGER,
        subresource="status",
    )


def report_status(check: MachineCheckRecord, status: Mapping[str, Any]) -> Request:
    return _patch(check, check.version, {"status": status}, "status")


def _patch(
    of: MachineRecord | MachineCheckRecord, version: str, change: Mapping[str, Any], subresource: str = ""
) -> Request:
    """Change an object, in exactly the version that was read."""
    return merge_patch(
        of.resource,
        of.name,
        of.namespace,
        change=change,
        only_if=Precondition(of.uid, version),
        manager=FIELD_MANAGER,
        subresource=subresource,
    )


@dataclass(frozen=True, slots=True)
class Fresh:
    """A Machine from a live read, with all its conditions."""

    machine: MachineRecord
    version: str
    conditions: tuple[dict[str, Any], ...]


class MachinePreflight:
    """Turns a request into a write, or into the hold that a live read found."""

    def __init__(
        self,
        reader: LiveReader,
        view: MachineView,
        evaluator: GuardEvaluator,
        creation_context: CreationContext,
    ) -> None:
        self._reader = reader
        self._view = view
        self._evaluator = evaluator
        self._creation_context = creation_context
        self._around = MachineGuardInputs(view)
        self._leases = ExternalLeaseReader(reader)

    async def machine(self, target: MachineTarget) -> Fresh | Hold:
        """Read the Machine live; return a hold if it was replaced, deleted or is no longer a target."""
        known = target.machine
        found = await self._reader.read(known.resource, known.name, dict[str, Any], known.namespace)
        match found:
            case Unreadable(why):
                return Hold(CannotRead("the Machine", why))
            case Absent():
                return Hold(CannotRead("the Machine", "it is gone"))
            case Present(raw):
                return self._as_fresh(target, raw)

    async def still(self, finding: Finding, fresh: Fresh) -> Hold | None:
        """Verify a finding of the caches by live reads; return a hold if it does not apply any longer."""
        machine = fresh.machine
        match finding:
            case Match(of=ConditionOwner.NODE) | NodeGone():
                return _check_finding(
                    finding, machine, await self._view.clusters.read_node(machine, self._reader)
                )
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

    async def still_asked(self, target: MachineTarget, fresh: Fresh) -> Hold | None:
        """Verify an annotation's request by live reads; return a hold if it must not start.

        It must not start while the leader election Lease of OpenShift's bare-metal actuator, which acts on
        the same annotation, is renewed or may be.
        """
        machine, value = fresh.machine, target.machine.asked_externally
        objection = check_needed(asking_of(machine), value, await self._node_facts(machine))
        if objection is not None:
            return objection
        lease = await self._leases.read(well_known.LEASE_OF_THE_ACTUATOR, machine.namespace)
        return check_no_other(lease, f"{machine.namespace}/{well_known.LEASE_OF_THE_ACTUATOR}")

    async def before_clear(self, target: MachineTarget, value: str) -> Request | Hold:
        fresh = await self.machine(target)
        if isinstance(fresh, Hold):
            return fresh
        objection = check_ended(asking_of(fresh.machine), value, await self._node_facts(fresh.machine))
        return objection or clear_annotation(fresh.machine, fresh.version)

    async def _node_facts(self, machine: MachineRecord) -> ReadResult[NodeFacts]:
        if not machine.node:
            return Absent()
        return project(await self._view.clusters.read_node(machine, self._reader), node_facts)

    async def with_reasons(self, health: NodeHealth, machine: MachineRecord) -> NodeHealth:
        """Return the same verdict with the reasons of the node's conditions, which the caches do not store.

        They are left out for a node of another cluster: a storm there must not use up the requests that its
        API server allows.
        """
        if not isinstance(health, Unhealthy):
            return health
        node = value_of(await self._reader.node(machine.node)) if self._is_ours(machine) else None
        conditions = node.status.conditions if node is not None else ()
        reported = {(condition.type, condition.status): condition.reason for condition in conditions}
        first, *more = (_with_reason(finding, reported) for finding in (health.match, *health.more))
        return Unhealthy(first, tuple(more))

    async def guard(self, target: MachineTarget, placed: PlacedTarget) -> Allowed | Hold:
        """Evaluate the guard with the policy, remediations and Leases read live, and the rest from caches."""
        async with ConcurrentReads(self._reader.runtime) as questions:
            listed = questions.ask(self._creation_context.open_remediations.listed())
            external_hold = questions.ask(self._external_lease(target.machine))
            asked_policy = questions.ask(self._reader.policy())
        others, policy, runtime = listed.answer, asked_policy.answer, self._reader.runtime
        if isinstance(others, Unreadable):
            return Hold(CannotRead("the other remediations", others.why))
        if (conflict := find_conflicting_remediation(self._view, target, others)) is not None:
            return Hold(OtherRemediation(str(conflict)))
        if external_hold.answer is not None:
            return external_hold.answer
        moment = Clocks(runtime.monotonic(), runtime.wall())
        placed = replace(placed, target=guard_target_of(self._view, target, value_of(policy)))
        busy = self._around.busy_by(others, placed.target, moment.now)
        return guard(replace(self._evaluator.evaluate(placed, moment, busy), policy=policy))

    async def _external_lease(self, machine: MachineRecord) -> Hold | None:
        """Return a hold if another operator holds the node's Lease.

        Leases identify a node by name, so only nodes of the local cluster are checked.
        """
        if not self._is_ours(machine):
            return None
        return await self._creation_context.external_leases.hold_on(machine.node)

    def _is_ours(self, machine: MachineRecord) -> bool:
        """True if the Machine has a node in the local cluster."""
        clusters = self._view.clusters
        return bool(machine.node) and clusters.nodes_of(machine) == clusters.own

    async def from_template(self, target: MachineTarget) -> Request | Hold:
        """Return the creation of the remediation, or a hold if its template cannot be used."""
        named = target.check.rules.template
        if named is None:
            raise ValueError(f"{target.check.key} has no template")
        kind = self._view.remedies.kind_of(named)
        if isinstance(kind, NotServed):
            return Hold(CannotRead(f"the template {named.kind}", kind.why))
        namespace = target.check.namespace
        found = await self._reader.read(kind.template, named.name, _Template, namespace)
        if isinstance(found, Present):
            return create_from_template(target, kind, named, found.value.spec.template or TemplateBody())
        why = found.why if isinstance(found, Unreadable) else "it does not exist"
        return Hold(CannotRead(f"the template {namespace}/{named.name}", why))

    async def before_withdraw(self, target: MachineTarget, record: RemediationRecord) -> Request | Hold:
        return await check_before_deletion(
            self._reader, record, lambda fresh: targets.as_existing(target, fresh, 0.0)
        )

    def _as_fresh(self, target: MachineTarget, raw: dict[str, Any]) -> Fresh | Hold:
        try:
            wire = msgspec.convert(raw, MachineWire)
        except msgspec.ValidationError as error:
            return Hold(CannotRead("the Machine", str(error)))
        machine = as_machine(target.machine.resource, target.flavor, wire)
        if machine.uid != target.machine.uid:
            return Hold(CannotRead("the Machine", "another has taken its name"))
        if machine.deleting or machine.left_alone_by:
            return Hold(CannotRead("the Machine", "it is no target any more"))
        conditions = (raw.get("status") or {}).get("conditions") or ()
        return Fresh(machine, wire.metadata.resource_version, tuple(conditions))


def _with_reason(finding: Finding, reported: Mapping[tuple[str, str], str]) -> Finding:
    if not isinstance(finding, Match) or finding.of is not ConditionOwner.NODE:
        return finding
    return replace(finding, reason=reported.get((finding.type, finding.status), ""))


def _check_finding(finding: Match | NodeGone, machine: MachineRecord, node: ReadResult[Node]) -> Hold | None:
    match node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return None if isinstance(finding, NodeGone) else Hold(CannotRead("the Node", "it is gone"))
        case Present(value):
            shown = {condition.type: condition.status for condition in value.status.conditions}
            still = isinstance(finding, Match) and shown.get(finding.type) == finding.status
            return None if still else Hold(NodeReady(machine.node))
