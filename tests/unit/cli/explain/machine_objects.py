"""Machines of Cluster API and related objects, as `kubectl get -o json` would print them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from nodemend.api import well_known
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.cli.cluster import EtcdHosts
from nodemend.cli.explain.machine_facts import ClusterContext, MachineSnapshot, machine_snapshot
from nodemend.cli.listing import MachineListing
from nodemend.cli.listing_caches import NOW_IN_VIEW, ListedRemedies, as_cache, machine_index_of
from nodemend.health.remediation_index import NotServed, RemediationIndex, RemedyKind, TemplateKind
from nodemend.kube.store import Store, whole
from nodemend.records.machine import (
    CLAIM,
    CLUSTER_API,
    CLUSTER_API_V1BETA2,
    MachineCheckWire,
    MachineWire,
    WorkloadClusterWire,
)
from nodemend.records.node import NodeWire, node_records
from nodemend.records.remediation import RemediationWire
from nodemend.records.served_kinds import ServedChecks, ServedKinds, ServedMachines
from tests.unit.cli.simulate.clusters import BEGUN, Object
from tests.unit.cli.simulate.simulated import NOON

VERSION: Final = f"{CLUSTER_API}/v1beta2"
METAL3: Final = "infrastructure.cluster.x-k8s.io/v1beta1"
MACHINES: Final = Resource(CLUSTER_API, "v1beta2", "Machine", "machines")
CHECKS: Final = Resource(CLUSTER_API, "v1beta2", "MachineHealthCheck", "machinehealthchecks")
CLUSTERS: Final = Resource(CLUSTER_API, "v1beta2", "Cluster", "clusters")
_GROUP, _, _ = METAL3.partition("/")
FIX: Final = RemedyKind(
    Resource(_GROUP, "v1beta1", "Metal3RemediationTemplate", "metal3remediationtemplates"),
    Resource(_GROUP, "v1beta1", "Metal3Remediation", "metal3remediations"),
)
FIXES: Final = TemplateKind(METAL3, "Metal3RemediationTemplate")
SERVED: Final = ServedKinds(
    {CLUSTER_API: ServedMachines(CLUSTER_API_V1BETA2, MACHINES, CLUSTERS)},
    {CLUSTER_API: ServedChecks(CHECKS, only_claimed=True)},
)
POOL: Final = {"pool": "workers"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machines:
    """A world of Machines. `unseen` is the reason why the caller cannot read remediations."""

    objects: list[Object] = field(default_factory=list)
    unseen: str = ""

    def of(self, kind: str) -> list[Object]:
        return [one for one in self.objects if one["kind"] == kind]


def a_machine(
    name: str, *, node: str | None = "", conditions: Iterable[Object] = (), cluster: str = "prod", **meta: Any
) -> Object:
    """A Machine whose node has its own name; `node=None` for a Machine without a node yet."""
    node = name if node == "" else node
    owner = {"apiVersion": VERSION, "kind": "MachineSet", "name": "workers", "uid": "s", "controller": True}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-machine-{name}",
        "labels": POOL,
        "creationTimestamp": BEGUN,
        "ownerReferences": [owner],
        **meta,
    }
    status: Object = {"initialization": {"infrastructureProvisioned": True}, "conditions": list(conditions)}
    if node is not None:
        status["nodeRef"] = {"name": node}
    spec = {"clusterName": cluster, "providerID": f"metal://{node}"}
    return {"apiVersion": VERSION, "kind": "Machine", "metadata": metadata, "spec": spec, "status": status}


def a_mark(type_: str, status: str, reason: str, since: str = "2026-01-31T11:50:00Z") -> Object:
    return {"type": type_, "status": status, "reason": reason, "lastTransitionTime": since}


def a_cluster(name: str = "prod", **spec: Any) -> Object:
    up = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-cluster-{name}"}
    return {"kind": "Cluster", "metadata": metadata, "spec": spec, "status": {"initialization": up}}


def a_machine_check(
    name: str = "workers",
    *,
    template: bool = False,
    claimed: bool = True,
    limit: object = None,
    **others: Any,
) -> Object:
    """A check: a node that is Unknown for five minutes is unhealthy, and a node must appear within ten."""
    conditions = [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 300}]
    remediation: Object = {}
    if template:
        remediation["templateRef"] = {"apiVersion": METAL3, "kind": FIXES.kind, "name": "reboot"}
    if limit is not None:
        remediation["triggerIf"] = {"unhealthyLessThanOrEqualTo": limit}
    spec = {
        "clusterName": "prod",
        "selector": {"matchLabels": POOL},
        "checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": conditions},
        "remediation": remediation,
    }
    labels = {CLAIM[0]: CLAIM[1]} if claimed else {}
    said = {"type": "RemediationAllowed", "status": "True", "reason": "RemediationAllowed", "message": ""}
    return {
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels},
        "spec": {**spec, **others.get("spec", {})},
        "status": others.get("status", {"conditions": [said]}),
    }


def a_fix(machine: str, **meta: Any) -> Object:
    """A Metal3Remediation that its check created."""
    metadata = {
        "name": machine,
        "namespace": "default",
        "uid": f"uid-fix-{machine}",
        "creationTimestamp": "2026-01-31T11:54:00Z",
        "annotations": {well_known.CHECK_UID: "uid-workers"},
        "ownerReferences": [{"uid": f"uid-machine-{machine}"}],
        **meta,
    }
    return {"kind": "Metal3Remediation", "metadata": metadata}


def see(world: Machines) -> MachineSnapshot:
    """Build the facts as a command would after listing these objects."""
    nodes = as_cache(node_records(annotations=(well_known.EXCLUDE,)), _decoded(world.of("Node"), NodeWire))
    policies = _decoded(world.of("RemediationPolicy"), RemediationPolicy)
    around = ClusterContext(
        nodes=nodes,
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), policies),
        etcd_hosts=EtcdHosts(),
        leaders=(),
        now=NOON,
    )
    listing = MachineListing(
        SERVED,
        {CLUSTER_API: _decoded(world.of("Machine"), MachineWire)},
        {CLUSTER_API: _decoded(world.of("MachineHealthCheck"), MachineCheckWire)},
        {CLUSTER_API: _decoded(world.of("Cluster"), WorkloadClusterWire)},
    )
    return machine_snapshot(listing, machine_index_of(listing), _remedies(world), around)


def node_checks(world: Machines) -> Store[NodeHealthCheck]:
    projection = whole(NODE_HEALTH_CHECK, NodeHealthCheck)
    return as_cache(projection, _decoded(world.of("NodeHealthCheck"), NodeHealthCheck))


def _remedies(world: Machines) -> ListedRemedies:
    remedies = RemediationIndex()
    remedies.kinds[FIXES] = FIX
    for one in remedies.kinds.values():
        if isinstance(one, RemedyKind):
            objects = _decoded(world.of(one.remediation.kind), RemediationWire)
            remedies.add(one.remediation, objects, NOW_IN_VIEW)
    if not world.unseen:
        return ListedRemedies(remedies, ())
    remedies.kinds[FIXES] = NotServed(world.unseen, certain=False)
    return ListedRemedies(remedies, (f"Metal3Remediation objects cannot be read: {world.unseen}.",))


def _decoded(objects: list[Object], kind: type[T]) -> list[T]:
    return msgspec.json.decode(json.dumps(objects), type=list[kind])  # type: ignore[valid-type]
