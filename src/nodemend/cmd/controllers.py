"""The programs nodemend-checker, nodemend-remediator and nodemend-signer."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import click
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from nodemend import __version__
from nodemend.api import metal3_remediation, well_known
from nodemend.api.remediation_policy import Mode, RemediationPolicySpec
from nodemend.cmd.serving import EXIT_FAILED, Readiness, run_program, serve_probes, until_stop_signal
from nodemend.guard.policy_proof import (
    Admission,
    AdmissionTelemetry,
    requirement_of_checker,
    requirement_of_remediator,
    requirement_of_signer,
)
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.manager import MachineCheckingSettings
from nodemend.health.manager import Checker, CheckerObservers
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.targets import NodeView
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.client import CountedTransport
from nodemend.kube.credentials import CredentialsError
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.events import EventRecorder
from nodemend.kube.http_transport import HttpConnector, HttpTransport, expect_many_clusters
from nodemend.kube.leader_runner import ElectionSettings, WorkOverranError
from nodemend.kube.ports import Connector, Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import LeaseAddress
from nodemend.kube.tasks import run_together
from nodemend.records.live_reads import active_pause
from nodemend.remediation.capm3.controller import Capm3RemediationRecorder
from nodemend.remediation.manager import EnabledKinds, Remediator, RemediatorObservers
from nodemend.remediation.manual.controller import ManualRemediationRecorder
from nodemend.remediation.metal3.events import PowerCycleRecorder
from nodemend.remediation.node_state import SUCCEEDED
from nodemend.remediation.self_fencing.controller import SelfRemediationRecorder
from nodemend.settings.controller import ControllerSettings, controller_command
from nodemend.signer.controller import AgentSignerRecorder, Signer, SignerObservers
from nodemend.telemetry import metric_labels
from nodemend.telemetry.logging import Log, LogStream
from nodemend.telemetry.metrics import (
    CACHE_STALENESS,
    CAN_SIGN,
    EVENTS,
    LOG_LINES_LOST,
    MODE,
    PAUSED,
    PAUSED_WITHOUT_END,
    QUEUE_DEPTH,
    REMEDIATION_FAILED,
    REMEDIATIONS_IN_FLIGHT,
    UNREADABLE_OBJECTS,
    WORKLOAD_CLUSTERS,
    Metrics,
    Readings,
    Samples,
)
from nodemend.telemetry.observers import ElectionTelemetry, LoopTelemetry


@dataclass(frozen=True, slots=True)
class ProgramDependencies:
    runtime: Runtime
    transport: Transport
    connector: Connector
    election: ElectionSettings
    log: Log
    metrics: Metrics
    events: EventRecorder
    settings: ControllerSettings


Build = Callable[[ProgramDependencies], Checker | Remediator | Signer]


def run_controller(name: str, build: Build, settings: ControllerSettings) -> int:
    runtime = AsyncioRuntime()
    fixed = {"program": name, "version": __version__, "identity": settings.identity}
    log = Log(
        LogStream(sys.stderr),
        form=settings.log_form,
        level=settings.log_level,
        fixed=fixed,
        wall=runtime.wall,
    )
    serve = _serve(name, build, settings, runtime, log)
    return run_program(log, serve, (CredentialsError, OSError, WorkOverranError))


async def _serve(
    name: str, build: Build, settings: ControllerSettings, runtime: AsyncioRuntime, log: Log
) -> None:
    if settings.workload_clusters:
        expect_many_clusters()
    registry = CollectorRegistry()
    metrics = Metrics(registry, program=name, version=__version__, monotonic=runtime.monotonic)
    connection = find_connection(os.environ, settings.kubeconfig, settings.context)
    for caution in connection.cautions:
        log.warning("credentials", caution=caution)
    http = HttpTransport(LiveCredentials(connection, runtime), runtime)
    transport = CountedTransport(http, metrics.count_request)
    events = EventRecorder(runtime, transport, controller=f"nodemend.io/{name}", instance=settings.identity)
    follow_reports(metrics.readings, log, events)
    lease = LeaseAddress(name, settings.system_namespace)
    election = ElectionSettings(lease=lease, candidate=settings.identity, timing=settings.lease)
    program = build(
        ProgramDependencies(
            runtime, transport, HttpConnector(runtime), election, log, metrics, events, settings
        )
    )
    readiness = Readiness("the first list of every kind we watch", lambda: program.synced)
    try:
        await run_together(
            runtime,
            {
                name: program.run(),
                "events": events.run(),
                "probes": serve_probes(
                    settings.probes,
                    settings.metrics,
                    readiness,
                    lambda accepted: expose_metrics(registry, accepted),
                    lambda at: log.info("listening", probes=at.probes, metrics=at.metrics),
                ),
                "signals": until_stop_signal(log),
            },
        )
    finally:
        await http.close()


def follow_reports(readings: Readings, log: Log, events: EventRecorder) -> None:
    readings.follow(EVENTS, lambda: _outcomes(events))
    readings.follow_value(LOG_LINES_LOST, lambda: log.stream.lost)


def _outcomes(events: EventRecorder) -> Samples:
    counts = events.counts
    return {("written",): counts.written, **{(why.value,): times for why, times in counts.dropped.items()}}


def expose_metrics(registry: CollectorRegistry, accepted: str) -> tuple[bytes, str]:
    """The metrics in a form that the caller accepts, and its content type."""
    encode, content_type = choose_encoder(accepted)
    return encode(registry), content_type


CHECKER = "nodemend-checker"


def _follow_age(around: ProgramDependencies, resource: str, age: Callable[[float], float]) -> None:
    now = around.runtime.monotonic
    around.metrics.readings.follow_value(CACHE_STALENESS, lambda: age(now()), resource)


def build_checker(around: ProgramDependencies) -> Checker:
    log, metrics = around.log, around.metrics
    annotations = around.settings.external_remediation_annotation
    duty = requirement_of_checker(SHIPPED, around.election.lease.namespace, annotations=annotations)
    checker = Checker(
        around.runtime,
        around.transport,
        around.election,
        CheckerObservers(
            ElectionTelemetry(log, metrics),
            LoopTelemetry(metric_labels.NODE_HEALTH_CHECK, log, metrics),
            NodeHealthCheckRecorder(log, metrics, around.events.record),
        ),
        machines=_duty(around) if around.settings.machine_health_checks else None,
        medik8s_leases=around.settings.medik8s_leases,
        admission=Admission(duty, AdmissionTelemetry(log, metrics, around.events.record)),
    )
    view, readings = checker.view, metrics.readings
    _follow_age(around, "nodes", view.nodes.age)
    _follow_age(around, "nodehealthchecks", view.checks.age)
    _follow_age(around, "remediations", view.remedies.age)
    _follow_age(around, "remediationpolicies", view.policies.age)
    _follow_age(around, "remediationorders", view.orders.age)
    if view.etcd_pods is not None:
        _follow_age(around, "etcdpods", view.etcd_pods.age)
    readings.follow_value(QUEUE_DEPTH, lambda: checker.waiting, metric_labels.NODE_HEALTH_CHECK)
    if checker.machines is not None:
        machines = checker.machines
        _follow_age(around, "machines", machines.view.age)
        readings.follow_value(QUEUE_DEPTH, lambda: machines.waiting, metric_labels.MACHINE_HEALTH_CHECK)
        if machines.workload is not None:
            clusters = machines.workload
            readings.follow(
                WORKLOAD_CLUSTERS, lambda: {(state,): count for state, count in clusters.count().items()}
            )
    follow_policy(readings, view, around.runtime.wall)
    return checker


def follow_policy(readings: Readings, view: NodeView, wall: Callable[[], datetime]) -> None:
    def policy() -> RemediationPolicySpec:
        found = view.policies.get(well_known.POLICY_NAME)
        return found.spec if found is not None else RemediationPolicySpec()

    def paused() -> bool:
        return active_pause(policy().pause, wall()) is not None

    def endless_pauses() -> Samples:
        named = [(check.metadata.name, check.spec.pause) for check in view.checks.all()]
        pauses = [("", policy().pause), *named]
        return {(name,): 1 for name, pause in pauses if pause is not None and pause.until is None}

    readings.follow_value(PAUSED, paused)
    readings.follow(MODE, lambda: {(mode.value,): mode is policy().mode for mode in Mode})
    readings.follow(PAUSED_WITHOUT_END, endless_pauses)


def _duty(around: ProgramDependencies) -> MachineCheckingSettings:
    log, metrics = around.log, around.metrics
    settings = around.settings
    return MachineCheckingSettings(
        LoopTelemetry(metric_labels.MACHINE_HEALTH_CHECK, log, metrics),
        MachineHealthCheckRecorder(log, metrics, around.events.record),
        around.connector if settings.workload_clusters else None,
        settings.workload_kubeconfig_suffix,
        settings.external_remediation_template if settings.external_remediation_annotation else "",
    )


run_checker = controller_command(
    CHECKER,
    "Watches nodes, and creates remediations for unhealthy nodes.",
    partial(run_controller, CHECKER, build_checker),
)


REMEDIATOR: Final = "nodemend-remediator"


def build_remediator(around: ProgramDependencies) -> Remediator:
    log, metrics = around.log, around.metrics
    settings = around.settings
    duty = requirement_of_remediator(
        SHIPPED,
        around.election.lease.namespace,
        power_cycle=settings.power_cycle,
        capm3_kinds=settings.capm3_kinds,
        self_fencing=settings.self_fencing,
    )
    remediator = Remediator(
        around.runtime,
        around.transport,
        around.election,
        RemediatorObservers(
            ElectionTelemetry(log, metrics),
            LoopTelemetry(metric_labels.REMEDIATOR, log, metrics),
            ManualRemediationRecorder(log, metrics, around.events.record, around.runtime),
            PowerCycleRecorder(log, metrics, around.events.record, around.runtime),
            Capm3RemediationRecorder(log, around.events.record),
            SelfRemediationRecorder(log, metrics, around.events.record, around.runtime),
        ),
        powers=EnabledKinds(
            power_cycle=settings.power_cycle,
            node_deletion=settings.node_deletion,
            capm3_kinds=settings.capm3_kinds,
            self_fencing=settings.self_fencing,
        ),
        admission=Admission(duty, AdmissionTelemetry(log, metrics, around.events.record)),
    )
    for kind, watched in remediator.kinds.items():
        _follow(around, kind, watched)
    for name, cache in remediator.view.caches.items():
        _follow_age(around, name, cache.age)
    for name, count in remediator.view.unreadable.items():
        metrics.readings.follow_value(UNREADABLE_OBJECTS, count, name)
    metrics.readings.follow_value(QUEUE_DEPTH, lambda: remediator.waiting, metric_labels.REMEDIATOR)
    return remediator


def _follow(around: ProgramDependencies, kind: str, watched: Reflector[Any, Any]) -> None:
    readings, found = around.metrics.readings, watched.cache
    _follow_age(around, f"{kind.lower()}s", found.age)
    readings.follow_value(UNREADABLE_OBJECTS, lambda: len(watched.unreadable), f"{kind.lower()}s")
    readings.follow(
        REMEDIATIONS_IN_FLIGHT,
        lambda: Counter((kind, one.status.phase) for one in found.all() if one.status.phase not in SUCCEEDED),
    )
    readings.follow(
        REMEDIATION_FAILED,
        lambda: {
            (kind, one.metadata.namespace, one.metadata.name): 1
            for one in found.all()
            if one.status.phase is metal3_remediation.Metal3RemediationPhase.FAILED
        },
    )


run_remediator = controller_command(
    REMEDIATOR,
    "Serves remediations: releases a node's workloads on evidence.",
    partial(run_controller, REMEDIATOR, build_remediator),
)


SIGNER: Final = "nodemend-signer"


def build_signer(around: ProgramDependencies) -> Signer:
    # Imported only after the check that it is installed: it comes with an extra of the package.
    from nodemend.signer.crypto import CryptographySigner  # noqa: PLC0415

    log, metrics = around.log, around.metrics
    observers = SignerObservers(
        ElectionTelemetry(log, metrics),
        LoopTelemetry(metric_labels.SIGNER, log, metrics),
        AgentSignerRecorder(log, metrics),
    )
    duty = requirement_of_signer(SHIPPED, around.election.lease.namespace)
    signer = Signer(
        around.runtime,
        around.transport,
        around.election,
        observers,
        CryptographySigner(),
        admission=Admission(duty, AdmissionTelemetry(log, metrics, around.events.record)),
    )
    metrics.readings.follow_value(CAN_SIGN, lambda: signer.signs)
    metrics.readings.follow_value(QUEUE_DEPTH, lambda: signer.waiting, metric_labels.SIGNER)
    _follow_age(around, "certificatesigningrequests", signer.cache.age)
    return signer


def _run_signer(settings: ControllerSettings) -> int:
    if find_spec("cryptography") is None:
        click.echo(f"{SIGNER}: it needs the package with its extra, nodemend[certificates].", err=True)
        return EXIT_FAILED
    return run_controller(SIGNER, build_signer, settings)


run_signer = controller_command(
    SIGNER, "Signs agents' certificates: each node gets its own name.", _run_signer
)
