"""Connects to workload clusters while a check needs their nodes, and watches these nodes.

A connection that fails is opened again. Each of Cluster API's kubeconfig Secrets is read by its name, and
never stored.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final, Protocol, assert_never

import msgspec

from nodemend.api.machine_health_check import CLUSTER_LABEL
from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import NODE, SECRET
from nodemend.api.upstream_types import Node
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.health.conditions import ObservationCache
from nodemend.health.machine.index import MachineIndex, MachineKey, cluster_of
from nodemend.kube.client import ApiClient
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.informer import run_reflector
from nodemend.kube.outcome import (
    Acknowledged,
    ApiResponse,
    Ok,
    ReadOutcome,
    Reason,
    Refused,
    Reply,
    ServerFault,
    Unanswered,
    Undecodable,
    Unreachable,
    Unsent,
)
from nodemend.kube.ports import CannotConnect, Connector, OwnedTransport, Runtime, Stream, Task, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import EVERYTHING, Request, get, list_page
from nodemend.kube.store import Change, Projection, Store
from nodemend.kube.tasks import FairSemaphore, end_all
from nodemend.records.live_reads import READ_WITHIN, LiveReader
from nodemend.records.machine import MachineRecord
from nodemend.records.node import NodeRecord, NodeWire
from nodemend.records.remediation import RemediationRecord
from nodemend.safety.facts import ReadResult, Unreadable


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """The reason why a cluster is unreachable. `why` is stable while the cause is; `detail` is for logs."""

    why: str
    detail: str = ""


REFUSED: Final = ConnectionFailure("its API server does not take the credentials of its Secret (401)")
SILENT: Final = "its API server does not answer"


class ClusterConnection:
    """A connection to one cluster's API server. Runs the callback when the server rejects the credentials."""

    def __init__(self, transport: Transport, runtime: Runtime, on_refused: Callable[[], None]) -> None:
        self.opened_at = self.answered_at = runtime.monotonic()
        self.refused = False
        self.reads = 0
        self.client = ApiClient(self, runtime)
        self._transport = transport
        self._runtime = runtime
        self._on_refused = on_refused

    async def try_out(self) -> ConnectionFailure | None:
        """Return the failure if the server does not respond or forbids listing Nodes; None if it works.

        It lists one Node, so that a failure shows before the long list of all.
        """
        within = self._runtime.monotonic() + READ_WITHIN
        question = list_page(NODE, EVERYTHING, limit=1)
        return _failure_in(await self.client.read(question, Acknowledged, deadline=within))

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self._transport.send(request, deadline)
        self._note(reply)
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        opened = await self._transport.open(request, deadline)
        self._note(opened)
        return opened

    def _note(self, reply: Stream | Reply) -> None:
        if isinstance(reply, Unsent | Unanswered):
            return
        if not isinstance(reply, ApiResponse) or reply.status == 200:
            self.answered_at = self._runtime.monotonic()
        elif reply.status == 401:
            self.refused = True
            self._on_refused()


def _failure_in(outcome: ReadOutcome[Acknowledged]) -> ConnectionFailure | None:
    """Map an outcome to a fixed text: another server's message must not get into Nodemend's statuses."""
    match outcome:
        case Ok():
            return None
        case Refused(reason=Reason.UNAUTHORIZED):
            return REFUSED
        case Refused(reason=Reason.FORBIDDEN, message=detail):
            return ConnectionFailure("its API server does not allow listing Nodes (403)", detail)
        case Unreachable(detail):
            return ConnectionFailure(SILENT, detail)
        case Refused(message=detail) | ServerFault(message=detail) | Undecodable(detail):
            return ConnectionFailure("its API server does not answer as one", detail)
        case _:
            assert_never(outcome)


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """The nodes of a visible cluster, and since when each has its observed state."""

    nodes: Store[NodeRecord]
    seen: ObservationCache


@dataclass(frozen=True, slots=True)
class NodesNotVisible:
    """No node is proven to belong to the cluster. The state of its Machines still counts."""

    why: str


