"""Health checks that watch too little, too much, or could not act."""

from nodemend.api.meta import LabelSelector, ObjectMeta, Pause
from nodemend.cli.check.assess import assess
from nodemend.cli.check.view import Level
from nodemend.health.remediation_index import NotServed
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import CALL, check, facts, node, problems

FAIL, WARN = Level.FAIL, Level.WARN


def test_without_a_check_no_node_is_watched() -> None:
    assert problems(assess(facts(checks=Present([])))) == [
        (WARN, "there is no NodeHealthCheck: no node is watched")
    ]


def test_nodes_without_a_check_are_named() -> None:
    nodes = [node("edge-1", labels={"rack": "1"}), node("edge-2"), node("edge-3")]
    found = problems(assess(facts(nodes=Present(nodes), checks=Present([check(labels={"rack": "1"})]))))

    assert found == [(WARN, "watched by no check: edge-2, edge-3")]


def test_checks_that_overlap_are_named_with_the_nodes_they_share() -> None:
    found = problems(assess(facts(checks=Present([check("workers"), check("all")]))))

    assert found == [(WARN, "nhc/all and nhc/workers select the same nodes: edge-1, edge-2")]


def test_a_check_without_nodes_watches_nothing() -> None:
    found = problems(assess(facts(checks=Present([check(), check("gone", labels={"rack": "9"})]))))

    assert found == [(WARN, "nhc/gone selects no node")]


def test_a_condition_that_no_node_reports_never_counts() -> None:
    found = problems(assess(facts(checks=Present([check(types=("Ready", "StorageReady"))]))))

    assert found == [
        (WARN, "nhc/workers watches the condition StorageReady, which none of its nodes reports")
    ]


def test_a_change_that_the_checker_has_not_observed_is_reported() -> None:
    changed = check().but(metadata=ObjectMeta(name="workers", generation=2))

    assert problems(assess(facts(checks=Present([changed])))) == [
        (WARN, "nhc/workers was changed, and the checker has not acted on that yet")
    ]


def test_a_template_that_does_not_exist_is_a_failure() -> None:
    assert problems(assess(facts(templates={CALL: Absent()}))) == [
        (FAIL, "nhc/workers: its template default/call does not exist, so nothing can be remediated")
    ]
    assert problems(assess(facts(templates={CALL: Unreadable("no")}))) == [
        (FAIL, "nhc/workers: its template default/call cannot be read: no")
    ]


def test_a_kind_of_remedy_that_is_not_served_is_a_failure() -> None:
    assert problems(assess(facts(templates={CALL: NotServed("nodemend.io/v1 has no kind X")}))) == [
        (
            FAIL,
            "nhc/workers: its remedy ManualRemediationTemplate cannot be used: nodemend.io/v1 has no kind X",
        )
    ]


def test_an_unreadable_object_is_reported_as_unread() -> None:
    assert problems(assess(facts(checks=Unreadable("forbidden")))) == [
        (FAIL, "the NodeHealthChecks cannot be read: forbidden")
    ]
    unread = problems(assess(facts(nodes=Unreadable("forbidden"))))
    assert (FAIL, "the nodes cannot be read: forbidden") in unread


def test_the_selectors_are_those_that_the_checker_uses() -> None:
    """An empty selector is every node."""
    assert check().spec.selector == LabelSelector()
    assert not problems(assess(facts()))


def test_a_limit_that_never_lets_anything_begin_is_a_failure() -> None:
    usual = check()
    strict = usual.but(spec=usual.spec.but(max_unhealthy=1))

    assert problems(assess(facts(checks=Present([strict])))) == [
        (FAIL, "nhc/workers: maxUnhealthy 1 of 2 nodes allows no remediation at all")
    ]


def test_a_paused_check_is_reported_with_its_end_and_how_to_resume_it() -> None:
    usual = check()

    def paused(until: str) -> list[tuple[Level, str]]:
        pause = Pause(reason="new kernel", by="anna", until=until)
        return problems(assess(facts(checks=Present([usual.but(spec=usual.spec.but(pause=pause))]))))

    assert paused("2026-01-31T12:30:00Z") == [
        (WARN, "nhc/workers is paused until 2026-01-31T12:30:00Z by anna: new kernel")
    ]
    assert paused("2026-01-31T11:30:00Z") == []
