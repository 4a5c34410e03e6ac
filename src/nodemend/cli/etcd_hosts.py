"""Nodes that run a member of etcd, for commands that ask the guard."""

from dataclasses import dataclass

from nodemend.api.group_versions import POD
from nodemend.cli.cluster import Cluster
from nodemend.decide.facts import Present, Unreadable
from nodemend.kube.etcd_pod_record import ETCD_PODS, EtcdPodWire, etcd_pod_records


@dataclass(frozen=True, slots=True)
class EtcdHosts:
    """`unread` says why they are not known; then labels alone tell who is the control plane."""

    nodes: frozenset[str] = frozenset()
    unread: str = ""

    @property
    def note(self) -> str:
        return f"Pods of etcd cannot be read ({self.unread}): labels alone tell who is the control plane."


async def look_for_etcd(cluster: Cluster) -> EtcdHosts:
    found = await cluster.all(POD, EtcdPodWire, ETCD_PODS)
    if isinstance(found, Unreadable):
        return EtcdHosts(unread=found.why)
    pods, project = found.value if isinstance(found, Present) else [], etcd_pod_records().project
    return EtcdHosts(frozenset(record.node for pod in pods if (record := project(pod, None)).node))