@dataclass(frozen=True, slots=True)
class ClusterUnreachable:
    """The cluster's API server cannot be reached, so nothing about its Machines is certain."""

    why: str


NodeVisibility = ClusterNodes | NodesNotVisible | ClusterUnreachable


@dataclass(slots=True)
class Clusters:
    """The nodes of the local cluster, which Nodemend runs in, and of connected workload clusters.

    A Machine names its Node by name alone, which does not identify the cluster. A search for another
    cluster's nodes in the local cluster would find none, and they would all seem to be gone. So a Cluster
    counts as the local cluster only if the Node of one of its Machines is here with that Machine's provider
    ID.
    """

    own: ClusterNodes
    others: Mapping[str, "WorkloadCluster"]
    """Clusters with a connection, or with attempts to connect, by the namespace and name of the Cluster."""
    _own_names: set[str] = field(default_factory=set)

    def nodes_of(self, machine: MachineRecord) -> NodeVisibility:
        cluster = cluster_of(machine)
        if self.is_own(cluster):
            return self.own
        other = self.others.get(cluster)
        if other is not None:
            return other.node_visibility
        return NodesNotVisible(
            f"no node of the cluster {cluster} is seen here with its machine's provider ID"
        )

    def is_own(self, cluster: str) -> bool:
        return not cluster or cluster in self._own_names

    def is_elsewhere(self, cluster: str) -> bool:
        """True if the cluster is known not to be the local cluster."""
        return not self.is_own(cluster) and cluster in self.others

    def cache_of(self, cluster: str) -> Store[NodeRecord] | ClusterUnreachable:
        """Return the cache whose freshness counts for a cluster; `ClusterUnreachable` if it is unreachable.

        For a cluster without a connection, that is the cache of the local cluster's Nodes.
        """
        other = None if self.is_own(cluster) else self.others.get(cluster)
        if other is None:
            return self.own.nodes
        return other.node_visibility if isinstance(other.node_visibility, ClusterUnreachable) else other.cache

    def connections(self, cluster: str) -> int:
        other = None if self.is_own(cluster) else self.others.get(cluster)
        return other.connections if other is not None else 0

    async def read_node(self, machine: MachineRecord, own: LiveReader) -> ReadResult[Node]:
        """Read the Node that a Machine names live, from the API server of its cluster."""
        match self.nodes_of(machine):
            case ClusterNodes() as where:
                if where is self.own:
                    return await own.node(machine.node)
                return await self.others[cluster_of(machine)].read_node(machine.node)
            case NodesNotVisible(why) | ClusterUnreachable(why):
                return Unreadable(why)
            case other:
                assert_never(other)

    def learn(self, machine: MachineRecord) -> bool:
        """Use a Machine's node as evidence for the local cluster. Return True if that is new."""
        cluster = cluster_of(machine)
        if self.is_own(cluster) or not vouches(machine, self.own.nodes):
            return False
        self._own_names.add(cluster)
        return True

    def learn_from_node(self, machine_index: MachineIndex, node: NodeRecord) -> frozenset[str]:
        """Return the clusters that a new Node proves to be the local cluster."""
        claimed = (machine_index.machine(key) for key in machine_index.naming(node.name))
        return frozenset(
            cluster_of(machine) for machine in claimed if machine is not None and self.learn(machine)
        )


def vouches(machine: MachineRecord, nodes: Store[NodeRecord]) -> bool:
    """True if the Machine's node is among `nodes`, by its name and by its provider ID."""
    node = nodes.get(machine.node)
    return node is not None and bool(machine.provider_id) and machine.provider_id == node.provider_id


_KEY: Final = "value"
_PACE: Final = 0.1


