"""The metrics of one process, on a registry that whoever serves them owns."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nodemend.api.remediation_policy import Mode
from nodemend.telemetry import metric_names as names
from nodemend.telemetry.hold_book import ContradictionBook, HoldBook
from nodemend.telemetry.host_book import HostBook
from nodemend.telemetry.metric_names import MetricName

_BUCKETS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
_LONG_BUCKETS: Final = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0, 14400.0, 86400.0)
"""From a short threshold to a storm that lasted all day."""


class Metrics:
    """What is counted as it happens stands here; what is read when somebody asks is in `readings`."""

    def __init__(
        self, registry: CollectorRegistry, *, program: str, version: str, monotonic: Callable[[], float]
    ) -> None:
        self.leader = _gauge(names.LEADER, registry)
        self.epoch = _gauge(names.EPOCH, registry)
        self.nodes = _gauge(names.NODES, registry)
        self.check_stalled = _gauge(names.CHECK_STALLED, registry)
        self.check_overlapping = _gauge(names.CHECK_OVERLAPPING, registry)
        self.unserved = _gauge(names.UNSERVED, registry)
        self.agents = _gauge(names.AGENTS, registry)
        self.recoveries = _gauge(names.RECOVERIES, registry)
        self.guard_closed = _gauge(names.GUARD_CLOSED, registry)
        self.guard_used = _gauge(names.GUARD_USED, registry)
        self.guard_limit = _gauge(names.GUARD_LIMIT, registry)
        self.started = _counter(names.REMEDIATIONS_STARTED, registry)
        self.seconds_to_start = _histogram(names.TIME_TO_START, registry, _LONG_BUCKETS)
        self.decisions = _counter(names.DECISIONS, registry)
        self.phase_seconds = _histogram(names.PHASE_DURATION, registry, _LONG_BUCKETS)
        self.power_switches = _counter(names.POWER_SWITCHES, registry)
        self.power_cycle_failures = _counter(names.POWER_CYCLE_FAILURES, registry)
        self.holds_left_behind = _counter(names.HOLDS_LEFT_BEHIND, registry)
        self.api_requests = _counter(names.API_REQUESTS, registry)
        self.policy_in_force = _gauge(names.POLICY_IN_FORCE, registry)
        self.reconciles = _counter(names.RECONCILE_OUTCOMES, registry)
        self.reconcile_seconds = _histogram(names.RECONCILE_DURATION, registry)
        self.holds = HoldBook()
        self.hosts = HostBook()
        self.contradictions = ContradictionBook()
        self.readings = Readings(self.holds, self.hosts, self.contradictions, monotonic)
        registry.register(self.readings)
        _gauge(names.BUILD_INFO, registry).labels(program, version).set(1)

    def count_request(self, verb: str, resource: str, outcome: str) -> None:
        self.api_requests.labels(verb, resource, outcome).inc()

    def forget_work(self) -> None:
        """This replica leads no longer: what it knew of nodes and hosts is for the next leader to tell."""
        guards = (self.guard_closed, self.guard_used, self.guard_limit)
        checks = (self.check_stalled, self.check_overlapping, self.unserved, self.agents)
        for gauge in (self.nodes, self.recoveries, self.policy_in_force, *guards, *checks):
            gauge.clear()
        self.holds.clear()
        self.hosts.clear()


class Readings(Collector):
    """Values that others keep, asked for at each scrape. None of the sources may wait or fail."""

    def __init__(
        self,
        holds: HoldBook,
        hosts: HostBook,
        contradictions: ContradictionBook,
        monotonic: Callable[[], float],
    ) -> None:
        self._holds = holds
        self._hosts = hosts
        self._contradictions = contradictions
        self._monotonic = monotonic
        self._ages: dict[str, Callable[[], float]] = {}
        self._unreadable: dict[str, Callable[[], int]] = {}
        self._depths: dict[str, Callable[[], int]] = {}
        self._phases: dict[str, Callable[[], Iterable[str]]] = {}
        self._failed: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {}
        self._policy: Callable[[], tuple[Mode, bool]] | None = None
        self._endless: Callable[[], Iterable[str]] | None = None
        self._events: Callable[[], Mapping[str, int]] | None = None
        self._clusters: Callable[[], Mapping[str, int]] | None = None
        self._signs: Callable[[], bool] | None = None

    def follow_signer(self, signs: Callable[[], bool]) -> None:
        """`signs` says whether certificates can be signed now."""
        self._signs = signs

    def follow_cache(self, resource: str, age: Callable[[], float]) -> None:
        self._ages[resource] = age

    def follow_unreadable(self, resource: str, count: Callable[[], int]) -> None:
        self._unreadable[resource] = count

    def follow_queue(self, controller: str, depth: Callable[[], int]) -> None:
        self._depths[controller] = depth

    def follow_remediations(self, kind: str, phases: Callable[[], Iterable[str]]) -> None:
        """`phases` gives the phase of each remediation of this kind that is not over."""
        self._phases[kind] = phases

    def follow_failed(self, kind: str, failed: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """`failed` gives namespace and name of each remediation of this kind that has failed for good."""
        self._failed[kind] = failed

    def follow_policy(self, read: Callable[[], tuple[Mode, bool]]) -> None:
        """`read` gives the mode in force and whether there is a pause."""
        self._policy = read

    def follow_pauses(self, endless: Callable[[], Iterable[str]]) -> None:
        """`endless` names each check whose pause has no end, and nobody for that of the whole cluster."""
        self._endless = endless

    def follow_events(self, outcomes: Callable[[], Mapping[str, int]]) -> None:
        self._events = outcomes

    def follow_clusters(self, states: Callable[[], Mapping[str, int]]) -> None:
        """`states` counts the workload clusters by how they are seen."""
        self._clusters = states

    def describe(self) -> Iterable[Metric]:
        """Names without values, so that registering asks no source."""
        return ()

    def collect(self) -> Iterable[Metric]:
        yield _family(names.CACHE_STALENESS, {(resource,): age() for resource, age in self._ages.items()})
        yield _family(names.UNREADABLE, {(name,): float(count()) for name, count in self._unreadable.items()})
        yield _family(names.QUEUE_DEPTH, {(name,): float(depth()) for name, depth in self._depths.items()})
        yield _family(names.REMEDIATIONS_IN_FLIGHT, self._in_flight())
        yield _family(names.REMEDIATION_HELD_SINCE, self._held_since())
        yield _family(names.REMEDIATION_FAILED, self._has_failed())
        yield _family(names.EVIDENCE_CONTRADICTED, self._contradicted())
        yield from self._host_families()
        if self._policy is not None:
            mode, paused = self._policy()
            yield _family(names.PAUSED, {(): float(paused)})
            yield _family(names.MODE, {(known.value,): float(known is mode) for known in Mode})
        if self._endless is not None:
            yield _family(names.PAUSED_WITHOUT_END, {(check,): 1.0 for check in self._endless()})
        if self._events is not None:
            yield self._event_family(self._events())
        if self._signs is not None:
            yield _family(names.CAN_SIGN, {(): float(self._signs())})
        if self._clusters is not None:
            states = self._clusters().items()
            yield _family(names.WORKLOAD_CLUSTERS, {(state,): float(count) for state, count in states})

    def _in_flight(self) -> dict[tuple[str, ...], float]:
        counts = Tally((kind, phase) for kind, phases in self._phases.items() for phase in phases())
        return {key: float(count) for key, count in counts.items()}

    def _held_since(self) -> dict[tuple[str, ...], float]:
        return {
            (
                held.kind,
                held.namespace,
                held.name,
                standing.reason,
                "yes" if standing.released else "no",
            ): standing.since
            for held, standing in self._holds.all(self._monotonic())
        }

    def _contradicted(self) -> dict[tuple[str, ...], float]:
        return {(held.kind, held.namespace, held.name): at for held, at in self._contradictions.all()}

    def _has_failed(self) -> dict[tuple[str, ...], float]:
        return {(kind, *name): 1.0 for kind, failed in self._failed.items() for name in failed()}

    def _host_families(self) -> Iterable[Metric]:
        held: dict[tuple[str, ...], float] = {
            (one.host.namespace, one.host.name, one.remediation): since for one, since in self._hosts.held()
        }
        unhealthy: dict[tuple[str, ...], float] = {
            (host.namespace, host.name): 1.0 for host in self._hosts.unhealthy()
        }
        yield _family(names.HOST_HELD_SINCE, held)
        yield _family(names.HOST_UNHEALTHY, unhealthy)

    @staticmethod
    def _event_family(outcomes: Mapping[str, int]) -> Metric:
        name = names.EVENTS
        family = CounterMetricFamily(name.name, name.help, labels=name.labels)
        for outcome, count in outcomes.items():
            family.add_metric((outcome,), count)
        return family


def _family(name: MetricName, values: Mapping[tuple[str, ...], float]) -> Metric:
    family = GaugeMetricFamily(name.name, name.help, labels=name.labels)
    for labels, value in values.items():
        family.add_metric(labels, value)
    return family


def _gauge(name: MetricName, registry: CollectorRegistry) -> Gauge:
    return Gauge(name.name, name.help, name.labels, registry=registry)


def _counter(name: MetricName, registry: CollectorRegistry) -> Counter:
    return Counter(name.name, name.help, name.labels, registry=registry)


def _histogram(
    name: MetricName, registry: CollectorRegistry, buckets: tuple[float, ...] = _BUCKETS
) -> Histogram:
    return Histogram(name.name, name.help, name.labels, registry=registry, buckets=buckets)
