"""What is told of a machine, and how often."""

import io
from dataclasses import replace

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry

from nodemend.api.group_versions import Resource
from nodemend.api.keys import EXTERNAL_REMEDIATION
from nodemend.api.label_selector import LabelSelector
from nodemend.controllers.checking.standings import HEALTHY, REMEDIATING, Entry, Standing, Tally
from nodemend.controllers.machine_health_check.annotated_machine import (
    as_check,
    check_key_for,
)
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, MachineKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.recorder import MachineHealthCheckRecorder
from nodemend.decide.annotated_machine import Clear
from nodemend.decide.limits import Reading
from nodemend.decide.machine_marks import Marks
from nodemend.decide.machine_request import Ask
from nodemend.decide.machine_rules import MachineRules
from nodemend.decide.remediation_request import Create, Withdraw
from nodemend.kube.event_book import Happening
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_dialect import CLUSTER_API, CLUSTER_API_V1BETA2
from nodemend.kube.machine_record import MachineRecord, OwnerReference
from nodemend.telemetry.log_format import LogForm, LogLevel, LogStream, open_log
from nodemend.telemetry.metrics import Metrics
from nodemend.testing.scheduler import Scheduler

MACHINES = Resource(CLUSTER_API, "v1beta2", "Machine", "machines")
CHECKS = Resource(CLUSTER_API, "v1beta2", "MachineHealthCheck", "machinehealthchecks")
CHECK_KEY = MachineCheckKey(CLUSTER_API, "default", "workers")
SUSPECT = Entry(Standing.SUSPECT, "Ready=Unknown", "Ready=Unknown for less than 60 s")
HELD = Entry(Standing.HELD, "TooManyUnhealthy", "Too many are unhealthy.")


def a_target() -> Target:
    rules = MachineRules(
        "prod", LabelSelector(), (), (), startup=None, gate=None, reading=Reading.STOPS_AT, template=None
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
        owner=OwnerReference(kind="MachineSet"),
        conditions=(),
        marks=Marks(),
        infrastructure_ready=True,
        failed=None,
        left_alone_by="",
        asked_by="",
        deleting=False,
    )
    return Target(MachineKey(CLUSTER_API, "default", "m1"), machine, CHECK_KEY, check, CLUSTER_API_V1BETA2)


class Told:
    def __init__(self) -> None:
        self.happenings: list[Happening] = []
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, program="p", version="v", monotonic=lambda: 0.0)
        log = open_log(
            LogStream(io.StringIO()),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=Scheduler(1).wall,
        )
        self.recorder = MachineHealthCheckRecorder(log, metrics, self.happenings.append)

    @property
    def events(self) -> list[tuple[str, str]]:
        return [(one.reason, one.regarding.kind) for one in self.happenings]


@pytest.mark.conforms("G09")
def test_that_a_machine_is_unhealthy_is_told_once() -> None:
    told, target = Told(), a_target()
    told.recorder.judged(target, SUSPECT, HELD)
    told.recorder.judged(target, HELD, REMEDIATING)
    told.recorder.judged(target, REMEDIATING, HEALTHY)
    assert told.events == [
        ("MachineUnhealthy", "Machine"),
        ("RemediationHeld", "Machine"),
        ("MachineHealthy", "Machine"),
    ]


@pytest.mark.conforms("F10")
def test_there_is_no_event_while_nobody_is_past_a_timeout() -> None:
    told = Told()
    told.recorder.judged(a_target(), HEALTHY, SUSPECT)
    assert told.events == []


def test_what_is_asked_and_withdrawn_is_told_on_the_machine() -> None:
    told = Told()
    told.recorder.asked(a_target(), Ask())
    told.recorder.asked(a_target(), Withdraw())
    assert [(one.reason, one.note) for one in told.happenings] == [
        ("RemediationStarted", "mhc/workers asked its MachineSet to replace it."),
        ("RemediationWithdrawn", "mhc/workers needs its remediation no longer."),
    ]


def test_what_an_annotation_asks_for_is_told_by_its_name() -> None:
    told, target = Told(), a_target()
    asked = replace(
        target,
        check_key=check_key_for(target.machine),
        check=as_check(structs.replace(target.machine, hosted=True), "reboot"),
    )
    told.recorder.asked(asked, Create())
    told.recorder.asked(asked, Clear(""))
    told.recorder.unheeded(target.machine, "it has the annotation x")
    assert [(one.type, one.reason, one.note) for one in told.happenings] == [
        ("Normal", "RemediationStarted", f"{EXTERNAL_REMEDIATION} asked for a Metal3Remediation."),
        ("Normal", "AskingSettled", f"{EXTERNAL_REMEDIATION} was taken off: the node is Ready."),
        (
            "Warning",
            "AskingUnheeded",
            f"{EXTERNAL_REMEDIATION} is not heeded on this Machine: it has the annotation x. Take it off.",
        ),
    ]


def test_where_targets_stand_is_a_metric_and_goes_with_the_check() -> None:
    told, tally = Told(), Tally()
    tally.counts[Standing.HEALTHY] = 3
    told.recorder.counted(CHECK_KEY, tally)
    labels = {"check": "default/workers", "state": "healthy"}
    assert told.registry.get_sample_value("nodemend_nodes", labels) == 3
    told.recorder.counted(CHECK_KEY, None)
    assert told.registry.get_sample_value("nodemend_nodes", labels) is None
