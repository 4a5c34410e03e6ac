"""Verdicts that change are told; those that do not are not."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing, Standings
from nodemend.controllers.node_health_check.controller import Recorder
from nodemend.controllers.node_health_check.gather import Target
from nodemend.controllers.node_health_check.orders import Warrant
from nodemend.controllers.node_health_check.recorder import NodeHealthCheckRecorder
from nodemend.decide.guard_holds import Pacing, TooManyUnhealthy
from nodemend.decide.remediation_order import Order
from nodemend.decide.remediation_request import Create, Escalate, Withdraw
from nodemend.kube.event_book import Happening
from nodemend.kube.remediation_record import RemediationWire, as_record
from nodemend.telemetry.log_format import LogForm, LogLevel, LogStream, open_log
from nodemend.telemetry.metrics import Metrics
from tests.unit.cli.check.sound_facts import check, node

TARGET = Target(node("edge-07"), check(), ())
SUSPECT = Entry(Standing.SUSPECT, "Ready", "Ready=Unknown for less than 300 s")
HELD = Entry(Standing.HELD, "Paused", "Paused by anna: swap. Resume it.")
REMEDIATING = Entry(Standing.REMEDIATING)


class Told:
    """A recorder, and what it told whom."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        self.events: list[Happening] = []
        log = open_log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        metrics = Metrics(self.registry, program="p", version="1", monotonic=lambda: 0.0)
        self.recorder: Recorder = NodeHealthCheckRecorder(log, metrics, self.events.append)

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def nodes(self, state: str) -> float | None:
        return self.registry.get_sample_value("nodemend_nodes", {"check": "workers", "state": state})


@pytest.mark.conforms("N9")
@pytest.mark.parametrize(
    ("before", "now", "reasons"),
    [
        (HEALTHY, SUSPECT, ["NodeSuspect"]),
        (SUSPECT, HEALTHY, ["NodeHealthy"]),
        (SUSPECT, REMEDIATING, ["NodeUnhealthy"]),
        (SUSPECT, HELD, ["NodeUnhealthy", "RemediationHeld"]),
        (HELD, REMEDIATING, []),
        (HELD, Entry(Standing.HELD, "another hold"), ["RemediationHeld"]),
        (REMEDIATING, HEALTHY, ["NodeHealthy"]),
        (None, SUSPECT, ["NodeSuspect"]),
        (None, REMEDIATING, []),
        (None, HELD, ["NodeUnhealthy", "RemediationHeld"]),
        (HEALTHY, Entry(Standing.UNJUDGED, "no conditions yet"), []),
    ],
)
def test_a_change_is_an_event_on_the_node_and_a_line(
    before: Entry | None, now: Entry, reasons: list[str]
) -> None:
    told = Told()
    told.recorder.judged(TARGET, before, now)

    assert [event.reason for event in told.events] == reasons
    assert {(event.regarding.kind, event.regarding.uid) for event in told.events} <= {("Node", "uid-edge-07")}
    [line] = told.lines
    assert (line["node"], line["check"], line["standing"]) == ("edge-07", "workers", now.standing)


@pytest.mark.conforms("N9")
def test_that_a_node_is_unhealthy_is_told_once_however_long_it_is_held_and_remediated() -> None:
    told = Told()
    life = (None, HEALTHY, SUSPECT, HELD, REMEDIATING, HELD, REMEDIATING, HEALTHY, SUSPECT, REMEDIATING)
    for before, now in pairwise(life):
        assert now is not None
        told.recorder.judged(TARGET, before, now)

    assert [event.reason for event in told.events].count("NodeUnhealthy") == 2


def test_what_no_check_answers_for_is_told_on_its_node_when_it_is_withdrawn() -> None:
    told = Told()
    wire = msgspec.convert({"metadata": {"name": "edge-07", "namespace": "default"}}, RemediationWire)
    told.recorder.withdrew_orphan(TARGET.node, as_record(MANUAL_REMEDIATION, wire))

    [event] = told.events
    assert (event.reason, event.regarding.uid) == ("RemediationWithdrawn", "uid-edge-07")
    assert event.note == "No check answers for its ManualRemediation in default any more."


def test_a_leader_that_begins_with_a_hundred_thousand_healthy_nodes_says_nothing_of_them() -> None:
    told = Told()
    told.recorder.judged(TARGET, None, HEALTHY)

    assert (told.events, told.lines) == ([], [])


