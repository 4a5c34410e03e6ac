"""`nodemend-checker`: watches nodes, judges them, asks for remediations."""

from collections.abc import Iterator

from nodemend.api import keys
from nodemend.api.remediation_policy import Mode
from nodemend.controllers.admission_duties import duty_of_checker
from nodemend.controllers.admission_proof import Admission
from nodemend.controllers.admission_recorder import AdmissionTelemetry
from nodemend.controllers.checker import Checker, CheckerObservers
from nodemend.controllers.machine_checking import MachineDuty, MachineObservers
from nodemend.controllers.machine_health_check.recorder import MachineHealthCheckRecorder
from nodemend.controllers.machine_health_check.workload_cluster_recorder import WorkloadClusterRecorder
from nodemend.controllers.node_health_check.recorder import NodeHealthCheckRecorder
from nodemend.controllers.pauses import in_force
from nodemend.decide.shipped_policies import SHIPPED
from nodemend.entrypoints.controller_shell import Surroundings, run_controller
from nodemend.settings.command_shell import controller_command
from nodemend.settings.controller_settings import ControllerSettings
from nodemend.telemetry.election_telemetry import ElectionTelemetry
from nodemend.telemetry.loop_telemetry import LoopTelemetry

NAME = "nodemend-checker"


def build(around: Surroundings) -> Checker:
    log, metrics, now = around.log, around.metrics, around.runtime.monotonic
    annotations = bool(around.settings.external_remediation_template)
    duty = duty_of_checker(SHIPPED, around.election.lease.namespace, annotations=annotations)
    checker = Checker(
        around.runtime,
        around.transport,
        around.election,
        CheckerObservers(
            ElectionTelemetry(log, metrics),
            LoopTelemetry("node_health_check", log, metrics),
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
        policy = view.policies.get(keys.POLICY_NAME)
        if policy is None:
            return Mode.DRY_RUN, False
        return policy.spec.mode, in_force(policy.spec.pause, around.runtime.wall()) is not None

    def endless_pauses() -> Iterator[str]:
        policy = view.policies.get(keys.POLICY_NAME)
        named = [(check.metadata.name, check.spec.pause) for check in view.checks.all()]
        for name, pause in [("", policy.spec.pause if policy else None), *named]:
            if pause is not None and pause.until is None:
                yield name

    readings.follow_policy(mode_and_pause)
    readings.follow_pauses(endless_pauses)
    return checker


def _duty(around: Surroundings) -> MachineDuty:
    log, metrics = around.log, around.metrics
    observers = MachineObservers(
        LoopTelemetry("machine_health_check", log, metrics),
        MachineHealthCheckRecorder(log, metrics, around.events.record),
        WorkloadClusterRecorder(log),
    )
    connector = around.connector if around.settings.workload_clusters else None
    settings = around.settings
    return MachineDuty(
        observers, connector, settings.workload_kubeconfig_suffix, settings.external_remediation_template
    )


def _run(settings: ControllerSettings) -> int:
    return run_controller(NAME, build, settings)


main = controller_command(NAME, "Watches nodes and asks for the remediation of those that are sick.", _run)
