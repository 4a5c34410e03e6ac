"""The recorded recoveries, and their metrics."""

from datetime import UTC, datetime

import msgspec

from nodemend.api.meta import LabelSelector
from nodemend.api.node_health_check import (
    MOST_RECOVERIES,
    NodeHealthCheck,
    NodeHealthCheckStatus,
    Recovery,
    RecoveryPhase,
    RecoveryReport,
)
from nodemend.guard.evaluator import Clocks
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.targets import FoundRemediation, NodeTarget
from nodemend.health.node.tracker import RecoveryTracker
from nodemend.records.remediation import RemediationWire, as_record
from nodemend.rules.node import Healthy
from nodemend.rules.request import DeleteRemediation, MarkRecoveryPending
from simulation.cluster.foreign_kinds import foreign
from tests.unit.cli.check.sound_facts import check
from tests.unit.health.node.node_worlds import a_node, a_view
from tests.unit.telemetry.scraped import Scraped

MOMENT = Clocks(0.0, datetime(2026, 1, 31, 12, 0, tzinfo=UTC))


def recovering(*reports: RecoveryReport) -> NodeHealthCheck:
    plain = check()
    template = plain.spec.remedies[0].template.but(api_version="example.com/v1", kind="SwitchOnTemplate")
    spec = plain.spec.but(selector=LabelSelector(), recovery=Recovery(template=template))
    return plain.but(spec=spec, status=NodeHealthCheckStatus(recoveries=reports))


def test_when_the_list_is_full_the_others_wait_until_there_is_room() -> None:
    nodes = tuple(a_node(f"n{number:04}", Ready="True") for number in range(MOST_RECOVERIES + 3))
    view, found = a_view(nodes=nodes), recovering()
    view.checks.replace({found.metadata.name: found}, [])
    asked: list[str] = []
    tracker = RecoveryTracker(view, asked.append)
    fix = as_record(foreign("Reboot"), msgspec.convert({"metadata": {}}, RemediationWire))
    for node in nodes:
        step = tracker.decide(
            NodeTarget(node, found, ()), Healthy(60), FoundRemediation(fix, 0), DeleteRemediation(), 0.0
        )
        assert step == MarkRecoveryPending()
    written = tracker.reports(found, MOMENT)
    assert len(written) == MOST_RECOVERIES
    assert {one.phase for one in written} == {RecoveryPhase.PENDING}
    assert set(asked) == {found.metadata.name}


def test_an_unreadable_object_does_not_count_as_deleted() -> None:
    """Its kind is not discovered yet, or not served at the moment."""
    node = a_node("n1", Ready="True")
    running = RecoveryReport(node="n1", node_uid=node.uid, phase=RecoveryPhase.OVERDUE, since="before")
    view, found = a_view(nodes=(node,)), recovering(running)
    view.checks.replace({found.metadata.name: found}, [])
    [kept] = RecoveryTracker(view, lambda check: None).reports(found, MOMENT)
    assert (kept.phase, kept.since) == (RecoveryPhase.OVERDUE, "before")


def test_the_figures_are_of_what_is_written_and_go_with_the_check() -> None:
    scraped = Scraped()
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, lambda event_record: None)
    failed = RecoveryReport(node="n1", node_uid="u1", phase=RecoveryPhase.FAILED, since="now")
    recorder.recovering(recovering(), (failed, failed.but(node="n2", node_uid="u2")))
    assert scraped.value("nodemend_recoveries", check="workers", phase="Failed") == 2
    assert scraped.value("nodemend_recoveries", check="workers", phase="Running") == 0
    recorder.recovering(recovering(failed), ())
    assert scraped.value("nodemend_recoveries", check="workers", phase="Failed") == 0
    recorder.counted("workers", None)
    assert scraped.series("nodemend_recoveries") == {}


def test_a_check_without_a_recovery_has_no_figures_and_none_are_left_of_one_that_it_had() -> None:
    scraped = Scraped()
    recorder = NodeHealthCheckRecorder(scraped.log, scraped.metrics, lambda event_record: None)
    failed = RecoveryReport(node="n1", node_uid="u1", phase=RecoveryPhase.FAILED, since="now")
    recorder.recovering(recovering(), (failed,))
    recorder.recovering(check(), ())
    assert scraped.series("nodemend_recoveries") == {}
