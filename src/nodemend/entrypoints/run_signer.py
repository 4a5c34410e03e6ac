"""`nodemend-signer`: signs the certificates of agents. Each node gets its own name, and nothing else."""

from importlib.util import find_spec
from typing import Final

import click

from nodemend.controllers.admission_duties import duty_of_signer
from nodemend.controllers.admission_proof import Admission
from nodemend.controllers.admission_recorder import AdmissionTelemetry
from nodemend.controllers.agent_signer.recorder import AgentSignerRecorder
from nodemend.controllers.signer import Signer, SignerObservers
from nodemend.decide.shipped_policies import SHIPPED
from nodemend.entrypoints.controller_shell import EXIT_FAILED, Surroundings, run_controller
from nodemend.settings.command_shell import controller_command
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.election_telemetry import ElectionTelemetry
from nodemend.telemetry.loop_telemetry import LoopTelemetry

NAME: Final = "nodemend-signer"


def build(around: Surroundings) -> Signer:
    # Loaded where it is known to be there: it comes with an extra of the package.
    from nodemend.controllers.agent_signer.notary_shell import CryptographyNotary  # noqa: PLC0415

    log, metrics = around.log, around.metrics
    observers = SignerObservers(
        ElectionTelemetry(log, metrics),
        LoopTelemetry("signer", log, metrics),
        AgentSignerRecorder(log, metrics),
    )
    duty = duty_of_signer(SHIPPED, around.election.lease.namespace)
    signer = Signer(
        around.runtime,
        around.transport,
        around.election,
        observers,
        CryptographyNotary(),
        admission=Admission(duty, AdmissionTelemetry(log, metrics, around.events.record)),
    )
    metrics.readings.follow_signer(lambda: signer.signs)
    metrics.readings.follow_queue("signer", lambda: signer.waiting)
    metrics.readings.follow_cache(
        "certificatesigningrequests", lambda: signer.cache.age(around.runtime.monotonic())
    )
    return signer


def _run(settings: ControllerSettings) -> int:
    if find_spec("cryptography") is None:
        click.echo(f"{NAME}: it needs the package with its extra, nodemend[certificates].", err=True)
        return EXIT_FAILED
    return run_controller(NAME, build, settings)


main = controller_command(NAME, "Signs agents' certificates: each node gets its own name.", _run)
