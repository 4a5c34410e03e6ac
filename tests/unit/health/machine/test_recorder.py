"""Events of a Machine, and their frequency."""

import io
from dataclasses import replace

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry

from nodemend.api.meta import LabelSelector
from nodemend.api.resources import Resource
from nodemend.api.well_known import EXTERNAL_REMEDIATION
from nodemend.guard.state import HEALTHY, REMEDIATING, CheckCounts, TargetState, TargetStatus
from nodemend.health.machine.annotation import Clear
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.external_annotation import as_check, check_key_for
from nodemend.health.machine.index import MachineCheckKey, MachineKey
from nodemend.health.machine.request import AskOwnerByCondition
from nodemend.health.machine.targets import MachineTarget
from nodemend.kube.events import EventRecord
from nodemend.records.machine import (
    CLUSTER_API,
    CLUSTER_API_V1BETA2,
    MachineCheckRecord,
    MachineOwnerReference,
    MachineRecord,
)
from nodemend.rules.machine import HealthConditions, MachineRules
from nodemend.rules.request import Create, DeleteRemediation
from nodemend.safety.limits import LimitSemantics
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from simulation.scheduler import Scheduler

MACHINES = Resource(CLUSTER_API, "v1beta2", "Machine", "machines")
CHECKS = Resource(CLUSTER_API, "v1beta2", "MachineHealthCheck", "machinehealthchecks")
CHECK_KEY = MachineCheckKey(CLUSTER_API, "default", "workers")
SUSPECT = TargetStatus(TargetState.SUSPECT, "Ready=Unknown", "Ready=Unknown, but not yet for 60 s")
HELD = TargetStatus(TargetState.HELD, "TooManyUnhealthy", "Too many are unhealthy.")


def a_target() -> MachineTarget:
    rules = MachineRules(
        "prod",
        LabelSelector(),
        (),
        (),
        startup=None,
        gate=None,
        reading=LimitSemantics.AT_LIMIT,
        template=None,
    )
    check = MachineCheckRecord(
        CHECKS, "default", "workers", "c1", "1", 1, rules, claimed=True, paused=False, status={}
    )
    machine = MachineRecord(
        resource=MACHINES,
        namespace="default",
        name="m1",
        uid="u1",
        labels={},
        cluster="prod",
        control_plane=False,
        node="n1",
        provider_id="",
        failure_domain="",
        owner=MachineOwnerReference(kind="MachineSet"),
        conditions=(),
        marks=HealthConditions(),
        infrastructure_ready=True,
        failed=None,
        left_alone_by="",
        asked_by="",
        deleting=False,
    )
    return MachineTarget(
        MachineKey(CLUSTER_API, "default", "m1"), machine, CHECK_KEY, check, CLUSTER_API_V1BETA2
    )


class RecordedEvents:
    def __init__(self) -> None:
        self.event_records: list[EventRecord] = []
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, program="p", version="v", monotonic=lambda: 0.0)
        log = Log(
            LogStream(io.StringIO()),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=Scheduler(1).wall,
        )
        self.recorder = MachineHealthCheckRecorder(log, metrics, self.event_records.append)

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(one.reason, one.regarding.kind) for one in self.event_records]


@pytest.mark.conforms("G09")
def test_an_unhealthy_machine_is_reported_once() -> None:
    reported, target = RecordedEvents(), a_target()
    reported.recorder.judged(target, SUSPECT, HELD)
    reported.recorder.judged(target, HELD, REMEDIATING)
    reported.recorder.judged(target, REMEDIATING, HEALTHY)
    assert reported.events == [
        ("MachineUnhealthy", "Machine"),
        ("RemediationHeld", "Machine"),
        ("MachineHealthy", "Machine"),
    ]


@pytest.mark.conforms("F10")
def test_no_event_is_emitted_before_a_timeout() -> None:
    reported = RecordedEvents()
    reported.recorder.judged(a_target(), HEALTHY, SUSPECT)
    assert reported.events == []


def test_requests_and_withdrawals_are_reported_on_the_machine() -> None:
    reported = RecordedEvents()
    reported.recorder.asked(a_target(), AskOwnerByCondition())
    reported.recorder.asked(a_target(), DeleteRemediation())
    assert [(one.reason, one.note) for one in reported.event_records] == [
        ("RemediationStarted", "mhc/workers asked its MachineSet to replace it."),
        ("RemediationWithdrawn", "mhc/workers no longer needs its remediation, and deletes it."),
    ]


def test_a_request_by_annotation_is_reported_by_its_name() -> None:
    reported, target = RecordedEvents(), a_target()
    asked = replace(
        target,
        check_key=check_key_for(target.machine),
        check=as_check(structs.replace(target.machine, hosted=True), "reboot"),
    )
    reported.recorder.asked(asked, Create())
    reported.recorder.asked(asked, Clear(""))
    reported.recorder.annotation_ignored(target.machine, "it has the annotation x")
    assert [(one.type, one.reason, one.note) for one in reported.event_records] == [
        ("Normal", "RemediationStarted", f"{EXTERNAL_REMEDIATION} created a Metal3Remediation."),
        (
            "Normal",
            "RemediationAnnotationCleared",
            f"{EXTERNAL_REMEDIATION} was taken off: the node is Ready.",
        ),
        (
            "Warning",
            "RemediationAnnotationIgnored",
            f"{EXTERNAL_REMEDIATION} is ignored on this Machine: it has the annotation x. Remove it.",
        ),
    ]


def test_the_state_of_targets_is_a_metric_that_is_removed_with_the_check() -> None:
    reported, counts = RecordedEvents(), CheckCounts()
    counts.counts[TargetState.HEALTHY] = 3
    reported.recorder.counted(CHECK_KEY.full_name, counts)
    labels = {"check": "default/workers", "state": "healthy"}
    assert reported.registry.get_sample_value("nodemend_nodes", labels) == 3
    reported.recorder.counted(CHECK_KEY.full_name, None)
    assert reported.registry.get_sample_value("nodemend_nodes", labels) is None
