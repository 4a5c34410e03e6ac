"""`nodemend-remediator`: serves remediations. Releases workloads on evidence, and on nothing else."""

from typing import Final

from nodemend.api import manual_remediation, power_cycle, self_remediation
from nodemend.controllers.admission_duties import duty_of_remediator
from nodemend.controllers.admission_proof import Admission
from nodemend.controllers.admission_recorder import AdmissionTelemetry
from nodemend.controllers.capm3_remediation.recorder import Capm3RemediationRecorder
from nodemend.controllers.manual_remediation.recorder import ManualRemediationRecorder
from nodemend.controllers.power_cycle.recorder import PowerCycleRecorder
from nodemend.controllers.remediator import Powers, Remediator, RemediatorObservers, Watched
from nodemend.controllers.self_remediation.recorder import SelfRemediationRecorder
from nodemend.decide.shipped_policies import SHIPPED
from nodemend.entrypoints.controller_shell import Surroundings, run_controller
from nodemend.settings.command_shell import controller_command
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.election_telemetry import ElectionTelemetry
from nodemend.telemetry.loop_telemetry import LoopTelemetry

NAME: Final = "nodemend-remediator"
_OVER: Final = (
    manual_remediation.Phase.SUCCEEDED,
    power_cycle.Phase.SUCCEEDED,
    self_remediation.Phase.SUCCEEDED,
)


def build(around: Surroundings) -> Remediator:
    log, metrics = around.log, around.metrics
    settings = around.settings
    duty = duty_of_remediator(
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
            LoopTelemetry("remediator", log, metrics),
            ManualRemediationRecorder(log, metrics, around.events.record, around.runtime),
            PowerCycleRecorder(log, metrics, around.events.record, around.runtime),
            Capm3RemediationRecorder(log, around.events.record),
            SelfRemediationRecorder(log, metrics, around.events.record, around.runtime),
        ),
        powers=Powers(
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


def _follow(around: Surroundings, kind: str, watched: Watched) -> None:
    readings, found = around.metrics.readings, watched.cache
    readings.follow_cache(f"{kind.lower()}s", lambda: found.age(around.runtime.monotonic()))
    readings.follow_unreadable(f"{kind.lower()}s", lambda: len(watched.unreadable()))
    readings.follow_remediations(
        kind, lambda: [one.status.phase for one in found.all() if one.status.phase not in _OVER]
    )
    readings.follow_failed(
        kind,
        lambda: [
            (one.metadata.namespace, one.metadata.name)
            for one in found.all()
            if one.status.phase is power_cycle.Phase.FAILED
        ],
    )


def _run(settings: ControllerSettings) -> int:
    return run_controller(NAME, build, settings)


main = controller_command(NAME, "Serves remediations: releases a node's workloads on evidence.", _run)
