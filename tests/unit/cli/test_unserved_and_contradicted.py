"""`status`, `explain` and `check` report urgent faults alike, with the same marks."""

import pytest

from nodemend.api import manual_remediation, metal3_remediation, self_remediation, well_known
from nodemend.api.condition_types import EVIDENCE_CONTRADICTED
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import Condition, ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import TargetReport
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.check.assess import assess
from nodemend.cli.check.view import Level
from nodemend.cli.explain.facts import ExplainFacts
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from nodemend.cli.listing import AnyRemediation, Listing, MachineListing
from nodemend.cli.simulate.scenario import SILENT
from nodemend.cli.simulate.world import SimulatedCluster
from nodemend.cli.status.view import StatusView, render, status_view
from nodemend.guard.state import NOTHING_LEFT
from nodemend.safety.facts import Absent, Present
from tests.unit.cli.check.sound_facts import check, facts, leader, problems
from tests.unit.cli.node_cases import NODE, NOON, a_power_cycle, by_hand, by_itself, written
from tests.unit.cli.simulate import clusters
from tests.unit.cli.simulate.simulated import a_snapshot
from tests.unit.safety import worlds

TWICE = "node edge-07 runs, and its workloads were released. Switch it off."
UNTOUCHED = "No controller has started Metal3Remediation nodemend-system/edge-07."


def asked_for(seconds_ago: float, **others: object) -> Metal3Remediation:
    metadata = ObjectMeta(
        name=NODE, namespace="nodemend-system", uid="r", creation_timestamp=written(-seconds_ago)
    )
    return Metal3Remediation(metadata=metadata.but(**others))


def contradicted(remediation: AnyRemediation) -> AnyRemediation:
    said = Condition(
        type=EVIDENCE_CONTRADICTED,
        status=ConditionStatus.TRUE,
        reason="PowerOffContradicted",
        message=TWICE,
        last_transition_time=written(-60.0),
    )
    return remediation.but(status=remediation.status.but(conditions=(said,)))


def listed(remediation: AnyRemediation) -> Listing:
    if isinstance(remediation, SelfRemediation):
        return Listing(by_itself=Present([remediation]))
    assert isinstance(remediation, Metal3Remediation)
    return Listing(power=Present([remediation]))


def status_of(remediation: AnyRemediation) -> StatusView:
    leaders = (leader("checker"), leader("remediator"))
    return status_view(Absent(), leaders, Present([check()]), listed(remediation), MachineListing(), NOON)


def explained(remediation: AnyRemediation) -> ExplainView:
    view = SimulatedCluster(
        a_snapshot([clusters.node(NODE), clusters.check("workers"), clusters.policy()]), SILENT
    ).view
    node = view.nodes.get(NODE)
    assert node is not None
    return explain_node(
        ExplainFacts(
            node=node,
            view=view,
            open_=worlds.facts(remediation) if isinstance(remediation, ManualRemediation) else None,
            elsewhere=(),
            leaders=(),
            now=NOON,
            power_cycle=remediation if isinstance(remediation, Metal3Remediation) else None,
            by_itself=remediation if isinstance(remediation, SelfRemediation) else None,
        )
    )


def reported_by_check(remediation: AnyRemediation) -> list[tuple[Level, str]]:
    return problems(assess(facts(remediations=Present([remediation]), now=NOON)))


@pytest.mark.attack("U1")
def test_every_command_reports_unserved_remediations() -> None:
    waiting = asked_for(121.0)
    view = explained(waiting)
    [row] = status_of(waiting).nodes

    assert (row.state, row.why) == ("Unserved", UNTOUCHED)
    assert list(render(status_of(waiting)))[-1] == f"Next: kubectl mend explain {NODE}"
    assert view.headline == f"{NODE} has a remediation that has not started. {UNTOUCHED}"
    assert [question.key for question in view.questions if question.answer is ExplainAnswer.HOLD] == [
        "remediating"
    ]
    assert view.advice.startswith("Enable its kind in the chart")
    [(level, said)] = reported_by_check(waiting)
    assert level is Level.FAIL
    assert said.startswith(f"{NODE}: {UNTOUCHED}")


@pytest.mark.parametrize(
    "remediation",
    [
        asked_for(119.0),
        asked_for(3600.0, finalizers=(well_known.SAFE_END,)),
        asked_for(3600.0, deletion_timestamp=written(-1.0)),
    ],
    ids=["somebody may be about to", "taken up", "withdrawn"],
)
def test_a_remediation_that_is_or_may_be_served_is_not_unserved(remediation: Metal3Remediation) -> None:
    assert [row.state == "Unserved" for row in status_of(remediation).nodes] == [False]
    assert not any("Nobody serves" in said for _, said in reported_by_check(remediation))
    assert "Nobody serves" not in explained(remediation).headline