def test_what_was_asked_for_relates_to_the_remediation() -> None:
    told = Told()
    what = ObjectReference(
        api_version="nodemend.io/v1alpha1", kind="ManualRemediation", namespace="default", name="edge-07"
    )
    told.recorder.asked(TARGET, Create(), what, None)
    told.recorder.asked(TARGET, Withdraw(), what, None)
    told.recorder.asked(TARGET, Escalate(1), what, None)

    assert [(event.reason, event.note) for event in told.events] == [
        ("RemediationStarted", "nhc/workers asked for a ManualRemediation in default."),
        ("RemediationWithdrawn", "nhc/workers needs its ManualRemediation in default no longer."),
        ("RemediationEscalated", "nhc/workers gives up its ManualRemediation in default for remedy 2."),
    ]
    related = [event.related for event in told.events if event.related]
    assert [(one.kind, one.namespace, one.name) for one in related] == [
        ("ManualRemediation", "default", "edge-07")
    ] * 3
    labels = {"controller": "node_health_check", "verdict": "Create"}
    assert told.registry.get_sample_value("nodemend_decisions_total", labels) == 1


@pytest.mark.conforms("N20")
def test_targets_are_counted_by_where_they_stand_until_the_check_is_gone() -> None:
    told, standings, here = Told(), Standings(), Place("workers")
    standings.enter("edge-07", here, HELD)
    standings.enter("edge-08", here, HEALTHY)
    standings.enter("edge-09", here, HEALTHY)
    told.recorder.counted("workers", standings.of_check("workers"))
    counted = {state: told.nodes(state) for state in ("healthy", "held", "suspect")}
    told.recorder.counted("workers", None)

    assert counted == {"healthy": 2, "held": 1, "suspect": 0}
    assert told.nodes("healthy") is None
    told.recorder.counted("never-seen", None)


ORDER = Order("order-1", "uid-edge-07", "anna", "its disk is failing", past_guard=False, age=2.0)


def test_what_a_person_ordered_is_told_with_their_name_and_reason() -> None:
    told = Told()
    what = ObjectReference(
        api_version="nodemend.io/v1alpha1", kind="ManualRemediation", namespace="default", name="edge-07"
    )
    told.recorder.asked(TARGET, Create(), what, Warrant(ORDER))
    passed = (TooManyUnhealthy("the cluster", 3, 6, "40%", 2), Pacing(4.0))
    told.recorder.asked(TARGET, Create(), what, Warrant(replace(ORDER, past_guard=True), passed))

    started = "nhc/workers asked for a ManualRemediation in default. Ordered by anna: its disk is failing"
    assert [(event.reason, event.note) for event in told.events] == [
        ("RemediationStarted", started),
        ("OverrideUsed", "anna let it past the guard (TooManyUnhealthy, Pacing): its disk is failing"),
        ("RemediationStarted", started),
    ]
    lines = [line for line in told.lines if line["event"] == "followed an order"]
    assert [(line["by"], line["reason"], line["passed"]) for line in lines] == [
        ("anna", "its disk is failing", ""),
        ("anna", "its disk is failing", "TooManyUnhealthy, Pacing"),
    ]
    for verdict in ("Order", "Override"):
        labels = {"controller": "node_health_check", "verdict": verdict}
        assert told.registry.get_sample_value("nodemend_decisions_total", labels) == 1


def test_an_ordered_node_is_not_said_to_be_unhealthy() -> None:
    told = Told()
    ordered = replace(HELD, ordered_by="anna")
    told.recorder.judged(TARGET, SUSPECT, ordered)
    told.recorder.judged(TARGET, ordered, replace(REMEDIATING, ordered_by="anna"))

    assert [(event.reason, event.note) for event in told.events] == [
        ("RemediationOrdered", "anna ordered the remediation of edge-07."),
        ("RemediationHeld", HELD.message),
    ]


def test_an_order_that_ends_unused_is_told() -> None:
    told = Told()
    told.recorder.order_lapsed(TARGET, ORDER, "it is 901 s old, and is good for 900 s")

    assert [(event.reason, event.note) for event in told.events] == [
        ("OrderLapsed", "The order of anna ends unused: it is 901 s old, and is good for 900 s.")
    ]