class _Secret(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class KubeconfigSecrets:
    """Reads the Secrets named CLUSTER-`suffix`. A Cluster is identified by namespace and name."""

    client: ApiClient
    runtime: Runtime
    suffix: str

    async def read(self, cluster: str) -> str | ConnectionFailure:
        """Return the kubeconfig of a Cluster, or the failure, within READ_WITHIN seconds."""
        full = f"{cluster}-{self.suffix}"
        match found := await self._read(full):
            case Ok(secret):
                return _text_in(secret, full, cluster)
            case Refused(reason=Reason.NOT_FOUND):
                return ConnectionFailure(f"there is no Secret {full}")
            case Refused(reason=Reason.FORBIDDEN):
                return ConnectionFailure(f"the checker may not read the Secret {full}")
            case _:
                return ConnectionFailure(f"the Secret {full} could not be read", str(found))

    async def _read(self, full: str) -> ReadOutcome[_Secret]:
        """Read at the allowed rate: at the start there is one Secret per cluster to read."""
        namespace, _, name = full.partition("/")
        deadline = self.runtime.monotonic() + READ_WITHIN
        while True:
            found = await self.client.read(get(SECRET, name, namespace), _Secret, deadline=deadline)
            if not isinstance(found, Refused) or found.reason is not Reason.THROTTLED:
                return found
            wait = max(found.retry_after or 0.0, _PACE)
            if self.runtime.monotonic() + wait >= deadline:
                return found
            await self.runtime.sleep(wait)


def _text_in(secret: _Secret, full: str, cluster: str) -> str | ConnectionFailure:
    """Return the Secret's kubeconfig. Its label must name the Cluster: the name alone proves nothing."""
    if secret.metadata.labels.get(CLUSTER_LABEL) != cluster.partition("/")[2]:
        return ConnectionFailure(
            f"the Secret {full} has no label {CLUSTER_LABEL} with the name of its Cluster"
        )
    if _KEY not in secret.data:
        return ConnectionFailure(f"the Secret {full} has no key {_KEY}")
    try:
        return secret.data[_KEY].decode()
    except UnicodeDecodeError:
        return ConnectionFailure(f"the Secret {full} holds no text")


@dataclass(frozen=True, slots=True)
class NodeToMachine:
    """Maps Nodes to Machines. Ignores Machines of other clusters that name a node of the same name."""

    machine_index: MachineIndex
    clusters: Clusters

    def of_node(self, node: str) -> Iterator[MachineRecord]:
        for key in self.machine_index.naming(node):
            machine = self.machine_index.machine(key)
            if machine is not None and self.clusters.nodes_of(machine) == self.clusters.own:
                yield machine

    def uids_behind(self, node: str) -> frozenset[str]:
        return frozenset(machine.uid for machine in self.of_node(node))

    def asked_nodes(self, now: float, records: Iterable[RemediationRecord]) -> frozenset[str]:
        """Return nodes whose Machine has an owner request or a new start, but no remediation in `records`."""
        remediated = {uid for record in records for uid in record.owners}
        keys = (*self.machine_index.asked(), *self.machine_index.begun(now, ()))
        machines = (machine for key in keys if (machine := self.machine_index.machine(key)) is not None)
        return frozenset(
            machine.node or machine.key
            for machine in machines
            if machine.uid not in remediated and self.clusters.nodes_of(machine) == self.clusters.own
        )

    def asked_behind(self, node: str) -> str:
        """Describe the owner that is requested to replace the node's Machine; "" without a request."""
        return next((f"The owner of {one}" for one in self.of_node(node) if one.marks.asks_owner), "")


UNSEEN_AFTER: Final = VIEW_GOOD_FOR - 10.0
"""Seconds without a response from the API server; shorter than the time after which its cache is stale."""
FIRST_LIST_WITHIN: Final = 300.0
"""Seconds that a list may take while nothing goes wrong with it."""
PLACE_FOR: Final = 30.0
"""Seconds for which a cluster with a slow list occupies a connection slot that others need."""
READS_AT_ONCE: Final = 2
"""Reads of single Nodes from one cluster: a worker that waits for it is unavailable to all others."""
BACKOFF: Final = Backoff(first=2.0, most=60.0, spread=0.5)
_LIST_POLL_INTERVAL: Final = 0.1
UNHANDLED: Final = "what its API server or its kubeconfig says cannot be handled"
_LONGEST_DETAIL: Final = 300
CONNECTING: Final = ConnectionFailure("it is being connected to")


@dataclass(frozen=True, slots=True)
class Access:
    """Dependencies for connections, shared by all clusters."""

    runtime: Runtime
    secrets: KubeconfigSecrets
    connector: Connector
    opening: FairSemaphore
    projection: Projection[NodeWire, NodeRecord]
    """One for all clusters, so that equal parts of their nodes are stored once."""


class WorkloadCluster:
    """The connection to a cluster. `changed` receives changes after the cache contains them.

    Its owner runs it, and calls `check_nodes` every few seconds.
    """

    def __init__(
        self, name: str, access: Access, changed: Callable[[str, Sequence[Change[NodeRecord]]], None]
    ) -> None:
        self.name = name
        self.failure = CONNECTING
        self.connections = 0
        """The number of times that the cluster's nodes became visible."""
        self.node_visibility: NodeVisibility = ClusterUnreachable(CONNECTING.why)
        self._access = access
        self._runtime = access.runtime
        self._changed = changed
        self._reflector = Reflector(access.projection, chance=access.runtime.random)
        self.nodes = ClusterNodes(self.cache, ObservationCache())
        self._recheck = access.runtime.signal()
        self._line: ClusterConnection | None = None

    @property
    def cache(self) -> Store[NodeRecord]:
        return self._reflector.cache

    async def run(self) -> None:
        """Run until cancelled. Each attempt reads the Secret again, because credentials are rotated."""
        failures = 0
        while True:
            began = self._runtime.monotonic()
            self.failure = await self._run_once()
            steady = self._lived_since(began)
            failures = 1 if steady else failures + 1
            await self._runtime.sleep(BACKOFF.delay(failures, self._runtime.random()))

    async def read_node(self, name: str) -> ReadResult[Node]:
        """Read a Node live from the cluster's API server, within a time limit."""
        line = self._line
        if line is None:
            return Unreadable("its cluster is not connected to")
        if line.reads >= READS_AT_ONCE:
            return Unreadable("others of its cluster are being read")
        line.reads += 1
        try:
            found = await LiveReader(line.client, self._runtime).node(name)
        finally:
            line.reads -= 1
        if not isinstance(found, Unreadable):
            return found
        # Hold the cluster's other targets until its API server has been free of errors for a while.
        self.cache.troubled_at = self._runtime.monotonic()
        return Unreadable("its API server did not show it")

    def check_nodes(self, now: float) -> ConnectionFailure | None:
        """Return the failure if the cluster is unreachable, or None. The owner calls it periodically."""
        if self._line is None:
            self.cache.troubled_at = now
        elif self._is_lost(self._line, now):
            self._recheck.set()
        return self.failure if self._silent_for(now) > UNSEEN_AFTER else None

    async def _run_once(self) -> ConnectionFailure:
        """Run one attempt. Exceptions count as the cluster's failure: its operators control its responses."""
        try:
            return await self._once()
        except Exception as error:  # noqa: BLE001 - one cluster must not end the checker; see tests/tidy
            return ConnectionFailure(UNHANDLED, f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL])

    async def _once(self) -> ConnectionFailure:
        """Connect and watch until the connection is lost; return the reason."""
        async with AsyncExitStack() as opened:
            async with self._access.opening.taken():
                transport = await self._connect()
                if isinstance(transport, ConnectionFailure):
                    return transport
                opened.push_async_callback(transport.close)
                line = ClusterConnection(transport, self._runtime, self._recheck.set)
                failure = await line.try_out()
                if failure is not None:
                    return failure
                following = self._runtime.spawn(self._follow(line), f"nodes of {self.name}")
                opened.push_async_callback(end_all, [following])
                await self._first_list(line, following)
            return await self._until_lost(line, following)

    async def _connect(self) -> OwnedTransport | ConnectionFailure:
        """Connect by the kubeconfig, of which nothing is stored."""
        kubeconfig = await self._access.secrets.read(self.name)
        if isinstance(kubeconfig, ConnectionFailure):
            return kubeconfig
        transport = await self._access.connector.connect(kubeconfig)
        if isinstance(transport, CannotConnect):
            return ConnectionFailure(f"its kubeconfig cannot be used: {transport.why:.200}")
        return transport

    async def _follow(self, line: ClusterConnection) -> None:
        self._line = line
        try:
            await run_reflector(self._reflector, line, self._runtime, self._note)
        finally:
            self._line = None
            self._recheck.set()

    def _note(self, changes: Sequence[Change[NodeRecord]]) -> None:
        now = self._runtime.monotonic()
        for change in changes:
            self.nodes.seen.note(change, now)
        self._changed(self.name, changes)

    async def _first_list(self, line: ClusterConnection, following: Task) -> None:
        until = line.opened_at + PLACE_FOR
        while not (self._listed_since(line.opened_at) or line.refused or following.done):
            if self._runtime.monotonic() >= until:
                return
            await self._runtime.sleep(_LIST_POLL_INTERVAL)

    async def _until_lost(self, line: ClusterConnection, following: Task) -> ConnectionFailure:
        self.failure = ConnectionFailure(SILENT)
        while not following.done:
            if line.refused:
                return REFUSED
            if self._is_lost(line, self._runtime.monotonic()):
                return ConnectionFailure(SILENT, self._reflector.failure)
            await self._recheck.wait()
        await following.join()
        raise RuntimeError(f"the reflector of {self.name} ended")

    def _is_lost(self, line: ClusterConnection, now: float) -> bool:
        patience = UNSEEN_AFTER if self._reflector.failure else FIRST_LIST_WITHIN
        return min(now - line.opened_at, self._silent_for(now)) > patience

    def _silent_for(self, now: float) -> float:
        """Return the seconds since the API server last responded.

        Between two bookmarks, an accepted new watch also counts.
        """
        age, line = self.cache.age(now), self._line
        if line is None or not self._listed_since(line.opened_at):
            return age
        return min(age, now - line.answered_at)

    def _listed_since(self, moment: float) -> bool:
        return self.cache.synced_at is not None and self.cache.synced_at >= moment

    def _lived_since(self, moment: float) -> bool:
        return self._listed_since(moment) and self._runtime.monotonic() - moment >= BACKOFF.most