@pytest.mark.attack("U3")
@pytest.mark.parametrize(
    "remediation",
    [
        a_power_cycle(metal3_remediation.Metal3RemediationPhase.CONTRADICTED),
        a_power_cycle(metal3_remediation.Metal3RemediationPhase.FAILED),
        by_itself(self_remediation.SelfRemediationPhase.CONTRADICTED),
        by_itself(self_remediation.SelfRemediationPhase.FENCING),
    ],
    ids=["after the release", "given up", "by itself, after the release", "broken off, and begun again"],
)
def test_workloads_that_may_run_twice_are_reported_completely_by_every_command(
    remediation: AnyRemediation,
) -> None:
    wrong = contradicted(remediation)
    [row] = status_of(wrong).nodes

    assert (row.state, row.why, row.may_need_a_person) == ("Contradicted", TWICE, True)
    assert explained(wrong).headline == f"{NODE} may run its workloads twice. {TWICE}"
    assert explained(wrong).next_step == f"kubectl mend tree {NODE}"
    assert (Level.FAIL, f"{NODE}: its workloads may run twice. {TWICE}") in reported_by_check(wrong)


@pytest.mark.attack("U3")
def test_workloads_that_may_run_twice_are_reported_once() -> None:
    wrong = contradicted(a_power_cycle(metal3_remediation.Metal3RemediationPhase.CONTRADICTED))
    [condition] = wrong.status.conditions
    message = "Boot b is alive. Its workloads may run twice. Switch it off."
    wrong = wrong.but(status=wrong.status.but(conditions=(condition.but(message=message),)))

    said = "Boot b is alive. Switch it off."
    assert explained(wrong).headline == f"{NODE} may run its workloads twice. {said}"
    assert (Level.FAIL, f"{NODE}: its workloads may run twice. {said}") in reported_by_check(wrong)


@pytest.mark.attack("U6")
def test_the_status_of_a_dry_run_shows_what_would_be_done() -> None:
    said = "The RemediationPolicy sets DryRun, so Nodemend only reports what it would do."
    would = "It would create a ManualRemediation in default (remedy 1 of 1); the guard would let it begin."
    report = TargetReport(name=NODE, verdict="Held", message=f"{said} {would} Set its mode to Act.")
    one = check()
    reported = one.but(status=one.status.but(targets=3, healthy=2, reports=(report,)))
    view = status_view(Absent(), (leader("checker"),), Present([reported]), Listing(), MachineListing(), NOON)

    assert [row.why for row in view.nodes] == [would]


@pytest.mark.attack("U4")
def test_a_check_without_remaining_nodes_reports_it_once_with_the_cause() -> None:
    stalled, shared = (
        Condition(
            type=type_,
            status=ConditionStatus.TRUE,
            reason="NoTargetsLeft",
            message=message,
            last_transition_time=written(-60.0),
        )
        for type_, message in (("Stalled", NOTHING_LEFT), ("Overlapping", "nhc/gpus has 3."))
    )
    one = check()
    reported = one.but(status=one.status.but(conditions=(stalled, shared)))
    view = status_view(Absent(), (leader("checker"),), Present([reported]), Listing(), MachineListing(), NOON)
    lines = list(render(view))

    assert [line for line in lines if line.startswith("Warning")] == ["Warning: nhc/workers: nhc/gpus has 3."]
    assert lines[-1] == "Next: kubectl mend check"


@pytest.mark.attack("U12")
def test_if_counts_and_rows_differ_the_next_step_is_to_read_again() -> None:
    one = check()
    reported = one.but(status=one.status.but(targets=3, healthy=2))
    view = status_view(Absent(), (leader("checker"),), Present([reported]), Listing(), MachineListing(), NOON)

    assert list(render(view))[-1] == "Next: kubectl mend status"


@pytest.mark.attack("U3")
def test_so_they_are_where_a_person_had_confirmed() -> None:
    wrong = contradicted(by_hand(manual_remediation.ManualRemediationPhase.CONTRADICTED))
    assert isinstance(wrong, ManualRemediation)
    assert explained(wrong).headline == f"{NODE} may run its workloads twice. {TWICE}"


@pytest.mark.attack("U8")
def test_a_check_that_could_not_act_is_warned_of_and_leads_to_what_is_wrong() -> None:
    stalled = Condition(
        type="Stalled",
        status=ConditionStatus.TRUE,
        reason="RemedyUnusable",
        message="Its template default/call does not exist.",
        last_transition_time=written(-60.0),
    )
    one = check()
    reported = one.but(status=one.status.but(conditions=(stalled,)))
    well = status_view(Absent(), (leader("checker"),), Present([reported]), Listing(), MachineListing(), NOON)

    assert "Warning: nhc/workers: Its template default/call does not exist." in render(well)
    assert list(render(well))[-1] == "Next: kubectl mend check"
