"""Every metric that Nodemend exports, on one registry per process.

Base units, `_total` on counters. No node name on a counter or a histogram; only on gauges of states that are
special now. Such states (holds, contradicted evidence, hosts held off) are kept here in bounded memory, with
the time as an argument, and read at each scrape.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

FORGOTTEN_AFTER: Final = 300.0
"""Seconds. An active hold is recorded again every few; one that is not has ended without a notification."""
_MOST: Final = 10_000


class HeldRemediation(NamedTuple):
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class HoldStatus:
    """An active hold. `since` is in seconds since 1970; `sentence` is its first text."""

    reason: str
    sentence: str
    since: float
    seen_at: float
    released: bool = False
    """True if the node's workloads run elsewhere by now."""


class HoldRegistry:
    def __init__(self) -> None:
        self._holds: dict[HeldRemediation, HoldStatus] = {}

    def note(
        self,
        held: HeldRemediation,
        reason: str,
        sentence: str,
        *,
        wall: float,
        now: float,
        released: bool = False,
    ) -> HoldStatus:
        """Record the current hold. While its reason stays the same, it keeps its start and first text."""
        known = self._holds.pop(held, None)
        if known is None or known.reason != reason or now - known.seen_at > FORGOTTEN_AFTER:
            status = HoldStatus(reason, sentence, wall, now, released)
        else:
            status = HoldStatus(reason, known.sentence, known.since, now, released)
        # Removed and inserted again, so that the dict is in the order of the last update.
        self._holds[held] = status
        if len(self._holds) > _MOST:
            del self._holds[next(iter(self._holds))]
        return status

    def find(self, held: HeldRemediation) -> HoldStatus | None:
        return self._holds.get(held)

    def remove(self, held: HeldRemediation) -> None:
        self._holds.pop(held, None)

    def clear(self) -> None:
        self._holds.clear()

    def all(self, now: float) -> Iterator[tuple[HeldRemediation, HoldStatus]]:
        for held, status in self._holds.items():
            if now - status.seen_at <= FORGOTTEN_AFTER:
                yield held, status


class ContradictionRegistry:
    """Time of the last contradicted evidence of each remediation, in seconds since 1970.

    It stays when the remediation is deleted, and when another replica leads: an operator must still check the
    node.
    """

    def __init__(self) -> None:
        self._seen: dict[HeldRemediation, float] = {}

    def note(self, held: HeldRemediation, wall: float) -> None:
        self._seen.pop(held, None)
        self._seen[held] = wall
        if len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]

    def all(self) -> Iterator[tuple[HeldRemediation, float]]:
        yield from self._seen.items()


class HostName(NamedTuple):
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class HeldFor:
    """A host, and the name of the remediation for which it is held off; empty if that is deleted."""

    host: HostName
    remediation: str


class HeldHostRegistry:
    """The result of the last sweep of all hosts, with one entry for each host that is special now."""

    def __init__(self) -> None:
        self._held: dict[HeldFor, float] = {}
        self._unhealthy: frozenset[HostName] = frozenset()

    def update(self, held: Collection[HeldFor], unhealthy: Collection[HostName], *, wall: float) -> None:
        """Replace all entries. A host that was already held off for the same remediation keeps its start."""
        self._held = {one: self._held.get(one, wall) for one in held}
        self._unhealthy = frozenset(unhealthy)

    def clear(self) -> None:
        self._held, self._unhealthy = {}, frozenset()

    def held(self) -> Iterator[tuple[HeldFor, float]]:
        """The hosts held off, with the start in seconds since 1970."""
        yield from self._held.items()

    def unhealthy(self) -> Iterator[HostName]:
        yield from self._unhealthy


class MetricKind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricName:
    kind: ClassVar[MetricKind]
    name: str
    help: str
    labels: tuple[str, ...] = ()


class GaugeName(MetricName):
    kind = MetricKind.GAUGE

    def create(self, registry: CollectorRegistry) -> Gauge:
        return Gauge(self.name, self.help, self.labels, registry=registry)


class CounterName(MetricName):
    kind = MetricKind.COUNTER

    def create(self, registry: CollectorRegistry) -> Counter:
        return Counter(self.name, self.help, self.labels, registry=registry)


_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
_LONG_BUCKETS: Final = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 14400.0, 86400.0)
"""Seconds: from a short threshold to a storm that lasted all day."""


