"""Nodes that run a member of etcd, for commands that ask the guard."""

from nodemend.api.group_versions import POD
from nodemend.cli.cluster import Cluster
from nodemend.decide.facts import Present
from nodemend.kube.etcd_pod_record import ETCD_PODS, EtcdPodWire, etcd_pod_records


async def look_for_etcd(cluster: Cluster) -> frozenset[str]:
    """None where the caller may not see them: then labels alone tell who is the control plane."""
    found = await cluster.all(POD, EtcdPodWire, ETCD_PODS)
    pods, project = found.value if isinstance(found, Present) else [], etcd_pod_records().project
    return frozenset(record.node for pod in pods if (record := project(pod, None)).node)
