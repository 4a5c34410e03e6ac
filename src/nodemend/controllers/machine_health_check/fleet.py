"""The machines that we know and what is around them, found by node, by UID, by cluster and by namespace."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from nodemend.api.group_versions import Resource
from nodemend.controllers.checking.guarding import VIEW_GOOD_FOR
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_dialect import Dialect
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.workload_cluster_record import WorkloadClusterRecord


@dataclass(frozen=True, slots=True)
class MachineKey:
    group: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}:{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class MachineCheckKey:
    group: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}:{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Realm:
    """The Machines of one project, and whatever checks them."""

    dialect: Dialect
    resource: Resource
    machines: ObjectCache[MachineRecord]
    clusters: ObjectCache[WorkloadClusterRecord] | None


@dataclass(frozen=True, slots=True)
class CheckBook:
    """The MachineHealthChecks of one group. Where another project serves them, only the claimed are ours."""

    group: str
    of: str
    """The group whose Machines they are about."""
    checks: ObjectCache[MachineCheckRecord]
    only_claimed: bool


_Reach = tuple[str, str]
"""How far a check looks: its namespace, and there one cluster, or all where it names none."""


@dataclass(slots=True)
class Fleet:
    realms: dict[str, Realm] = field(default_factory=dict)
    books: dict[str, CheckBook] = field(default_factory=dict)
    annotation: str = ""
    """The template for Machines whose remediation an annotation asks for; empty where that is not heeded."""
    changing: bool = False
    """Whether the kinds that we follow are being exchanged."""
    # Each keeps the order in which things came: who is looked at first must not hang on a hash.
    _naming: defaultdict[str, dict[MachineKey, None]] = field(default_factory=lambda: defaultdict(dict))
    _in_cluster: defaultdict[str, dict[MachineKey, None]] = field(default_factory=lambda: defaultdict(dict))
    _by_uid: dict[str, MachineKey] = field(default_factory=dict)
    _asked: dict[MachineKey, None] = field(default_factory=dict)
    _begun: dict[MachineKey, float] = field(default_factory=dict)
    _checks_at: defaultdict[_Reach, dict[MachineCheckKey, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    rules: int = 0
    """Counts the changes of what checks say."""

    @property
    def settled(self) -> bool:
        """Whether all that is served is in sight. Until then, who is not seen is not gone."""
        return (
            not self.changing
            and all(realm.machines.synced_at is not None for realm in self.realms.values())
            and all(book.checks.synced_at is not None for book in self.books.values())
        )

    def machine(self, key: MachineKey) -> MachineRecord | None:
        realm = self.realms.get(key.group)
        return realm.machines.get(f"{key.namespace}/{key.name}") if realm is not None else None

    def check(self, key: MachineCheckKey) -> MachineCheckRecord | None:
        book = self.books.get(key.group)
        return book.checks.get(f"{key.namespace}/{key.name}") if book is not None else None

    def machine_keys(self) -> Iterator[MachineKey]:
        return iter(self._by_uid.values())

    def check_keys(self) -> Iterator[MachineCheckKey]:
        for keys in self._checks_at.values():
            yield from keys

    def checks_for(self, machine: MachineRecord) -> Iterator[tuple[MachineCheckKey, MachineCheckRecord]]:
        """Those in its namespace that are ours to serve, whomever they select."""
        reaches = dict.fromkeys(((machine.namespace, machine.cluster), (machine.namespace, "")))
        for key in chain.from_iterable(self._checks_at.get(reach, ()) for reach in reaches):
            check = self.check(key)
            if check is not None and self.serves(key) and self.books[key.group].of == machine.resource.group:
                yield key, check

    def serves(self, key: MachineCheckKey) -> bool:
        """Whether a check is ours to serve."""
        book, check = self.books.get(key.group), self.check(key)
        return book is not None and check is not None and (check.claimed or not book.only_claimed)

    def checks_over(self, cluster: str) -> Collection[MachineCheckKey]:
        """Those that name a cluster."""
        namespace, _, name = cluster.partition("/")
        return self._checks_at.get((namespace, name), ())

    def cluster(self, name: str) -> WorkloadClusterRecord | None:
        """By its namespace and name."""
        known = (realm.clusters.get(name) for realm in self.realms.values() if realm.clusters is not None)
        return next((cluster for cluster in known if cluster is not None), None)

    def clusters_of(self, keys: Iterable[MachineKey]) -> Collection[str]:
        machines = (self.machine(key) for key in keys)
        return dict.fromkeys(cluster_of(machine) for machine in machines if machine is not None)

    def naming(self, node: str) -> Collection[MachineKey]:
        """Those that name a node of this name as theirs, in whatever cluster."""
        return self._naming.get(node, ())

    def in_cluster(self, cluster: str) -> Collection[MachineKey]:
        return self._in_cluster.get(cluster, ())

    def in_reach(self, check: MachineCheckRecord) -> Collection[MachineKey]:
        """Those that a check could select."""
        if check.rules.cluster:
            return self.in_cluster(f"{check.namespace}/{check.rules.cluster}")
        return [key for key in self._by_uid.values() if key.namespace == check.namespace]

    def by_uid(self, uid: str) -> MachineKey | None:
        return self._by_uid.get(uid)

    def asked(self) -> Collection[MachineKey]:
        """Those whose owner is asked to act, or acts."""
        return self._asked

    def note_begun(self, key: MachineKey, now: float) -> None:
        """Something is asked for it just now: it is busy before our own watches tell us."""
        self._begun[key] = now

    def begun(self, now: float, shown: Collection[str]) -> Collection[MachineKey]:
        """Those of which our watches have not told yet. `shown` are the names of those of which they have."""
        self._begun = {
            key: at
            for key, at in self._begun.items()
            if now - at < VIEW_GOOD_FOR and key not in self._asked and str(key) not in shown
        }
        return self._begun.keys()

    def note_machine(self, change: Change[MachineRecord]) -> MachineKey:
        """Must be told of every change of a machine."""
        record = change.new or change.old
        if record is None:
            raise ValueError("a change is of something")
        key = key_of(record)
        if change.old is not None:
            self._forget(key, change.old)
        if change.new is not None:
            self._remember(key, change.new)
        return key

    def note_check(self, group: str, change: Change[MachineCheckRecord]) -> MachineCheckKey:
        """Must be told of every change of a check."""
        namespace, _, name = change.key.partition("/")
        key = MachineCheckKey(group, namespace, name)
        if change.old is not None:
            self._checks_at[namespace, change.old.rules.cluster].pop(key, None)
        if change.new is not None:
            self._checks_at[namespace, change.new.rules.cluster][key] = None
        if says_other(change):
            self.rules += 1
        return key

    def _remember(self, key: MachineKey, machine: MachineRecord) -> None:
        cluster = cluster_of(machine)
        self._by_uid[machine.uid] = key
        self._in_cluster[cluster][key] = None
        if machine.node:
            self._naming[machine.node][key] = None
        if machine.marks.asks_owner:
            self._asked[key] = None

    def _forget(self, key: MachineKey, machine: MachineRecord) -> None:
        cluster = cluster_of(machine)
        self._by_uid.pop(machine.uid, None)
        self._in_cluster[cluster].pop(key, None)
        self._naming[machine.node].pop(key, None)
        self._asked.pop(key, None)
        if not self._in_cluster[cluster]:
            del self._in_cluster[cluster]
        if not self._naming[machine.node]:
            del self._naming[machine.node]


def says_other(change: Change[MachineCheckRecord]) -> bool:
    """Whether more has changed than the status of a check."""
    return _says(change.old) != _says(change.new)


def _says(check: MachineCheckRecord | None) -> object:
    return None if check is None else (check.uid, check.rules, check.claimed, check.paused)


def key_of(machine: MachineRecord) -> MachineKey:
    return MachineKey(machine.resource.group, machine.namespace, machine.name)


def cluster_of(machine: MachineRecord) -> str:
    """The cluster whose node it is: namespace and name of its Cluster, or nothing for the one we run in."""
    return f"{machine.namespace}/{machine.cluster}" if machine.cluster else ""
