"""All facts about one ManualRemediation, read fresh."""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, POD, VOLUME_ATTACHMENT
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node import Node
from nodemend.api.workloads import Pod, VolumeAttachment
from nodemend.controllers.fresh_reads import Reader, node_facts, project, seen, value_of
from nodemend.controllers.manual_remediation.observations import word_age
from nodemend.controllers.sightings import Sightings
from nodemend.decide.facts import Absent, LeaseFacts, Present, Seen, Unreadable
from nodemend.decide.manual_remediation import OUR_TAINT, HeldBy, ManualFacts
from nodemend.decide.manual_remediation_steps import Left
from nodemend.decide.workloads import Toleration, tolerates
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.paged_list import list_all

LOCK_PREFIX = "node-"
NOT_ASKED = Unreadable("not asked")
DEFAULT_LEASE_SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, and the objects whose versions the writes will name."""

    facts: ManualFacts
    node: Node | None
    lock: Lease | None


class Gatherer:
    """Reads the Node first: whatever happens to it after that voids what the later reads allow."""

    def __init__(self, reader: Reader, system_namespace: str) -> None:
        self._reader = reader
        self._system_namespace = system_namespace
        self._leases = Sightings()
        self._words = Sightings()

    async def gather(self, remediation: ManualRemediation, server_time: float | None, epoch: int) -> Gathered:
        now = self._reader.runtime.monotonic()
        node = await self._reader.node(remediation.metadata.name)
        lock = await self._lock(remediation)
        undecided = remediation.spec.confirmation is not None and not remediation.status.released
        facts = ManualFacts(
            remediation=remediation,
            epoch=epoch,
            node=project(node, node_facts),
            void_mark=_void_mark(node),
            lease=await self._kubelet_lease(remediation.metadata.name),
            lock=await self._held_by(lock, remediation),
            policy=await self._reader.policy() if undecided else NOT_ASKED,
            others=await self._others(remediation) if undecided else NOT_ASKED,
            left=await self._left(node),
            word_age=word_age(remediation, server_time, self._words, now),
        )
        return Gathered(facts, value_of(node), value_of(lock))

    async def _lock(self, remediation: ManualRemediation) -> Seen[Lease]:
        if not remediation.status.node_uid:
            return Absent()
        name = lock_name(remediation.status.node_uid)
        return seen(await self._reader.get(LEASE, name, Lease, self._system_namespace))

    async def _held_by(self, lock: Seen[Lease], remediation: ManualRemediation) -> Seen[HeldBy]:
        if not isinstance(lock, Present):
            return lock
        uid = lock.value.spec.holder_identity or ""
        who = lock.value.metadata.annotations.get(keys.HOLDER, "")
        if uid == remediation.metadata.uid:
            return Present(HeldBy(ours=True, holder=who))
        gone = await is_orphaned(self._reader, lock.value)
        return Present(HeldBy(ours=False, holder=who or uid, orphaned=gone))

    async def _kubelet_lease(self, node: str) -> Seen[LeaseFacts]:
        asked_at = self._reader.runtime.monotonic()
        found = seen(await self._reader.get(LEASE, node, Lease, keys.KUBELET_LEASE_NAMESPACE))
        answered_at = self._reader.runtime.monotonic()
        return project(found, lambda lease: self._lease_facts(lease, asked_at, answered_at))

    def _lease_facts(self, lease: Lease, asked_at: float, answered_at: float) -> LeaseFacts:
        renewed = lease.spec.renew_time or ""
        silent_for = self._leases.unchanged_for(
            lease.metadata.uid, renewed, asked_at=asked_at, answered_at=answered_at
        )
        lasts = float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)
        return LeaseFacts(renew_time=renewed, lasts=lasts, unchanged_for=silent_for)

    async def _others(self, remediation: ManualRemediation) -> Seen[int]:
        outcome = await list_all(
            self._reader.client, MANUAL_REMEDIATION, ManualRemediation, deadline=self._reader.deadline
        )
        if not isinstance(outcome, Ok):
            return Unreadable(str(outcome))
        return Present(
            sum(
                other.status.evidence is not None
                and not other.status.released
                and other.metadata.uid != remediation.metadata.uid
                for other in outcome.value.items
            )
        )

    async def _left(self, node: Seen[Node]) -> Seen[Left]:
        if not isinstance(node, Present) or OUR_TAINT not in node_facts(node.value).taints:
            return NOT_ASKED
        name, client = node.value.metadata.name, self._reader.client
        on_node = Selection(fields=f"spec.nodeName={name}")
        pods = await list_all(client, POD, Pod, of=on_node, deadline=self._reader.deadline)
        volumes = await list_all(client, VOLUME_ATTACHMENT, VolumeAttachment, deadline=self._reader.deadline)
        if not isinstance(pods, Ok):
            return Unreadable(str(pods))
        if not isinstance(volumes, Ok):
            return Unreadable(str(volumes))
        waited_for = sum(must_leave(pod) for pod in pods.value.items)
        return Present(Left(waited_for, sum(v.spec.node_name == name for v in volumes.value.items)))


async def is_orphaned(reader: Reader, lock: Lease) -> bool:
    """Only what was a ManualRemediation's, and only when the API server itself says that it is gone."""
    kind, _, address = lock.metadata.annotations.get(keys.HOLDER, "").partition(" ")
    namespace, _, name = address.partition("/")
    if kind != MANUAL_REMEDIATION.kind or not name:
        return False
    found = seen(await reader.get(MANUAL_REMEDIATION, name, ManualRemediation, namespace))
    holder = lock.spec.holder_identity or ""
    return isinstance(found, Absent) or (isinstance(found, Present) and found.value.metadata.uid != holder)


def lock_name(node_uid: str) -> str:
    return f"{LOCK_PREFIX}{node_uid}"


def must_leave(pod: Pod) -> bool:
    """Whether a release waits for this pod: it runs, and does not tolerate our taint."""
    declared = (Toleration(t.key, t.operator or "Equal", t.value, t.effect) for t in pod.spec.tolerations)
    over = pod.status.phase in ("Succeeded", "Failed")
    return not over and not tolerates(declared, OUR_TAINT)


def _void_mark(node: Seen[Node]) -> str:
    return node.value.metadata.annotations.get(keys.RELEASE_VOIDED, "") if isinstance(node, Present) else ""