class HistogramName(MetricName):
    kind = MetricKind.HISTOGRAM

    def create(self, registry: CollectorRegistry, buckets: tuple[float, ...] = _BUCKETS) -> Histogram:
        return Histogram(self.name, self.help, self.labels, registry=registry, buckets=buckets)


BUILD_INFO: Final = GaugeName(
    "nodemend_build_info", "Always 1; the labels have the program and its version.", ("program", "version")
)
LEADER: Final = GaugeName("nodemend_leader", "1 while this replica leads, else 0.")
EPOCH: Final = GaugeName(
    "nodemend_epoch", "The epoch of this replica's last leader term; 0 before the first."
)
CAN_SIGN: Final = GaugeName(
    "nodemend_can_sign",
    "1 while this replica can sign agents' certificates: it leads, its authority is published, and its"
    " admission policies are proven. Else 0.",
)
CACHE_STALENESS: Final = GaugeName(
    "nodemend_cache_staleness_seconds",
    "Seconds since the cache of a resource was last known to be current; +Inf before its first full list.",
    ("resource",),
)
UNREADABLE_OBJECTS: Final = GaugeName(
    "nodemend_unreadable_objects",
    "Objects that this version cannot interpret, and therefore leaves alone.",
    ("resource",),
)
NODES: Final = GaugeName("nodemend_nodes", "Targets of a health check, by state.", ("check", "state"))
CHECK_STALLED: Final = GaugeName(
    "nodemend_check_stalled",
    "1 for each check of nodes that could not act on any failure, with the reason of its condition Stalled.",
    ("check", "reason"),
)
CHECK_OVERLAPPING: Final = GaugeName(
    "nodemend_check_overlapping",
    "1 while a check of nodes selects nodes that another check watches, else 0.",
    ("check",),
)
UNSERVED: Final = GaugeName(
    "nodemend_remediations_unserved",
    "Remediations that a health check created, and that no controller has started.",
    ("check",),
)
AGENTS: Final = GaugeName(
    "nodemend_agents",
    "Agents for self-fencing, as the remediator sees them: reporting, or silent on a node that is Ready.",
    ("state",),
)
RECOVERIES: Final = GaugeName(
    "nodemend_recoveries", "Pending or started recoveries of a health check, by phase.", ("check", "phase")
)
REMEDIATIONS_IN_FLIGHT: Final = GaugeName(
    "nodemend_remediations_in_flight", "Remediations that are not over, by phase.", ("kind", "phase")
)
REMEDIATION_HELD_SINCE: Final = GaugeName(
    "nodemend_remediation_held_since_timestamp_seconds",
    "Time at which this leader first observed the remediation held for this reason, and whether the node's"
    " workloads are released (yes, no). Present only while it is held.",
    ("kind", "namespace", "name", "reason", "released"),
)
REMEDIATION_FAILED: Final = GaugeName(
    "nodemend_remediation_failed",
    "1 for each remediation that has failed permanently and still exists: an operator must act.",
    ("kind", "namespace", "name"),
)
EVIDENCE_CONTRADICTED: Final = GaugeName(
    "nodemend_evidence_contradicted_timestamp_seconds",
    "Time at which this leader last observed that the old boot of a node ran after its workloads were"
    " released.",
    ("kind", "namespace", "name"),
)
PHASE_DURATION: Final = HistogramName(
    "nodemend_phase_duration_seconds",
    "Time that remediations spent in a phase, if this leader observed all of it; done, or failed with the"
    " attempt.",
    ("kind", "phase", "result"),
)
POWER_SWITCHES: Final = CounterName(
    "nodemend_power_switches_total",
    "Power-off requests that Nodemend placed on hosts (off) and cleared again (on).",
    ("to",),
)
POWER_CYCLE_FAILURES: Final = CounterName(
    "nodemend_power_cycle_failures_total",
    "Failed power-cycle attempts, by the reason, and whether no further attempt follows.",
    ("reason", "permanent"),
)
HOST_HELD_SINCE: Final = GaugeName(
    "nodemend_host_held_since_timestamp_seconds",
    "Time at which this leader first observed Nodemend's power-off request on the host, and its remediation;"
    " the remediation is empty if it no longer exists.",
    ("namespace", "host", "remediation"),
)
HOST_UNHEALTHY: Final = GaugeName(
    "nodemend_host_unhealthy",
    "1 for each host that Nodemend marked unhealthy, until a user removes the mark.",
    ("namespace", "host"),
)
POWER_OFF_REQUESTS_LEFT_BEHIND: Final = CounterName(
    "nodemend_power_off_requests_left_behind_total",
    "Observations of a power-off request of Nodemend whose remediation no longer exists: Nodemend cleared it"
    " (cleared), or kept it.",
    ("outcome",),
)
GUARD_CLOSED: Final = GaugeName(
    "nodemend_guard_closed",
    "1 while a health check may start no remediation, with the reason; 0 and no reason while it may.",
    ("check", "reason"),
)
GUARD_USED: Final = GaugeName(
    "nodemend_guard_used_nodes",
    "Unhealthy count in a scope that has a limit: a check, a cluster or a failure domain.",
    ("controller", "scope", "name"),
)
GUARD_LIMIT: Final = GaugeName(
    "nodemend_guard_limit_nodes",
    "Unhealthy count at which the guard closes in that scope.",
    ("controller", "scope", "name"),
)
REMEDIATIONS_STARTED: Final = CounterName(
    "nodemend_remediations_started_total",
    "Started remediations, by kind; OwnerRemediation or MachineDeletion for machines without a template.",
    ("check", "kind"),
)
TIME_TO_START: Final = HistogramName(
    "nodemend_time_to_start_seconds",
    "Seconds from the first observation of a failure to the start of the first remedy.",
    ("check",),
)
DECISIONS: Final = CounterName(
    "nodemend_decisions_total", "Verdicts, steps and holds, by controller.", ("controller", "verdict")
)
API_REQUESTS: Final = CounterName(
    "nodemend_api_requests_total",
    "Requests to the API server by status code; unsent or unanswered for requests without one.",
    ("verb", "resource", "outcome"),
)
RECONCILE_DURATION: Final = HistogramName(
    "nodemend_reconcile_duration_seconds", "Duration of one reconcile.", ("controller",)
)
RECONCILE_OUTCOMES: Final = CounterName(
    "nodemend_reconciles_total",
    "Reconciles by outcome: Done, RequeueAfter, Retry, or Crashed.",
    ("controller", "outcome"),
)
QUEUE_DEPTH: Final = GaugeName("nodemend_queue_depth", "Keys that wait for a reconcile.", ("controller",))
PAUSED: Final = GaugeName("nodemend_paused", "1 while the RemediationPolicy has a pause, else 0.")
PAUSED_WITHOUT_END: Final = GaugeName(
    "nodemend_paused_without_end",
    "1 for each pause that only a user ends: of a check, or, with no name, of the whole cluster.",
    ("check",),
)
MODE: Final = GaugeName(
    "nodemend_mode", "1 for the mode that the RemediationPolicy has, 0 for the other.", ("mode",)
)
EVENTS: Final = CounterName(
    "nodemend_events_total",
    "Kubernetes events by outcome: written, or the reason why they were dropped.",
    ("outcome",),
)
LOG_LINES_LOST: Final = CounterName(
    "nodemend_log_lines_lost_total", "Log lines that could not be written to the standard error output."
)
WORKLOAD_CLUSTERS: Final = GaugeName(
    "nodemend_workload_clusters",
    "Workload clusters whose Nodes Nodemend watches, by visibility: seen, not_vouched_for, out_of_reach.",
    ("state",),
)
ADMISSION_POLICY_ACTIVE: Final = GaugeName(
    "nodemend_admission_policy_in_force",
    "1 for a proven admission policy of Nodemend, 0 while it is not in force, or while that is unknown.",
    ("policy",),
)

