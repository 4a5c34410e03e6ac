"""A snapshot of the cluster as it is now. It writes nothing."""

from collections.abc import Iterator

from nodemend.api import keys
from nodemend.api.group_versions import NODE, REMEDIATION_POLICY
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.etcd_hosts import EtcdHosts, look_for_etcd
from nodemend.cli.listed_machines import MachineListing, list_machines
from nodemend.cli.listed_remedies import look_at_remedies
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.decide.facts import Absent, Unreadable
from nodemend.kube.node_record import NodeWire, node_records


async def take_snapshot(cluster: Cluster) -> Snapshot:
    projection = node_records(annotations=(keys.EXCLUDE,))
    # One object first: its answer tells the API server's time.
    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    wires = must_have(await cluster.all(NODE, NodeWire), "list of nodes")
    checks = must_have(await cluster.health_checks(), "list of health checks")
    remedies = await look_at_remedies(cluster, checks)
    etcd, machines = await look_for_etcd(cluster), await list_machines(cluster)
    return Snapshot(
        source="the cluster",
        taken_at=cluster.now,
        nodes={wire.metadata.name: projection.project(wire, None) for wire in wires},
        checks=tuple(checks),
        policy=None if isinstance(policy, Absent) else must_have(policy, "RemediationPolicy"),
        kinds=remedies.kinds,
        remediations=tuple(remedies.all()),
        etcd_hosts=etcd.nodes,
        machine_checks=_machine_checks(machines),
        unread=tuple(_unread(etcd, machines)),
    )


def _machine_checks(machines: MachineListing | Unreadable) -> int:
    return 0 if isinstance(machines, Unreadable) else sum(map(len, machines.checks.values()))


def _unread(etcd: EtcdHosts, machines: MachineListing | Unreadable) -> Iterator[str]:
    if etcd.unread:
        yield etcd.note
    if isinstance(machines, Unreadable):
        yield f"Whether there are MachineHealthChecks cannot be read: {machines.why}."
