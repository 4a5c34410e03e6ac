"""The programs nodemend-checker, nodemend-remediator and nodemend-signer."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import click
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from nodemend import __version__
from nodemend.api import metal3_remediation, well_known
from nodemend.api.remediation_policy import Mode
from nodemend.cmd.serving import EXIT_FAILED, run_program, serve_probes, until_stop_signal
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
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.observers import ElectionTelemetry, HealthChecks, LoopTelemetry


@dataclass(frozen=True, slots=True)
class ProgramDependencies:
    """The dependencies from which a program is built."""

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
    registry, health = CollectorRegistry(), HealthChecks()
    metrics = Metrics(registry, program=name, version=__version__, monotonic=runtime.monotonic)
    connection = find_connection(os.environ, settings.kubeconfig, settings.context)
    for caution in connection.cautions:
        log.warning("credentials", caution=caution)
    http = HttpTransport(LiveCredentials(connection, runtime), runtime)
    transport = CountedTransport(http, metrics.count_request)
    events = EventRecorder(runtime, transport, controller=f"nodemend.io/{name}", instance=settings.identity)
    metrics.readings.follow_events(lambda: _outcomes(events))
    lease = LeaseAddress(name, settings.system_namespace)
    election = ElectionSettings(lease=lease, candidate=settings.identity, timing=settings.lease)
    program = build(
        ProgramDependencies(
            runtime, transport, HttpConnector(runtime), election, log, metrics, events, settings
        )
    )
    health.must_reach("the first list of every kind we watch", lambda: program.synced)
    try:
        await run_together(
            runtime,
            {
                name: program.run(),
                "events": events.run(),
                "probes": serve_probes(
                    settings.probes,
                    settings.metrics,
                    health,
                    lambda accepted: expose_metrics(registry, accepted),
                    lambda at: log.info("listening", probes=at.probes, metrics=at.metrics),
                ),
                "signals": until_stop_signal(log),
            },
        )
    finally:
        await http.close()


def _outcomes(events: EventRecorder) -> dict[str, int]:
    counts = events.counts
    return {"written": counts.written, **{why.value: times for why, times in counts.dropped.items()}}


def expose_metrics(registry: CollectorRegistry, accepted: str) -> tuple[bytes, str]:
    """The metrics in a form that the caller accepts, and its content type."""
    encode, content_type = choose_encoder(accepted)
    return encode(registry), content_type


CHECKER = "nodemend-checker"


def build_checker(around: ProgramDependencies) -> Checker:
    log, metrics, now = around.log, around.metrics, around.runtime.monotonic
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
    readings.follow_cache("nodes", lambda: view.nodes.age(now()))
    readings.follow_cache("nodehealthchecks", lambda: view.checks.age(now()))
    readings.follow_cache("remediations", lambda: view.remedies.age(now()))
    readings.follow_cache("remediationpolicies", lambda: view.policies.age(now()))
    readings.follow_cache("remediationorders", lambda: view.orders.age(now()))
    readings.follow_cache("etcdpods", lambda: view.etcd_pods.age(now()) if view.etcd_pods else 0.0)
    readings.follow_queue("node_health_check", lambda: checker.waiting)
    if checker.machines is not None:
        machines = checker.machines
        readings.follow_cache("machines", lambda: machines.view.age(now()))
        readings.follow_queue("machine_health_check", lambda: machines.waiting)
        if machines.workload is not None:
            readings.follow_clusters(machines.workload.count)

    def mode_and_pause() -> tuple[Mode, bool]:
        policy = view.policies.get(well_known.POLICY_NAME)
        if policy is None:
            return Mode.DRY_RUN, False
        return policy.spec.mode, active_pause(policy.spec.pause, around.runtime.wall()) is not None

    def endless_pauses() -> Iterator[str]:
        policy = view.policies.get(well_known.POLICY_NAME)
        named = [(check.metadata.name, check.spec.pause) for check in view.checks.all()]
        for name, pause in [("", policy.spec.pause if policy else None), *named]:
            if pause is not None and pause.until is None:
                yield name

    readings.follow_policy(mode_and_pause)
    readings.follow_pauses(endless_pauses)
    return checker


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
        metrics.readings.follow_cache(name, lambda found=cache: found.age(around.runtime.monotonic()))  # type: ignore[misc]
    for name, count in remediator.view.unreadable.items():
        metrics.readings.follow_unreadable(name, count)
    metrics.readings.follow_queue("remediator", lambda: remediator.waiting)
    return remediator


def _follow(around: ProgramDependencies, kind: str, watched: Reflector[Any, Any]) -> None:
    readings, found = around.metrics.readings, watched.cache
    readings.follow_cache(f"{kind.lower()}s", lambda: found.age(around.runtime.monotonic()))
    readings.follow_unreadable(f"{kind.lower()}s", lambda: len(watched.unreadable))
    readings.follow_remediations(
        kind, lambda: [one.status.phase for one in found.all() if one.status.phase not in SUCCEEDED]
    )
    readings.follow_failed(
        kind,
        lambda: [
            (one.metadata.namespace, one.metadata.name)
            for one in found.all()
            if one.status.phase is metal3_remediation.Metal3RemediationPhase.FAILED
        ],
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
    metrics.readings.follow_signer(lambda: signer.signs)
    metrics.readings.follow_queue("signer", lambda: signer.waiting)
    metrics.readings.follow_cache(
        "certificatesigningrequests", lambda: signer.cache.age(around.runtime.monotonic())
    )
    return signer


def _run_signer(settings: ControllerSettings) -> int:
    if find_spec("cryptography") is None:
        click.echo(f"{SIGNER}: it needs the package with its extra, nodemend[certificates].", err=True)
        return EXIT_FAILED
    return run_controller(SIGNER, build_signer, settings)


run_signer = controller_command(
    SIGNER, "Signs agents' certificates: each node gets its own name.", _run_signer
)
