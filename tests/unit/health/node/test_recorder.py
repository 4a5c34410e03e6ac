"""Changed verdicts are reported, and unchanged ones are not."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.api.upstream_types import ObjectReference
from nodemend.guard.state import HEALTHY, CountScope, TargetIndex, TargetState, TargetStatus
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.preflight import ApprovedOrder
from nodemend.health.node.targets import NodeTarget
from nodemend.kube.events import EventRecord
from nodemend.records.remediation import RemediationWire, as_record
from nodemend.rules.request import Create, DeleteRemediation, Escalate, Order
from nodemend.safety.guard_holds import StartInterval, TooManyUnhealthy
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from tests.unit.cli.check.sound_facts import check, node

TARGET = NodeTarget(node("edge-07"), check(), ())
SUSPECT = TargetStatus(TargetState.SUSPECT, "Ready", "Ready=Unknown, but not yet for 300 s")
HELD = TargetStatus(TargetState.HELD, "Paused", "Paused by anna: swap. Resume it.")
REMEDIATING = TargetStatus(TargetState.REMEDIATING)


class RecordedEvents:
    """A recorder, and what it reported."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        self.events: list[EventRecord] = []
        log = Log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        metrics = Metrics(self.registry, program="p", version="1", monotonic=lambda: 0.0)
        self.recorder = NodeHealthCheckRecorder(log, metrics, self.events.append)

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
        (HELD, TargetStatus(TargetState.HELD, "another hold"), ["RemediationHeld"]),
        (REMEDIATING, HEALTHY, ["NodeHealthy"]),
        (None, SUSPECT, ["NodeSuspect"]),
        (None, REMEDIATING, []),
        (None, HELD, ["NodeUnhealthy", "RemediationHeld"]),
        (HEALTHY, TargetStatus(TargetState.UNJUDGED, "no conditions yet"), []),
    ],
)
def test_a_change_is_an_event_on_the_node_and_a_line(
    before: TargetStatus | None, now: TargetStatus, reasons: list[str]
) -> None:
    reported = RecordedEvents()
    reported.recorder.judged(TARGET, before, now)

    assert [event.reason for event in reported.events] == reasons
    assert {(event.regarding.kind, event.regarding.uid) for event in reported.events} <= {
        ("Node", "uid-edge-07")
    }
    [line] = reported.lines
    assert (line["node"], line["check"], line["standing"]) == ("edge-07", "workers", now.state)


@pytest.mark.conforms("N9")
def test_an_unhealthy_node_is_reported_once_even_if_it_is_held_and_remediated_for_long() -> None:
    reported = RecordedEvents()
    life = (None, HEALTHY, SUSPECT, HELD, REMEDIATING, HELD, REMEDIATING, HEALTHY, SUSPECT, REMEDIATING)
    for before, now in pairwise(life):
        assert now is not None
        reported.recorder.judged(TARGET, before, now)

    assert [event.reason for event in reported.events].count("NodeUnhealthy") == 2


def test_a_withdrawn_remediation_without_a_check_is_reported_on_its_node() -> None:
    reported = RecordedEvents()
    wire = msgspec.convert({"metadata": {"name": "edge-07", "namespace": "default"}}, RemediationWire)
    reported.recorder.withdrew_orphan(as_record(MANUAL_REMEDIATION, wire), TARGET.node.uid)

    [event] = reported.events
    assert (event.reason, event.regarding.uid) == ("RemediationWithdrawn", "uid-edge-07")
    assert event.note == "No check needs its ManualRemediation in default any more."


def test_a_leader_that_starts_with_a_hundred_thousand_healthy_nodes_reports_none_of_them() -> None:
    reported = RecordedEvents()
    reported.recorder.judged(TARGET, None, HEALTHY)

    assert (reported.events, reported.lines) == ([], [])


