"""An index of the Machines and related objects, by node, UID, cluster and namespace."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from nodemend.api.resources import Resource
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.kube.store import Change, Store
from nodemend.records.machine import (
    MachineApiFlavor,
    MachineCheckRecord,
    MachineRecord,
    WorkloadClusterRecord,
)


@dataclass(frozen=True, slots=True)
class _ObjectKey:
    group: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}:{self.namespace}/{self.name}"

    @property
    def full_name(self) -> str:
        """The name for users, and the key in the caches of the group."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class MachineKey(_ObjectKey):
    """Identifies a Machine."""


@dataclass(frozen=True, slots=True)
class MachineCheckKey(_ObjectKey):
    """Identifies a MachineHealthCheck, or the requests by annotation in a namespace."""


@dataclass(frozen=True, slots=True)
class MachineKind:
    """The Machines of one project, and its Clusters if it has that kind."""

    flavor: MachineApiFlavor
    resource: Resource
    machines: Store[MachineRecord]
    clusters: Store[WorkloadClusterRecord] | None


@dataclass(frozen=True, slots=True)
class CheckKind:
    """The MachineHealthChecks of one group.

    If another project serves them, Nodemend serves only those that are labelled for it.
    """

    group: str
    of: str
    """The group of the Machines that these checks select."""
    checks: Store[MachineCheckRecord]
    only_claimed: bool


_Reach = tuple[str, str]
"""The scope of a check: its namespace and one cluster in it, or "" for all clusters there."""


@dataclass(slots=True)
class MachineIndex:
    machine_kinds: dict[str, MachineKind] = field(default_factory=dict)
    check_kinds: dict[str, CheckKind] = field(default_factory=dict)
    annotation: str = ""
    """The template for Machines whose remediation an annotation requests; empty if that is ignored."""
    changing: bool = False
    """True while the set of watched kinds is being replaced."""
    # Dicts used as ordered sets: the order of processing must not depend on hashes.
    _naming: defaultdict[str, dict[MachineKey, None]] = field(default_factory=lambda: defaultdict(dict))
    _in_cluster: defaultdict[str, dict[MachineKey, None]] = field(default_factory=lambda: defaultdict(dict))
    _by_uid: dict[str, MachineKey] = field(default_factory=dict)
    _asked: dict[MachineKey, None] = field(default_factory=dict)
    _begun: dict[MachineKey, float] = field(default_factory=dict)
    _checks_at: defaultdict[_Reach, dict[MachineCheckKey, None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    rules: int = 0
    """Counts the changes of the checks' rules."""

    @property
    def settled(self) -> bool:
        """True if all served kinds are cached. Until then, a missing object is not proven to be deleted."""
        return (
            not self.changing
            and all(
                machine_kind.machines.synced_at is not None for machine_kind in self.machine_kinds.values()
            )
            and all(check_kind.checks.synced_at is not None for check_kind in self.check_kinds.values())
        )

    def machines(self) -> Iterator[MachineRecord]:
        for machine_kind in self.machine_kinds.values():
            yield from machine_kind.machines.all()

    def machine(self, key: MachineKey) -> MachineRecord | None:
        machine_kind = self.machine_kinds.get(key.group)
        return machine_kind.machines.get(key.full_name) if machine_kind is not None else None

    def check(self, key: MachineCheckKey) -> MachineCheckRecord | None:
        check_kind = self.check_kinds.get(key.group)
        return check_kind.checks.get(key.full_name) if check_kind is not None else None

    def machine_keys(self) -> Iterator[MachineKey]:
        return iter(self._by_uid.values())

    def check_keys(self) -> Iterator[MachineCheckKey]:
        for keys in self._checks_at.values():
            yield from keys

    def checks_for(self, machine: MachineRecord) -> Iterator[tuple[MachineCheckKey, MachineCheckRecord]]:
        """Yield the served checks whose scope includes the Machine, regardless of their selectors."""
        reaches = dict.fromkeys(((machine.namespace, machine.cluster), (machine.namespace, "")))
        for key in chain.from_iterable(self._checks_at.get(reach, ()) for reach in reaches):
            check = self.check(key)
            if (
                check is not None
                and self.serves(key)
                and self.check_kinds[key.group].of == machine.resource.group
            ):
                yield key, check

    def serves(self, key: MachineCheckKey) -> bool:
        check_kind, check = self.check_kinds.get(key.group), self.check(key)
        return check_kind is not None and check is not None and (check.claimed or not check_kind.only_claimed)

    def checks_over(self, cluster: str) -> Collection[MachineCheckKey]:
        """Return the checks that name a cluster."""
        namespace, _, name = cluster.partition("/")
        return self._checks_at.get((namespace, name), ())

    def cluster(self, name: str) -> WorkloadClusterRecord | None:
        """Return a Cluster by NAMESPACE/NAME."""
        known = (
            machine_kind.clusters.get(name)
            for machine_kind in self.machine_kinds.values()
            if machine_kind.clusters is not None
        )
        return next((cluster for cluster in known if cluster is not None), None)

    def clusters_of(self, keys: Iterable[MachineKey]) -> Collection[str]:
        machines = (self.machine(key) for key in keys)
        return dict.fromkeys(cluster_of(machine) for machine in machines if machine is not None)

    def naming(self, node: str) -> Collection[MachineKey]:
        """Return the Machines that name a node of this name, in any cluster."""
        return self._naming.get(node, ())

    def in_cluster(self, cluster: str) -> Collection[MachineKey]:
        return self._in_cluster.get(cluster, ())

    def in_reach(self, check: MachineCheckRecord) -> Collection[MachineKey]:
        """Return the Machines in a check's scope."""
        if check.rules.cluster:
            return self.in_cluster(f"{check.namespace}/{check.rules.cluster}")
        return [key for key in self._by_uid.values() if key.namespace == check.namespace]

    def by_uid(self, uid: str) -> MachineKey | None:
        return self._by_uid.get(uid)

    def asked(self) -> Collection[MachineKey]:
        """Return the Machines whose owner is requested to act, or is acting."""
        return self._asked

    def note_begun(self, key: MachineKey, now: float) -> None:
        """Record a start for a Machine, so that it counts as under remediation before the caches show it."""
        self._begun[key] = now

    def begun(self, now: float, shown: Collection[str]) -> Collection[MachineKey]:
        """Return the Machines with a start that the caches do not show yet.

        `shown` are the names of the targets whose start they do show.
        """
        self._begun = {
            key: at
            for key, at in self._begun.items()
            if now - at < VIEW_GOOD_FOR and key not in self._asked and str(key) not in shown
        }
        return self._begun.keys()

    def note_machine(self, change: Change[MachineRecord]) -> MachineKey:
        """Update from one change of a Machine; the caller must pass every change."""
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
        """Update from one change of a check; the caller must pass every change."""
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
    """True if more than a check's status changed."""
    return _says(change.old) != _says(change.new)


def _says(check: MachineCheckRecord | None) -> object:
    return None if check is None else (check.uid, check.rules, check.claimed, check.paused)


def key_of(machine: MachineRecord) -> MachineKey:
    return MachineKey(machine.resource.group, machine.namespace, machine.name)


def cluster_of(machine: MachineRecord) -> str:
    """Return the NAMESPACE/NAME of the Machine's Cluster; "" for the cluster that Nodemend runs in."""
    return f"{machine.namespace}/{machine.cluster}" if machine.cluster else ""
