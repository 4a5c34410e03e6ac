"""A snapshot of the cluster as it is now. It writes nothing."""

from nodemend.api import keys
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.etcd_hosts import look_for_etcd
from nodemend.cli.listed_remedies import look_at_remedies
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.controllers.machine_health_check.served_kinds import find_served_kinds
from nodemend.decide.facts import Absent, Present
from nodemend.kube.machine_check_record import MachineCheckWire
from nodemend.kube.node_record import NodeWire, node_records


async def take_snapshot(cluster: Cluster) -> Snapshot:
    projection = node_records(annotations=(keys.EXCLUDE,))
    # One object first: its answer tells the API server's time.
    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.all(NODE_HEALTH_CHECK, NodeHealthCheck), "list of health checks")
    remedies = await look_at_remedies(cluster, checks)
    return Snapshot(
        source="the cluster",
        taken_at=cluster.now,
        nodes={wire.metadata.name: projection.project(wire, None) for wire in wires},
        checks=tuple(checks),
        policy=None if isinstance(policy, Absent) else must_have(policy, "RemediationPolicy"),
        kinds=remedies.kinds,
        remediations=tuple(remedies.all()),
        etcd_hosts=await look_for_etcd(cluster),
        machine_checks=await _machine_checks(cluster),
    )


async def _machine_checks(cluster: Cluster) -> int:
    """As many as whoever asks may see."""
    served = await find_served_kinds(cluster.reader.client, cluster.reader.deadline)
    resources = [book.checks for book in served.checks.values()] if served is not None else []
    found = [await cluster.all(resource, MachineCheckWire) for resource in resources]
    return sum(len(listed.value) for listed in found if isinstance(listed, Present))