METRIC_NAMES: Final = tuple(value for value in list(globals().values()) if isinstance(value, MetricName))
"""In the order of their definitions."""


Samples = Mapping[tuple[str, ...], float]
"""Values by the values of their labels."""

_ALWAYS_EXPORTED: Final = (
    CACHE_STALENESS,
    UNREADABLE_OBJECTS,
    QUEUE_DEPTH,
    REMEDIATIONS_IN_FLIGHT,
    REMEDIATION_HELD_SINCE,
    REMEDIATION_FAILED,
    EVIDENCE_CONTRADICTED,
    HOST_HELD_SINCE,
    HOST_UNHEALTHY,
)
_EXPORTED_IF_FOLLOWED: Final = (
    PAUSED,
    MODE,
    PAUSED_WITHOUT_END,
    EVENTS,
    LOG_LINES_LOST,
    CAN_SIGN,
    WORKLOAD_CLUSTERS,
)


class Readings(Collector):
    """Values of other components, read at each scrape. None of the sources may wait or fail."""

    def __init__(self) -> None:
        self._sources: dict[MetricName, list[Callable[[], Samples]]] = {
            name: [] for name in (*_ALWAYS_EXPORTED, *_EXPORTED_IF_FOLLOWED)
        }

    def follow(self, name: MetricName, read: Callable[[], Samples]) -> None:
        self._sources[name].append(read)

    def follow_value(self, name: MetricName, read: Callable[[], float], *labels: str) -> None:
        self.follow(name, lambda: {labels: read()})

    def describe(self) -> Iterable[Metric]:
        """No metrics, so that registering reads no source."""
        return ()

    def collect(self) -> Iterable[Metric]:
        for name, sources in self._sources.items():
            if not sources and name in _EXPORTED_IF_FOLLOWED:
                continue
            of = CounterMetricFamily if name.kind is MetricKind.COUNTER else GaugeMetricFamily
            family = of(name.name, name.help, labels=name.labels)
            for read in sources:
                for labels, value in read().items():
                    family.add_metric(labels, value)
            yield family


