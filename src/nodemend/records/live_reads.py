"""Reads objects live (uncached) from the API server, as facts: linearizable, and "unknown" is a result.

A node can be excluded from remediation; the exclusion holds for any kind of check. The time for which an
observed value has been unchanged is measured by this process' monotonic clock.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Generic, TypeVar, assert_never

from nodemend.api import well_known
from nodemend.api.meta import Pause, parse_time
from nodemend.api.quantities import duration_seconds
from nodemend.api.remediation_policy import FailureDomains, LimitReading, RemediationPolicy
from nodemend.api.resources import LEASE, NODE, REMEDIATION_POLICY, Resource
from nodemend.api.upstream_types import Lease, Node
from nodemend.api.value_forms import is_boot_id
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.outcome import Ok, ReadOutcome, Reason, Refused, ServerFault, Undecodable, Unreachable
from nodemend.kube.ports import Runtime
from nodemend.kube.request import EVERYTHING, Selection, get
from nodemend.records.node import NodeRecord
from nodemend.rules.request import ExternalLease
from nodemend.safety.facts import (
    Absent,
    DomainLimits,
    MachinePolicyFacts,
    NodeFacts,
    PolicyFacts,
    Present,
    ReadResult,
    Taint,
    Unreadable,
)
from nodemend.safety.guard_holds import PolicyProblem
from nodemend.safety.identity import hardware_id
from nodemend.safety.limits import LimitSemantics, parse_comparison


def excluded_by(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Return the key of the label or annotation that excludes a node from remediation, or ""."""
    said = labels.get(well_known.EXCLUDE, annotations.get(well_known.EXCLUDE))
    if said is not None and said != "false":
        return well_known.EXCLUDE
    return well_known.MEDIK8S_EXCLUDE if labels.get(well_known.MEDIK8S_EXCLUDE) == "true" else ""


def record_excluded_by(node: NodeRecord) -> str:
    """Return the same as `excluded_by`, from a cached record."""
    return excluded_by(node.labels, dict(node.annotations))


def active_pause(pause: Pause | None, now: datetime) -> Pause | None:
    """Return the pause if it is still active. A pause with an unreadable end stays active."""
    if pause is None or pause.until is None:
        return pause
    try:
        until = parse_time(pause.until)
    except ValueError:
        return pause
    return pause if until.tzinfo is None or now < until else None


T = TypeVar("T")
V = TypeVar("V")

READ_WITHIN = 5.0
WRITE_WITHIN = 5.0

_READINGS = {
    LimitReading.AT_LIMIT: LimitSemantics.AT_LIMIT,
    LimitReading.ABOVE_LIMIT: LimitSemantics.ABOVE_LIMIT,
    LimitReading.ALLOW_ONE: LimitSemantics.ALLOW_ONE,
}


class LiveReader:
    """Reads objects one at a time, with a timeout of READ_WITHIN seconds each."""

    def __init__(
        self,
        client: ApiClient,
        runtime: Runtime,
        problem: Callable[[], PolicyProblem | None] = lambda: None,
        reports_from: Callable[[], int | None] = lambda: 0,
    ) -> None:
        """`problem` returns the reason why the admission policies cannot be relied on, or None.

        `reports_from` returns the resourceVersion after which only the node itself can have written its
        Lease's report; None: no Lease can be trusted.
        """
        self.client = client
        self.runtime = runtime
        self.problem = problem
        self.reports_from = reports_from

    @property
    def deadline(self) -> float:
        return self.runtime.monotonic() + READ_WITHIN

    async def get(self, resource: Resource, name: str, kind: type[T], namespace: str = "") -> ReadOutcome[T]:
        return await self.client.read(get(resource, name, namespace), kind, deadline=self.deadline)

    async def read(self, resource: Resource, name: str, kind: type[T], namespace: str = "") -> ReadResult[T]:
        return read_result(await self.get(resource, name, kind, namespace))

    async def list_all(
        self, resource: Resource, kind: type[T], of: Selection = EVERYTHING
    ) -> Present[list[T]] | Unreadable:
        outcome = await list_all(self.client, resource, kind, of=of, deadline=self.deadline)
        return Present(outcome.value) if isinstance(outcome, Ok) else Unreadable(str(outcome))

    async def node(self, name: str) -> ReadResult[Node]:
        return await self.read(NODE, name, Node)

    async def policy(self) -> ReadResult[PolicyFacts]:
        return project(
            await self.read(REMEDIATION_POLICY, well_known.POLICY_NAME, RemediationPolicy),
            lambda policy: replace(policy_facts(policy, self.runtime.wall()), problem=self.problem()),
        )


def read_result(outcome: ReadOutcome[T]) -> ReadResult[T]:
    match outcome:
        case Ok(value):
            return Present(value)
        case Refused(reason=Reason.NOT_FOUND):
            return Absent()
        case Refused(message=why) | Unreachable(why) | ServerFault(message=why) | Undecodable(why):
            return Unreadable(why)
        case _:
            assert_never(outcome)


