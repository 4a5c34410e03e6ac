"""`nodemend-remediator`: serves remediations. Releases workloads on evidence, and on nothing else."""

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import Phase
from nodemend.controllers.manual_remediation.recorder import ManualRemediationRecorder
from nodemend.controllers.remediator import Remediator, RemediatorObservers
from nodemend.entrypoints.controller_shell import Surroundings, run_controller
from nodemend.settings.command_shell import controller_command
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.election_telemetry import ElectionTelemetry
from nodemend.telemetry.loop_telemetry import LoopTelemetry

NAME = "nodemend-remediator"


def build(around: Surroundings) -> Remediator:
    log, metrics = around.log, around.metrics
    remediator = Remediator(
        around.runtime,
        around.transport,
        around.election,
        RemediatorObservers(
            ElectionTelemetry(log, metrics),
            LoopTelemetry("manual_remediation", log, metrics),
            ManualRemediationRecorder(log, metrics, around.events.record, around.runtime),
        ),
    )
    found, readings = remediator.remediations, metrics.readings
    readings.follow_cache("manualremediations", lambda: found.age(around.runtime.monotonic()))
    readings.follow_queue("manual_remediation", lambda: remediator.waiting)
    readings.follow_remediations(
        MANUAL_REMEDIATION.kind,
        lambda: [one.status.phase for one in found.all() if one.status.phase is not Phase.SUCCEEDED],
    )
    return remediator


def _run(settings: ControllerSettings) -> int:
    return run_controller(NAME, build, settings)


main = controller_command(NAME, "Serves remediations: releases a node's workloads on evidence.", _run)