class Metrics:
    """Metrics that are counted as events happen; `readings` has the values that are read at each scrape."""

    def __init__(
        self, registry: CollectorRegistry, *, program: str, version: str, monotonic: Callable[[], float]
    ) -> None:
        self.leader = LEADER.create(registry)
        self.epoch = EPOCH.create(registry)
        self.nodes = NODES.create(registry)
        self.check_stalled = CHECK_STALLED.create(registry)
        self.check_overlapping = CHECK_OVERLAPPING.create(registry)
        self.unserved = UNSERVED.create(registry)
        self.agents = AGENTS.create(registry)
        self.recoveries = RECOVERIES.create(registry)
        self.guard_closed = GUARD_CLOSED.create(registry)
        self.guard_used = GUARD_USED.create(registry)
        self.guard_limit = GUARD_LIMIT.create(registry)
        self.started = REMEDIATIONS_STARTED.create(registry)
        self.seconds_to_start = TIME_TO_START.create(registry, _LONG_BUCKETS)
        self.decisions = DECISIONS.create(registry)
        self.phase_seconds = PHASE_DURATION.create(registry, _LONG_BUCKETS)
        self.power_switches = POWER_SWITCHES.create(registry)
        self.power_cycle_failures = POWER_CYCLE_FAILURES.create(registry)
        self.power_off_requests_left_behind = POWER_OFF_REQUESTS_LEFT_BEHIND.create(registry)
        self.api_requests = API_REQUESTS.create(registry)
        self.admission_policy_active = ADMISSION_POLICY_ACTIVE.create(registry)
        self.reconciles = RECONCILE_OUTCOMES.create(registry)
        self.reconcile_seconds = RECONCILE_DURATION.create(registry)
        self.holds = HoldRegistry()
        self.hosts = HeldHostRegistry()
        self.contradictions = ContradictionRegistry()
        self.readings = Readings()
        self.readings.follow(REMEDIATION_HELD_SINCE, lambda: self._held_since(monotonic()))
        self.readings.follow(EVIDENCE_CONTRADICTED, lambda: dict(self.contradictions.all()))
        self.readings.follow(
            HOST_HELD_SINCE,
            lambda: {(*one.host, one.remediation): since for one, since in self.hosts.held()},
        )
        self.readings.follow(HOST_UNHEALTHY, lambda: dict.fromkeys(self.hosts.unhealthy(), 1.0))
        registry.register(self.readings)
        BUILD_INFO.create(registry).labels(program, version).set(1)

    def count_request(self, verb: str, resource: str, outcome: str) -> None:
        self.api_requests.labels(verb, resource, outcome).inc()

    def _held_since(self, now: float) -> Samples:
        return {
            (*held, status.reason, "yes" if status.released else "no"): status.since
            for held, status in self.holds.all(now)
        }

    def forget_work(self) -> None:
        """This replica no longer leads: drop its values of nodes and hosts, which the next leader reports."""
        guards = (self.guard_closed, self.guard_used, self.guard_limit)
        checks = (self.check_stalled, self.check_overlapping, self.unserved, self.agents)
        for gauge in (self.nodes, self.recoveries, self.admission_policy_active, *guards, *checks):
            gauge.clear()
        self.holds.clear()
        self.hosts.clear()