def project(fact: ReadResult[T], into: Callable[[T], V]) -> ReadResult[V]:
    return Present(into(fact.value)) if isinstance(fact, Present) else fact


def value_of(fact: ReadResult[T]) -> T | None:
    return fact.value if isinstance(fact, Present) else None


def node_facts(node: Node) -> NodeFacts:
    return NodeFacts(
        name=node.metadata.name,
        uid=node.metadata.uid,
        version=node.metadata.resource_version,
        # An ID in another form counts as missing: no status could record it. A node without one is held.
        boot_id=boot_id if is_boot_id(boot_id := node.status.node_info.boot_id) else "",
        ready=node.ready,
        taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in node.spec.taints),
        hardware_id=hardware_id(node.status.node_info.system_uuid, node.status.node_info.machine_id),
    )


def policy_facts(policy: RemediationPolicy, wall: datetime) -> PolicyFacts:
    spec = policy.spec
    return PolicyFacts(
        mode=spec.mode,
        pause=active_pause(spec.pause, wall),
        max_concurrent=spec.max_concurrent,
        max_concurrent_percent=spec.max_concurrent_percent,
        max_unhealthy=parse_comparison(spec.max_unhealthy),
        domains=_domain_limits(spec.failure_domains),
        settle_time=duration_seconds(spec.settle_time),
        min_interval=duration_seconds(spec.min_interval),
        machines=MachinePolicyFacts(
            reading=_READINGS[spec.machines.limit_reading],
            delete=spec.machines.delete_machines,
            healthy_delay=duration_seconds(spec.machines.healthy_delay)
            if spec.machines.healthy_delay
            else 0.0,
        ),
        count_released=spec.count_released,
    )


def _domain_limits(domains: FailureDomains | None) -> DomainLimits | None:
    if domains is None:
        return None
    return DomainLimits(
        domains.key, parse_comparison(domains.max_unhealthy), domains.min_nodes, domains.max_concurrent
    )


POLICY_OF_DEFAULTS: Final = policy_facts(RemediationPolicy(), datetime(1970, 1, 1, tzinfo=UTC))
"""The facts of an empty RemediationPolicy: all defaults."""


K = TypeVar("K")


_MOST_REMEMBERED: Final = 10_000


class BoundedMap(Generic[K, V]):
    """Values by key, at most 10,000. When full, it evicts the key that was kept the longest ago."""

    def __init__(self) -> None:
        self._kept: dict[K, V] = {}

    def find(self, key: K) -> V | None:
        return self._kept.get(key)

    def keep(self, key: K, value: V) -> None:
        # Remove and insert again, so that the dict's order is the order of the last `keep`.
        self._kept.pop(key, None)
        self._kept[key] = value
        if len(self._kept) > _MOST_REMEMBERED:
            del self._kept[next(iter(self._kept))]


@dataclass(frozen=True, slots=True)
class _Sighting:
    what: object
    first_seen: float


class UnchangedTimer:
    """Tracks since when each key has shown the same value at every read. Forgets the oldest key when full."""

    def __init__(self) -> None:
        self._by_key: BoundedMap[str, _Sighting] = BoundedMap()

    def unchanged_for(self, key: str, what: object, *, asked_at: float, answered_at: float) -> float:
        """Return the seconds for which `key` has certainly shown `what`.

        The server evaluated each read at some time between the request and its response. So the duration
        counts from the response that first showed the value to the last request that still got it: never too
        long.
        """
        known = self._by_key.find(key)
        if known is None or known.what != what:
            known = _Sighting(what, answered_at)
        self._by_key.keep(key, known)
        return max(0.0, asked_at - known.first_seen)


class ExternalLeaseReader:
    """Reads Leases of other controllers, for one leader term. They are read when needed, not watched."""

    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader
        self._unchanged = UnchangedTimer()

    async def read(self, name: str, namespace: str) -> ReadResult[ExternalLease]:
        asked_at = self._reader.runtime.monotonic()
        found = await self._reader.read(LEASE, name, Lease, namespace)
        answered_at = self._reader.runtime.monotonic()
        return project(found, lambda lease: self._as_facts(lease, asked_at, answered_at))

    async def list_all(self, of: Selection) -> ReadResult[tuple[ExternalLease, ...]]:
        asked_at = self._reader.runtime.monotonic()
        found = await self._reader.list_all(LEASE, Lease, of)
        answered_at = self._reader.runtime.monotonic()
        return project(
            found, lambda leases: tuple(self._as_facts(one, asked_at, answered_at) for one in leases)
        )

    def _as_facts(self, lease: Lease, asked_at: float, answered_at: float) -> ExternalLease:
        name = f"{lease.metadata.namespace}/{lease.metadata.name}"
        shown, lasts = (lease.metadata.uid, lease.spec), lease.spec.lease_duration_seconds
        return ExternalLease(
            name=name,
            holder=lease.spec.holder_identity or "",
            lasts=lasts if lasts and lasts > 0 else None,
            unchanged_for=self._unchanged.unchanged_for(
                name, shown, asked_at=asked_at, answered_at=answered_at
            ),
        )
