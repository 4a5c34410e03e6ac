"""Reads Machines as the checker would read them, and evaluates one of them with the checker's own code.

The objects are read live. The evaluation is pure.
"""

from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Final

from nodemend.api import well_known
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import NODE, REMEDIATION_POLICY
from nodemend.cli.cluster import Cluster, EtcdHosts, LeaderView, find_etcd_hosts, must_have, read_leaders
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.listing import MachineListing, list_machines
from nodemend.cli.listing_caches import (
    NOW_IN_VIEW,
    ListedRemedies,
    as_cache,
    asked_by_nodes,
    list_visible_remedies,
    machine_index_of,
    observed,
    remember_written,
)
from nodemend.cli.text import spell_list
from nodemend.guard.evaluator import Clocks, GuardEvaluator
from nodemend.guard.state import target_status
from nodemend.health.conditions import ObservationCache
from nodemend.health.machine import targets
from nodemend.health.machine.index import MachineIndex, key_of
from nodemend.health.machine.request import (
    AskOwnerByCondition,
    Delete,
    RemediationPath,
    Request,
    decide_machine,
)
from nodemend.health.machine.targets import (
    MachineGuardInputs,
    MachineObservations,
    MachineTarget,
    MachineView,
    find_conflicting_remediation,
    guard_target_of,
)
from nodemend.health.machine.workload_clusters import ClusterNodes, Clusters, NodeToMachine
from nodemend.health.remediation_index import NotServed, TemplateKind, template_kind
from nodemend.kube.store import Store, whole
from nodemend.records.live_reads import value_of
from nodemend.records.machine import MachineRecord
from nodemend.records.node import NodeRecord, NodeWire, etcd_pod_records, node_records
from nodemend.rules.machine import NO_TEMPLATE, evaluate_machine_health
from nodemend.rules.node import NodeHealth
from nodemend.rules.request import Create
from nodemend.safety.facts import Absent, Unreadable
from nodemend.safety.guard import GuardFacts, guard
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold

KINDS: Final = ("machine", "machines")


@dataclass(frozen=True, slots=True)
class MachineName:
    """A Machine as a user names it. `namespace` and `group` may be empty if the name alone is unique."""

    name: str
    namespace: str = ""
    group: str = ""

    def means(self, machine: MachineRecord) -> bool:
        return (
            machine.name == self.name
            and self.namespace in ("", machine.namespace)
            and self.group in ("", machine.resource.group)
        )


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """Objects other than Machines and their checks."""

    nodes: Store[NodeRecord]
    policies: Store[RemediationPolicy]
    etcd_hosts: EtcdHosts
    leaders: tuple[LeaderView, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class MachineSnapshot:
    """All Machines at one moment. `unseen` lists the related objects that the caller may not read."""

    listing: MachineListing
    view: MachineView
    seen: MachineObservations
    behind: NodeToMachine
    unseen: tuple[str, ...]
    around: ClusterContext


def parse_machine(target: str, namespace: str) -> MachineName | None:
    """Parse machine/NAME, or machine.GROUP/NAME as in kubectl.

    Returns None if the target is not a Machine.
    """
    kind, slash, name = target.partition("/")
    kind, _, group = kind.partition(".")
    return MachineName(name, namespace, group) if slash and kind.lower() in KINDS else None


async def gather_machine(cluster: Cluster, asked: MachineName) -> tuple[MachineSnapshot, MachineRecord]:
    """Read everything that the checker would read, except other clusters. Writes nothing."""
    # Read one object first: its response sets the API server's clock.
    policy = await cluster.policy()
    policies = [] if isinstance(policy, Absent) else [must_have(policy, "RemediationPolicy")]
    nodes = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    around = ClusterContext(
        nodes=as_cache(node_records(annotations=(well_known.EXCLUDE,)), nodes),
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), policies),
        etcd_hosts=await find_etcd_hosts(cluster),
        leaders=await read_leaders(cluster),
        now=cluster.now,
    )
    snapshot = await _read_machines(cluster, around, asked_by_nodes(checks))
    if isinstance(snapshot, Unreadable):
        raise CommandFailure(ExitCode.WRONG, f"{snapshot.why}.")
    return snapshot, find_machine(snapshot, asked)


async def gather_behind(cluster: Cluster, facts: ExplainFacts) -> MachineSnapshot | Unreadable:
    """Read the Machines for the explanation of a node."""
    view = facts.view
    around = ClusterContext(view.nodes, view.policies, facts.etcd_hosts, facts.leaders, facts.now)
    return await _read_machines(cluster, around, asked_by_nodes(view.checks.all()))


def find_machine(snapshot: MachineSnapshot, asked: MachineName) -> MachineRecord:
    """Return the Machine that `asked` names. Raises CommandFailure unless exactly one matches."""
    found = [machine for machine in snapshot.view.machine_index.machines() if asked.means(machine)]
    if len(found) == 1:
        return found[0]
    if not found:
        where = f" in the namespace {asked.namespace}" if asked.namespace else ""
        raise CommandFailure(
            ExitCode.WRONG, f"there is no Machine {asked.name}{where}, or you may not see it."
        )
    places = sorted({machine.namespace for machine in found})
    groups = sorted({machine.resource.group for machine in found})
    raise CommandFailure(
        ExitCode.WRONG,
        f"there are {len(found)} Machines {asked.name}: in {spell_list(places)}.",
        f"say which, with -n {places[0]}."
        if len(places) > 1
        else f"say which, as machine.{groups[0]}/{asked.name}.",
    )


