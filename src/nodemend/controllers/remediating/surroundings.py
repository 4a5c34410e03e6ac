"""What is read about every node under remediation: its kubelet's Lease, its control plane, what is left."""

from collections.abc import Iterable

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.group_versions import LEASE, NODE, PERSISTENT_VOLUME_CLAIM, POD, VOLUME_ATTACHMENT
from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.api.workloads import PersistentVolumeClaim, Pod, VolumeAttachment
from nodemend.controllers.fresh_reads import Reader, node_facts, project, seen
from nodemend.controllers.remediating.at_work import AtWork, Others
from nodemend.controllers.sightings import Sightings
from nodemend.decide.facts import Absent, LeaseFacts, Present, Seen, Taint, Unreadable
from nodemend.decide.guard_facts import ControlPlane
from nodemend.decide.remediation_life import OUR_TAINT, taint_of_another
from nodemend.decide.remediation_steps import Left
from nodemend.decide.workloads import Toleration, tolerates
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.paged_list import list_all

NOT_ASKED = Unreadable("not asked")
DEFAULT_LEASE_SECONDS = 40.0
LONGEST_LEASE_SECONDS = 600.0
"""A kubelet writes its own. One that claims more would never be silent; no release rests on silence alone."""


class Surroundings:
    """Reads straight from the API server, and remembers for how long each Lease has been silent."""

    def __init__(self, reader: Reader, at_work: AtWork) -> None:
        self._reader = reader
        self.at_work = at_work
        self._leases = Sightings()

    async def kubelet_lease(self, node: str) -> Seen[LeaseFacts]:
        asked_at = self._reader.runtime.monotonic()
        found = seen(await self._reader.get(LEASE, node, Lease, keys.KUBELET_LEASE_NAMESPACE))
        answered_at = self._reader.runtime.monotonic()
        return project(found, lambda lease: self._lease_facts(lease, asked_at, answered_at))

    def _lease_facts(self, lease: Lease, asked_at: float, answered_at: float) -> LeaseFacts:
        renewed = lease.spec.renew_time or ""
        silent_for = self._leases.unchanged_for(
            lease.metadata.uid, renewed, asked_at=asked_at, answered_at=answered_at
        )
        lasts = min(float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS), LONGEST_LEASE_SECONDS)
        return LeaseFacts(renew_time=renewed, lasts=lasts, unchanged_for=silent_for)

    async def left(self, node: Seen[Node]) -> Seen[Left]:
        """What a release still waits for; asked only where the node is out of service."""
        if not isinstance(node, Present):
            return NOT_ASKED
        known = node_facts(node.value)
        taint = OUR_TAINT if OUR_TAINT in known.taints else taint_of_another(known)
        return await self.left_on(node.value.metadata.name, taint) if taint else NOT_ASKED

    async def left_on(self, name: str, taint: Taint | None) -> Seen[Left]:
        """On the node of this name that does not tolerate `taint`.

        None where there is no such Node: the collector does not ask what a pod tolerates.
        """
        client = self._reader.client
        on_node = Selection(fields=f"spec.nodeName={name}")
        pods = await list_all(client, POD, Pod, of=on_node, deadline=self._reader.deadline)
        volumes = await list_all(client, VOLUME_ATTACHMENT, VolumeAttachment, deadline=self._reader.deadline)
        if not isinstance(pods, Ok):
            return Unreadable(str(pods))
        if not isinstance(volumes, Ok):
            return Unreadable(str(volumes))
        attached = [one for one in volumes.value.items if one.spec.node_name == name]
        leaving = [pod for pod in pods.value.items if taint is None or must_leave(pod, taint)]
        staying = [pod for pod in pods.value.items if taint is not None and stays(pod, taint)]
        kept = await self._volumes_of(staying) if attached else Present(frozenset[str]())
        if not isinstance(kept, Present):
            return kept
        waited_for = [one for one in attached if one.spec.source.persistent_volume_name not in kept.value]
        return Present(Left(len(leaving), len(waited_for)))

    async def _volumes_of(self, pods: Iterable[Pod]) -> Present[frozenset[str]] | Unreadable:
        """The volumes that these pods use. Kubernetes detaches none of them while the pods are bound."""
        found = set[str]()
        for pod in pods:
            for claim in pod.claims:
                namespace = pod.metadata.namespace
                match seen(
                    await self._reader.get(PERSISTENT_VOLUME_CLAIM, claim, PersistentVolumeClaim, namespace)
                ):
                    case Unreadable(why):
                        return Unreadable(why)
                    case Present(read):
                        found.add(read.spec.volume_name)
                    case Absent():
                        pass
        return Present(frozenset(found))

    async def control_plane(self, node: Node, others: Seen[Others]) -> Seen[ControlPlane]:
        """The members around one, by their labels; Absent for a node that is none of them.

        Those whom other remediations have in hand may look Ready, and are lost. Where nobody asked for these,
        only looks count.
        """
        if keys.CONTROL_PLANE_ROLES.isdisjoint(node.metadata.labels):
            return Absent()
        ready: dict[str, bool] = {}
        for role in sorted(keys.CONTROL_PLANE_ROLES):
            deadline, members = self._reader.deadline, Selection(labels=role)
            listed = await list_all(self._reader.client, NODE, Node, of=members, deadline=deadline)
            if not isinstance(listed, Ok):
                return Unreadable(str(listed))
            ready |= {one.metadata.name: _is_ready(one) for one in listed.value.items}
        away = others.value.away if isinstance(others, Present) else frozenset()
        there = sum(ready[name] for name in ready.keys() - away - {node.metadata.name})
        return Present(ControlPlane(len(ready), there, busy=""))


def _is_ready(node: Node) -> bool:
    return node_facts(node).ready is ConditionStatus.TRUE


def must_leave(pod: Pod, taint: Taint = OUR_TAINT) -> bool:
    """Whether a release waits for this pod: it runs, and does not tolerate the taint or is terminating.

    Kubernetes removes terminating pods of such a node by force, whatever they tolerate.
    """
    declared = (Toleration(t.key, t.operator or "Equal", t.value, t.effect) for t in pod.spec.tolerations)
    return not _is_over(pod) and (pod.metadata.deleting or not tolerates(declared, taint))


def stays(pod: Pod, taint: Taint) -> bool:
    """Whether it stays on the node, and keeps its volumes there: it is neither over nor has to leave."""
    return not _is_over(pod) and not must_leave(pod, taint)


def _is_over(pod: Pod) -> bool:
    return pod.status.phase in ("Succeeded", "Failed")


def void_mark(node: Seen[Node]) -> str:
    return node.value.metadata.annotations.get(keys.RELEASE_VOIDED, "") if isinstance(node, Present) else ""
