"""What the explanation of a Machine rests on: live objects, as the checker of machines would see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import NODE, REMEDIATION_POLICY
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.etcd_hosts import EtcdHosts, look_for_etcd
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.leaders import LeaderView, look_at_leaders
from nodemend.cli.listed_fleet import fleet_of, observed
from nodemend.cli.listed_machines import MachineListing, list_machines
from nodemend.cli.listed_objects import as_cache
from nodemend.cli.listed_remedies import ListedRemedies, asked_by_nodes, look_at_visible_remedies
from nodemend.cli.words import spell_list
from nodemend.cli.written_ages import remember_written
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.remedies import Asked
from nodemend.controllers.machine_health_check.clusters import ClusterNodes, Clusters
from nodemend.controllers.machine_health_check.fleet import Fleet
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.machines_behind import MachinesBehind
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.decide.facts import Absent, Unreadable
from nodemend.kube.etcd_pod_record import etcd_pod_records
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.node_record import NodeRecord, NodeWire, node_records
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.projection import whole

KINDS: Final = ("machine", "machines")


@dataclass(frozen=True, slots=True)
class MachineName:
    """As a person writes it. `namespace` and `group` may be empty where the name alone says which."""

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
class Around:
    """What there is beside Machines and their checks."""

    nodes: ObjectCache[NodeRecord]
    policies: ObjectCache[RemediationPolicy]
    etcd_hosts: EtcdHosts
    leaders: tuple[LeaderView, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class MachineSight:
    """All Machines at one moment. `unseen` says what the caller may not see of what is around them."""

    listing: MachineListing
    view: MachineView
    seen: MachineObservations
    behind: MachinesBehind
    unseen: tuple[str, ...]
    around: Around


def parse_machine(target: str, namespace: str) -> MachineName | None:
    """machine/NAME, or machine.GROUP/NAME as kubectl has it; None for what is no Machine."""
    kind, slash, name = target.partition("/")
    kind, _, group = kind.partition(".")
    return MachineName(name, namespace, group) if slash and kind.lower() in KINDS else None


async def gather_machine(cluster: Cluster, asked: MachineName) -> tuple[MachineSight, MachineRecord]:
    """Reads everything that the checker would read, but for other clusters. Writes nothing."""
    # One object first: its answer tells the API server's time.
    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    policies = [] if isinstance(policy, Absent) else [must_have(policy, "RemediationPolicy")]
    nodes = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    around = Around(
        nodes=as_cache(node_records(annotations=(keys.EXCLUDE,)), nodes),
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), policies),
        etcd_hosts=await look_for_etcd(cluster),
        leaders=await look_at_leaders(cluster),
        now=cluster.now,
    )
    sight = await _look(cluster, around, asked_by_nodes(checks))
    if isinstance(sight, Unreadable):
        raise CommandFailure(ExitCode.WRONG, f"{sight.why}.")
    return sight, find_machine(sight, asked)


async def gather_behind(cluster: Cluster, facts: ExplainFacts) -> MachineSight | Unreadable:
    """The Machines, beside a node that is explained."""
    view = facts.view
    around = Around(view.nodes, view.policies, facts.etcd_hosts, facts.leaders, facts.now)
    return await _look(cluster, around, asked_by_nodes(view.checks.all()))


def find_machine(sight: MachineSight, asked: MachineName) -> MachineRecord:
    """Raises CommandFailure unless there is just one."""
    realms = sight.view.fleet.realms.values()
    found = [machine for realm in realms for machine in realm.machines.all() if asked.means(machine)]
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


async def _look(cluster: Cluster, around: Around, asked: list[Asked]) -> MachineSight | Unreadable:
    listing = await list_machines(cluster)
    if isinstance(listing, Unreadable):
        return listing
    fleet = fleet_of(listing)
    remedies = await look_at_visible_remedies(cluster, [*asked, *_asked_by_machines(fleet)])
    return sight_of(listing, fleet, remedies, around)


def sight_of(listing: MachineListing, fleet: Fleet, remedies: ListedRemedies, around: Around) -> MachineSight:
    clusters = Clusters(ClusterNodes(around.nodes, _observed_nodes(around)), {})
    for realm in fleet.realms.values():
        for machine in realm.machines.all():
            clusters.learn(machine)
    view = MachineView(
        fleet=fleet,
        clusters=clusters,
        remedies=remedies.remedies,
        # A command has not watched any: no time of it has passed.
        remedies_seen={},
        policies=around.policies,
        etcd_pods=as_cache(etcd_pod_records(), []),
    )
    seen = observed(listing, fleet, around.now)
    return MachineSight(listing, view, seen, MachinesBehind(fleet, clusters), remedies.unseen, around)


def _observed_nodes(around: Around) -> Observations:
    seen = Observations()
    seen.roll.note_etcd(around.etcd_hosts.nodes, around.nodes.get)
    for node in around.nodes.all():
        remember_written(seen.ages, node.uid, node.conditions, around.now)
        seen.roll.observe(node)
    return seen


def _asked_by_machines(fleet: Fleet) -> list[Asked]:
    checks = (fleet.check(key) for key in fleet.check_keys() if fleet.serves(key))
    templates = (check.rules.template for check in checks if check is not None)
    return [Asked(template.api_version, template.kind) for template in templates if template is not None]
