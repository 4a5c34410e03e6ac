"""What one machine looks like from our caches. Enough to wake us and to judge; never enough to act."""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.checking.condition_ages import ConditionAges, read_status
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.machine_health_check import annotated_machine
from nodemend.controllers.machine_health_check.clusters import NotSeen, OutOfReach
from nodemend.controllers.machine_health_check.fleet import (
    Fleet,
    MachineCheckKey,
    MachineKey,
    cluster_of,
    key_of,
)
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.decide.annotated_machine import Answer, ByAnnotation, judge_annotated
from nodemend.decide.escalation import Trying
from nodemend.decide.facts import PolicyFacts
from nodemend.decide.machine_health import (
    MachineFacts,
    NodeAwaited,
    NodeFound,
    NodeMissing,
    NodeSeen,
    NodeUnseen,
    judge_machine,
)
from nodemend.decide.machine_request import ByDeletion, ByNobody, ByOwner, ByTemplate, Way
from nodemend.decide.node_health import ConditionSeen, NodeHealth
from nodemend.decide.remediation_request import Open
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_dialect import CLUSTER_API, Dialect
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord


@dataclass(frozen=True, slots=True)
class Target:
    """A machine under a check; `overlapping` are other checks that select it too."""

    key: MachineKey
    machine: MachineRecord
    check_key: MachineCheckKey
    check: MachineCheckRecord
    dialect: Dialect
    overlapping: tuple[MachineCheckKey, ...] = ()

    @property
    def by_annotation(self) -> bool:
        """No check has it: what is done for it is what an annotation asks for."""
        return annotated_machine.is_annotation(self.check_key)


def find_target(view: MachineView, key: MachineKey) -> Target | None:
    return find_target_in(view.fleet, key)


def find_target_in(fleet: Fleet, key: MachineKey) -> Target | None:
    """Of several checks that select a machine, the first by name has it: one machine, one owner."""
    machine, realm = fleet.machine(key), fleet.realms.get(key.group)
    if machine is None or realm is None or machine.left_alone_by:
        return None
    mine = sorted(
        ((at, check) for at, check in fleet.checks_for(machine) if selects(check, machine)),
        key=lambda found: (found[1].name, found[0].group),
    )
    if not mine:
        return _without_check(fleet, key, machine, realm.dialect)
    (at, check), *others = mine
    return Target(key, machine, at, check, realm.dialect, tuple(other for other, _ in others))


def _without_check(fleet: Fleet, key: MachineKey, machine: MachineRecord, dialect: Dialect) -> Target | None:
    if not fleet.annotation:
        return None
    asked_by = annotated_machine.as_check(machine, fleet.annotation)
    return Target(key, machine, annotated_machine.check_key_for(machine), asked_by, dialect)


def needs_nodes(view: MachineView, cluster: str) -> bool:
    """Whether a machine there is under a check that we serve, and there is an API server to ask."""
    known = view.fleet.cluster(cluster)
    return (
        known is not None
        and known.control_plane_initialized
        and not view.clusters.is_own(cluster)
        and any(find_target(view, key) is not None for key in view.fleet.in_cluster(cluster))
    )


def machine_facts(view: MachineView, target: Target, seen: MachineObservations, now: float) -> MachineFacts:
    machine = target.machine
    not_yet = _not_yet(view, target)
    node = see_node(view, machine, now)
    waits = node is None and not not_yet
    could_start = waits and (machine.infrastructure_ready or not target.dialect.has_clusters)
    awaited = seen.awaited(machine.uid, could_start=could_start, now=now)
    return MachineFacts(
        node=NodeAwaited(awaited) if node is None else node,
        conditions=_machine_conditions(target, seen.ages, now),
        asked_by=machine.asked_by,
        asked_externally_for=seen.asked_for(machine, now),
        not_yet=not_yet,
        failed=machine.failed,
        deleting=machine.deleting,
    )


def judge(target: Target, facts: MachineFacts) -> NodeHealth:
    if target.by_annotation:
        return judge_annotated(facts)
    return judge_machine(target.check.rules, facts)


def see_node(view: MachineView, machine: MachineRecord, now: float) -> NodeSeen | None:
    """The node that a machine names, if we can be sure that it is the right one; None when it names none.

    While its cluster is out of reach, nobody can say either that it should have had one by now: Cluster API
    may be as blind as we are.
    """
    where = view.clusters.nodes_of(machine)
    if isinstance(where, OutOfReach):
        return NodeUnseen(where.why)
    if not machine.node:
        return None
    if isinstance(where, NotSeen):
        return NodeUnseen(where.why)
    rivals = [
        key
        for key in view.fleet.naming(machine.node)
        if key != key_of(machine)
        and (other := view.fleet.machine(key)) is not None
        and view.clusters.nodes_of(other) is where
    ]
    if rivals:
        return NodeUnseen(f"{rivals[0].namespace}/{rivals[0].name} names the Node {machine.node} too")
    node = where.nodes.get(machine.node)
    if node is None:
        return NodeMissing(machine.node)
    if machine.provider_id and node.provider_id and machine.provider_id != node.provider_id:
        return NodeUnseen(f"the Node {node.name} has the provider ID of another machine")
    return NodeFound(where.seen.ages.ages(node.uid, node.conditions, now))