CHECK_INTERVAL: Final = 2.0
_STATES: Final = {
    "seen": ClusterNodes,
    "not_vouched_for": NodesNotVisible,
    "out_of_reach": ClusterUnreachable,
}


class ClusterListener(Protocol):
    def nodes_changed_in(self, cluster: str, changes: Sequence[Change[NodeRecord]]) -> None: ...

    def node_visibility_changed(self, cluster: WorkloadCluster) -> None:
        """The cluster became visible or invisible, or is invisible for another reason."""
        ...


class WorkloadClusters:
    """Owns a task per cluster. `needed` returns True if a check needs the nodes of a cluster.

    A reachable API server is not necessarily the right one: the Secret may belong to another cluster, and
    then every node would seem to be gone. So at least one Machine must prove the cluster's identity by the
    provider ID of its Node, as long as the cluster is connected.
    """

    def __init__(
        self,
        access: Access,
        machine_index: MachineIndex,
        needed: Callable[[str], bool],
        listener: ClusterListener,
    ) -> None:
        self.by_name: dict[str, WorkloadCluster] = {}
        self._access = access
        self._runtime = access.runtime
        self._machine_index = machine_index
        self._needed = needed
        self._listener = listener
        self._tasks: dict[str, Task] = {}
        self._leaving: list[Task] = []
        self._doubted: set[str] = set()
        self._news = access.runtime.signal()
        self._witnesses: dict[str, MachineKey] = {}
        self._without_witness: set[str] = set()

    def reconsider(self, cluster: str) -> None:
        """Re-evaluate a cluster after a change of its Machines, its checks or its Cluster."""
        self._without_witness.discard(cluster)
        self._doubted.add(cluster)
        self._news.set()

    def count(self) -> dict[str, int]:
        """Return the number of clusters by visibility."""
        found = Counter(type(cluster.node_visibility) for cluster in self.by_name.values())
        return {token: found[kind] for token, kind in _STATES.items()}

    async def run(self) -> None:
        """Run until cancelled; raise if a cluster's task fails, which only a bug can cause."""
        next_check_at = self._runtime.monotonic()
        try:
            while True:
                self._follow_needs()
                now = self._runtime.monotonic()
                if now >= next_check_at:
                    for cluster in list(self.by_name.values()):
                        self._check(cluster)
                    await self._join_ended()
                    next_check_at = now + CHECK_INTERVAL
                await self._news.wait(within=next_check_at - now)
        finally:
            await end_all([*self._tasks.values(), *self._leaving])

    def _follow_needs(self) -> None:
        doubted, self._doubted = self._doubted, set()
        for name in doubted:
            needed = self._needed(name)
            if needed and name not in self.by_name:
                self._begin(name)
            elif not needed and name in self.by_name:
                self._end(name)

    def _begin(self, name: str) -> None:
        cluster = self.by_name[name] = WorkloadCluster(name, self._access, self._nodes_changed)
        self._tasks[name] = self._runtime.spawn(cluster.run(), f"workload cluster {name}")
        self._listener.node_visibility_changed(cluster)

    def _end(self, name: str) -> None:
        """Cancel a cluster's task without joining it: a slow end must not delay other clusters."""
        del self.by_name[name]
        self._witnesses.pop(name, None)
        self._without_witness.discard(name)
        task = self._tasks.pop(name)
        task.cancel()
        self._leaving.append(task)

    async def _join_ended(self) -> None:
        for task in [*self._tasks.values(), *self._leaving]:
            if task.done:
                await task.join()
        self._leaving = [task for task in self._leaving if not task.done]

    def _nodes_changed(self, name: str, changes: Sequence[Change[NodeRecord]]) -> None:
        self._without_witness.discard(name)
        cluster = self.by_name.get(name)
        if cluster is not None:
            # First check that these are its nodes, then handle their changes.
            self._check(cluster)
            self._listener.nodes_changed_in(name, changes)

    def _check(self, cluster: WorkloadCluster) -> None:
        failure = cluster.check_nodes(self._runtime.monotonic())
        found: NodeVisibility
        if failure is not None:
            found = ClusterUnreachable(failure.why)
        elif not self._has_witness(cluster):
            found = NodesNotVisible(
                "its API server shows no Node with the provider ID of any of its machines"
            )
        else:
            found = cluster.nodes
        if found != cluster.node_visibility:
            cluster.node_visibility = found
            cluster.connections += found is cluster.nodes
            self._listener.node_visibility_changed(cluster)

    def _has_witness(self, cluster: WorkloadCluster) -> bool:
        """True if a Machine proves the cluster's identity.

        Tries the last proving Machine first, and all Machines only after a change.
        """
        name = cluster.name
        known = self._witnesses.get(name)
        if known is not None and self._vouches(known, cluster):
            return True
        self._witnesses.pop(name, None)
        if name in self._without_witness:
            return False
        for key in self._machine_index.in_cluster(name):
            if self._vouches(key, cluster):
                self._witnesses[name] = key
                return True
        self._without_witness.add(name)
        return False

    def _vouches(self, key: MachineKey, cluster: WorkloadCluster) -> bool:
        machine = self._machine_index.machine(key)
        return machine is not None and cluster_of(machine) == cluster.name and vouches(machine, cluster.cache)
