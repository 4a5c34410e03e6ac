"""What every controller program has around it: a log, metrics, probes, credentials, signals, an exit code."""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from prometheus_client import CollectorRegistry

from nodemend import __version__
from nodemend.entrypoints.probes_shell import Listening, serve_probes
from nodemend.entrypoints.signals_shell import until_told_to_stop
from nodemend.kube.asyncio_shell import AsyncioRuntime, run
from nodemend.kube.counted_transport import CountedTransport
from nodemend.kube.credentials import CredentialsError
from nodemend.kube.credentials_shell import LiveCredentials, find_connection
from nodemend.kube.event_recorder import EventRecorder
from nodemend.kube.http_shell import HttpTransport
from nodemend.kube.leader_loop import ElectionSettings, WorkOverranError
from nodemend.kube.leader_record import LeaseAddress
from nodemend.kube.other_cluster_shell import HttpConnector, expect_many_clusters
from nodemend.kube.ports import Connector, Runtime, Transport
from nodemend.kube.running_together import run_together
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.health_board import HealthBoard
from nodemend.telemetry.log_format import LibraryLogs, Log, LogStream, open_log
from nodemend.telemetry.metrics import Metrics

EXIT_STOPPED: Final = 0
EXIT_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a program is given to be built from."""

    runtime: Runtime
    transport: Transport
    connector: Connector
    election: ElectionSettings
    log: Log
    metrics: Metrics
    events: EventRecorder
    settings: ControllerSettings


class Program(Protocol):
    @property
    def synced(self) -> bool: ...

    async def run(self) -> None: ...


Build = Callable[[Surroundings], Program]


def run_controller(name: str, build: Build, settings: ControllerSettings) -> int:
    """Run until a signal ends it (0) or the world does not let it go on (1). A fault of our own raises."""
    runtime = AsyncioRuntime()
    fixed = {"program": name, "version": __version__, "identity": settings.identity}
    log = open_log(
        LogStream(sys.stderr),
        form=settings.log_form,
        level=settings.log_level,
        fixed=fixed,
        wall=runtime.wall,
    )
    # What libraries log the usual way becomes lines of ours, so that the stream holds nothing else.
    logging.basicConfig(handlers=[LibraryLogs(log)], level=logging.WARNING, force=True)
    try:
        run(_serve(name, build, settings, runtime, log))
    except (CredentialsError, OSError, WorkOverranError) as error:
        log.error("cannot go on", why=f"{type(error).__name__}: {error}")
        return EXIT_FAILED
    log.info("stopped")
    return EXIT_STOPPED


async def _serve(
    name: str, build: Build, settings: ControllerSettings, runtime: AsyncioRuntime, log: Log
) -> None:
    if settings.workload_clusters:
        expect_many_clusters()
    registry, health = CollectorRegistry(), HealthBoard()
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
        Surroundings(runtime, transport, HttpConnector(runtime), election, log, metrics, events, settings)
    )
    health.must_reach("the first list of every kind we watch", lambda: program.synced)
    try:
        await run_together(
            runtime,
            {
                name: program.run(),
                "events": events.run(),
                "probes": serve_probes(settings, health, registry, lambda at: _tell(log, at)),
                "signals": until_told_to_stop(log),
            },
        )
    finally:
        await http.close()


def _outcomes(events: EventRecorder) -> dict[str, int]:
    counts = events.counts
    return {"written": counts.written, **{why.value: times for why, times in counts.dropped.items()}}


def _tell(log: Log, at: Listening) -> None:
    log.info("listening", probes=at.probes, metrics=at.metrics)