def way_of(view: MachineView, target: Target, policy: PolicyFacts | None, now: float) -> Way:
    """Who would act on a target that is unhealthy."""
    machine, delay = target.machine, policy.machines.healthy_delay if policy is not None else 0.0
    if target.by_annotation:
        return _by_annotation(view, target, delay, now)
    if target.check.rules.template is not None:
        record = find_remediation(view, target)
        seconds = now - view.remedies_seen.get(record.uid, now) if record is not None else 0.0
        return ByTemplate(as_open(target, record, seconds) if record is not None else None, delay)
    if machine.owner is None:
        return ByNobody("no controller owns it, so nobody would replace it")
    if target.dialect.owners_read_conditions:
        return ByOwner()
    if policy is not None and policy.machines.delete:
        return ByDeletion()
    return ByNobody(f"its {machine.owner.kind} does not read conditions, and machines may not be deleted")


def _by_annotation(view: MachineView, target: Target, delay: float, now: float) -> ByAnnotation:
    """A remediation that another asked for is left to them, also where it belongs to this very machine."""
    asking, record = annotated_machine.asking_of(target.machine), find_remediation(view, target)
    if record is None:
        return ByAnnotation(asking, None, "", delay)
    existing = as_open(target, record, now - view.remedies_seen.get(record.uid, now))
    to = annotated_machine.answers_to(record)
    if not existing.ours or to is None:
        return ByAnnotation(asking, None, existing.holder, delay)
    return ByAnnotation(asking, Answer(existing, to), "", delay)


def find_remediation(view: MachineView, target: Target) -> RemediationRecord | None:
    template = target.check.rules.template
    if template is None:
        return None
    kind = view.remedies.kind_of(template)
    if not isinstance(kind, RemedyKind):
        return None
    return view.remedies.find(kind, target.machine.namespace, target.machine.name)


def as_open(target: Target, record: RemediationRecord, seconds: float) -> Open:
    """Ours when it belongs to this very machine, whoever of the checks over it once asked for it.

    Not so to the annotation: that takes back only what it asked for itself.
    """
    succeeded = record.says("Succeeded")
    theirs = target.by_annotation and annotated_machine.answers_to(record) is None
    return Open(
        holder=str(record),
        ours=target.machine.uid in record.owners and not theirs,
        ending=record.deleting,
        committed=record.says("Fenced") == ConditionStatus.TRUE,
        finished=succeeded == ConditionStatus.TRUE and record.fences,
        trying=Trying(0, seconds, failed=succeeded == ConditionStatus.FALSE),
        untouched=record.untouched,
    )


def abandoned(view: MachineView, machine: MachineRecord, target: Target | None) -> list[RemediationRecord]:
    """Remediations of a machine that we made, and that its check, if any, does not ask for any more."""
    wanted = find_remediation(view, target) if target is not None else None
    if target is not None and wanted is not None and not as_open(target, wanted, 0.0).ours:
        wanted = None
    return [
        record
        for record in view.remedies.all()
        if record.name == machine.name
        and machine.uid in record.owners
        and keys.CHECK_UID in record.annotations
        and record != wanted
        and not record.deleting
    ]


def selects(check: MachineCheckRecord, machine: MachineRecord) -> bool:
    """A check of Cluster API without any demand selects nobody: there it is refused where it is admitted."""
    all_without_demand = check.resource.group != CLUSTER_API
    return check.rules.selects(machine.cluster, machine.labels, all_without_demand=all_without_demand)


def _not_yet(view: MachineView, target: Target) -> str:
    """Why nothing can be expected of the machine yet; empty when it can."""
    realm = view.fleet.realms[target.key.group]
    if realm.clusters is None or not target.machine.cluster:
        return ""
    cluster = realm.clusters.get(cluster_of(target.machine))
    if cluster is None:
        return f"its Cluster {target.machine.cluster} is not there"
    if not cluster.infrastructure_ready:
        return "the infrastructure of its Cluster is not ready"
    if not cluster.control_plane_initialized and not target.machine.control_plane:
        return "the control plane of its Cluster is not up yet"
    return ""


def _machine_conditions(target: Target, ages: ConditionAges, now: float) -> tuple[ConditionSeen, ...]:
    """Those that its check asks about: a machine has a dozen, and most checks ask about none."""
    asked = {watched.type for watched in target.check.rules.of_machine}
    if not asked:
        return ()
    shown = target.machine.conditions
    times = ages.since(target.machine.uid, shown, now)
    return tuple(
        ConditionSeen(one.type, read_status(one.status), now - since, one.reason)
        for one, since in zip(shown, times, strict=True)
        if one.type in asked
    )