async def _read_machines(
    cluster: Cluster, around: ClusterContext, asked: list[TemplateKind]
) -> MachineSnapshot | Unreadable:
    listing = await list_machines(cluster)
    if isinstance(listing, Unreadable):
        return listing
    machine_index = machine_index_of(listing)
    remedies = await list_visible_remedies(cluster, [*asked, *_asked_by_machines(machine_index)])
    return machine_snapshot(listing, machine_index, remedies, around)


def machine_snapshot(
    listing: MachineListing, machine_index: MachineIndex, remedies: ListedRemedies, around: ClusterContext
) -> MachineSnapshot:
    clusters = Clusters(ClusterNodes(around.nodes, _observed_nodes(around)), {})
    for machine in machine_index.machines():
        clusters.learn(machine)
    view = MachineView(
        machine_index=machine_index,
        clusters=clusters,
        remedies=remedies.remedies,
        policies=around.policies,
        etcd_pods=as_cache(etcd_pod_records(), []),
    )
    seen = observed(listing, machine_index, around.now)
    return MachineSnapshot(
        listing, view, seen, NodeToMachine(machine_index, clusters), remedies.unseen, around
    )


def _observed_nodes(around: ClusterContext) -> ObservationCache:
    seen = ObservationCache()
    seen.control_plane_index.note_etcd(around.etcd_hosts.nodes, around.nodes.get)
    for node in around.nodes.all():
        remember_written(seen.ages, node.uid, node.conditions, around.now)
        seen.control_plane_index.observe(node)
    return seen


def _asked_by_machines(machine_index: MachineIndex) -> list[TemplateKind]:
    checks = (machine_index.check(key) for key in machine_index.check_keys() if machine_index.serves(key))
    templates = (check.rules.template for check in checks if check is not None)
    return [template_kind(template) for template in templates if template is not None]


@dataclass(frozen=True, slots=True)
class MachineReasoning:
    """A Machine that a check selects.

    Its facts include every other Machine, because the guard counts them all.
    """

    target: MachineTarget
    health: NodeHealth
    way: RemediationPath
    guard_facts: GuardFacts
    request: Request
    seen_here: bool
    """True if the Machine's nodes are in the cluster that the command reads.

    If False, the checker may know more.
    """


def evaluate_machine(snapshot: MachineSnapshot, machine: MachineRecord) -> MachineReasoning | None:
    """Evaluate the Machine. Returns None if none of Nodemend's checks selects it."""
    target = targets.find_target(snapshot.view.machine_index, key_of(machine))
    if target is None:
        return None
    moment = Clocks(NOW_IN_VIEW, snapshot.around.now)
    evaluator = _survey(snapshot, moment)
    policy = value_of(evaluator.policy(moment))
    placed = evaluator.place_target(guard_target_of(snapshot.view, target, policy), moment)
    facts = evaluator.evaluate(placed, moment)
    health = _evaluate_health(snapshot, target)
    way = targets.way_of(snapshot.view, target, policy, NOW_IN_VIEW)
    request = decide_machine(health, way, machine.marks, guard(facts))
    return MachineReasoning(
        target=target,
        health=health,
        way=way,
        guard_facts=facts,
        request=_second_thought(snapshot, target, request),
        seen_here=isinstance(snapshot.view.clusters.nodes_of(machine), ClusterNodes),
    )


def _survey(snapshot: MachineSnapshot, moment: Clocks) -> GuardEvaluator:
    """Count all Machines as a checker would that had watched since the times written in the objects."""
    view = snapshot.view
    evaluator = GuardEvaluator(MachineGuardInputs(view), now=moment.now, last_start=-inf)
    for key in view.machine_index.machine_keys():
        target = targets.find_target(view.machine_index, key)
        if target is None:
            continue
        in_progress = target.machine.marks.asks_owner or targets.find_remediation(view, target) is not None
        policy = value_of(evaluator.policy(moment))
        placed = evaluator.place_target(guard_target_of(view, target, policy), moment)
        entry = target_status(_evaluate_health(snapshot, target), None, remediating=in_progress)
        evaluator.target_index.upsert(placed.target.name, placed.place, entry)
    return evaluator


def _evaluate_health(snapshot: MachineSnapshot, target: MachineTarget) -> NodeHealth:
    facts = targets.machine_facts(snapshot.view, target, snapshot.seen, NOW_IN_VIEW)
    return evaluate_machine_health(target.check.rules, facts)


def _second_thought(snapshot: MachineSnapshot, target: MachineTarget, request: Request) -> Request:
    """Apply the checker's preflight checks, which follow its decision and precede the first write."""
    if not isinstance(request, AskOwnerByCondition | Create | Delete):
        return request
    conflict = find_conflicting_remediation(snapshot.view, target, snapshot.view.remedies.all())
    if conflict is not None:
        return Hold(OtherRemediation(str(conflict)))
    return _without_template(snapshot, target) or request


def _without_template(snapshot: MachineSnapshot, target: MachineTarget) -> Hold | None:
    """Return a hold if the template's kind is not served or if the checker could not read the template."""
    template, external = target.check.rules.template, target.machine.marks.external
    if template is None:
        return None
    kind = snapshot.view.remedies.kind_of(template)
    if isinstance(kind, NotServed) and kind.certain:
        return Hold(CannotRead(f"the template {template.kind}", kind.why))
    if external is not None and external.reason == NO_TEMPLATE:
        what = f"the template {target.check.namespace}/{template.name}"
        return Hold(CannotRead(what, "so the checker wrote when it last tried"))
    return None