def test_an_event_about_a_request_relates_to_the_remediation() -> None:
    reported = RecordedEvents()
    what = ObjectReference(
        api_version="nodemend.io/v1alpha1", kind="ManualRemediation", namespace="default", name="edge-07"
    )
    reported.recorder.asked(TARGET, Create(), what, None)
    reported.recorder.asked(TARGET, DeleteRemediation(), what, None)
    reported.recorder.asked(TARGET, Escalate(1), what, None)

    assert [(event.reason, event.note) for event in reported.events] == [
        ("RemediationStarted", "nhc/workers created a ManualRemediation in default."),
        (
            "RemediationWithdrawn",
            "nhc/workers no longer needs its ManualRemediation in default, and deletes it.",
        ),
        (
            "RemediationEscalated",
            (
                "nhc/workers deletes its ManualRemediation in default, which failed or timed out, and starts "
                "remedy 2 next."
            ),
        ),
    ]
    related = [event.related for event in reported.events if event.related]
    assert [(one.kind, one.namespace, one.name) for one in related] == [
        ("ManualRemediation", "default", "edge-07")
    ] * 3
    labels = {"controller": "node_health_check", "verdict": "Create"}
    assert reported.registry.get_sample_value("nodemend_decisions_total", labels) == 1


@pytest.mark.conforms("N20")
def test_targets_are_counted_by_state_until_the_check_is_deleted() -> None:
    reported, target_index, here = RecordedEvents(), TargetIndex(), CountScope("workers")
    target_index.upsert("edge-07", here, HELD)
    target_index.upsert("edge-08", here, HEALTHY)
    target_index.upsert("edge-09", here, HEALTHY)
    reported.recorder.counted("workers", target_index.of_check("workers"))
    counted = {state: reported.nodes(state) for state in ("healthy", "held", "suspect")}
    reported.recorder.counted("workers", None)

    assert counted == {"healthy": 2, "held": 1, "suspect": 0}
    assert reported.nodes("healthy") is None
    reported.recorder.counted("never-seen", None)


ORDER = Order("order-1", "uid-edge-07", "anna", "its disk is failing", past_guard=False, age=2.0)


def test_an_operator_s_order_is_reported_with_its_author_and_reason() -> None:
    reported = RecordedEvents()
    what = ObjectReference(
        api_version="nodemend.io/v1alpha1", kind="ManualRemediation", namespace="default", name="edge-07"
    )
    reported.recorder.asked(TARGET, Create(), what, ApprovedOrder(ORDER))
    passed = (TooManyUnhealthy("the cluster", 3, 6, "40%", 2), StartInterval(4.0))
    reported.recorder.asked(TARGET, Create(), what, ApprovedOrder(replace(ORDER, past_guard=True), passed))

    started = "nhc/workers created a ManualRemediation in default. Ordered by anna: its disk is failing"
    assert [(event.reason, event.note) for event in reported.events] == [
        ("RemediationStarted", started),
        ("OverrideUsed", "anna let it past the guard (TooManyUnhealthy, StartInterval): its disk is failing"),
        ("RemediationStarted", started),
    ]
    lines = [line for line in reported.lines if line["event"] == "followed an order"]
    assert [(line["by"], line["reason"], line["passed"]) for line in lines] == [
        ("anna", "its disk is failing", ""),
        ("anna", "its disk is failing", "TooManyUnhealthy, StartInterval"),
    ]
    for verdict in ("Order", "Override"):
        labels = {"controller": "node_health_check", "verdict": verdict}
        assert reported.registry.get_sample_value("nodemend_decisions_total", labels) == 1


def test_an_ordered_node_is_not_reported_as_unhealthy() -> None:
    reported = RecordedEvents()
    ordered = replace(HELD, ordered_by="anna")
    reported.recorder.judged(TARGET, SUSPECT, ordered)
    reported.recorder.judged(TARGET, ordered, replace(REMEDIATING, ordered_by="anna"))

    assert [(event.reason, event.note) for event in reported.events] == [
        ("RemediationOrdered", "anna ordered the remediation of edge-07."),
        ("RemediationHeld", HELD.message),
    ]


def test_an_order_that_ends_unused_is_reported() -> None:
    reported = RecordedEvents()
    reported.recorder.order_expired(TARGET, ORDER, "it is 901 s old, and is valid for 900 s")

    assert [(event.reason, event.note) for event in reported.events] == [
        ("OrderExpired", "The order of anna ends unused: it is 901 s old, and is valid for 900 s.")
    ]
