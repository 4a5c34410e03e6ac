"""An unreadable object is never shown as healthy, and determines the exit code."""

from collections.abc import Callable
from typing import Any

import pytest

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.cli.check.assess import assess
from nodemend.cli.check.facts import gather as gather_check
from nodemend.cli.check.view import CheckView
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from nodemend.cli.listing import Listing, MachineListing
from nodemend.cli.node_report import gather_case
from nodemend.cli.probe import ProbeView, probe_view
from nodemend.cli.probe import gather as gather_probe
from nodemend.cli.read_commands import code_of
from nodemend.cli.read_commands import gather as gather_status
from nodemend.cli.status.view import StatusView, render, status_view
from nodemend.cli.stop import NotStopped, stop
from nodemend.cli.tree.branches import tree_view
from nodemend.cli.tree.view import TreeView
from nodemend.safety.facts import Present
from simulation.cluster.world import World
from tests.unit.cli.check.sound_facts import NOW, check, leader
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.cli.unhealthy_world import SICK, unhealthy_world

OURS = ("nodehealthchecks", "remediationpolicies", "manualremediations", "selfremediations")
NO_RIGHTS = (*OURS, "metal3remediations", "leases", "nodes", "pods", "volumeattachments", "remediationorders")
GOOD_NEWS = ("is healthy", "There is no", "nothing;", "Paused    no")


def _text(view: StatusView) -> str:
    return "\n".join(render(view))


@pytest.mark.attack("U2")
def test_without_rights_the_status_calls_nothing_healthy_and_fails() -> None:
    with unhealthy_world() as (world, _):
        view = SimulatedCaller(world, hidden=NO_RIGHTS).run(gather_status)

    said = _text(view)
    assert not [good for good in GOOD_NEWS if good in said]
    assert "Whether the nodes are healthy is not known" in said
    assert code_of(view) is ExitCode.WRONG
    assert said.splitlines()[-1] == "Next: kubectl mend check"


@pytest.mark.attack("U2")
@pytest.mark.parametrize("hidden", [*OURS, "leases"])
def test_each_unreadable_part_of_the_status_is_reported_and_is_a_failure(hidden: str) -> None:
    with unhealthy_world(until=30.0) as (world, caller):
        assert code_of(caller.run(gather_status)) is ExitCode.FINE
        view = SimulatedCaller(world, hidden=(hidden,)).run(gather_status)

    assert code_of(view) is ExitCode.WRONG
    assert not [good for good in GOOD_NEWS[:3] if good in _text(view)]
    assert "cannot be read" in view.unread[0]


async def _check(cluster: Cluster) -> CheckView:
    return assess(await gather_check(cluster))


async def _explain(cluster: Cluster) -> ExplainView:
    return explain_node(await gather_node(cluster, SICK))


async def _tree(cluster: Cluster) -> TreeView:
    return tree_view(await gather_case(cluster, SICK))


async def _probe(cluster: Cluster) -> ProbeView:
    return probe_view(await gather_probe(cluster, SICK))


@pytest.mark.attack("U2")
@pytest.mark.parametrize("read", [gather_status, _explain, _tree, _probe], ids=lambda one: one.__module__)
def test_a_missing_installation_is_reported(read: Callable[[Cluster], Any]) -> None:
    with unhealthy_world() as (_, caller):
        caller.stop_serving("nodehealthchecks")
        with pytest.raises(CommandFailure, match="Nodemend is not installed in this cluster") as ended:
            caller.run(read)

    assert (ended.value.code, ended.value.next_step) == (ExitCode.WRONG, "kubectl mend check")


@pytest.mark.attack("U2")
def test_without_rights_the_check_fails() -> None:
    with unhealthy_world() as (world, _):
        view = SimulatedCaller(world, verbs=(), hidden=NO_RIGHTS).run(_check)

    failing = [one.text for group in view.groups for one in group.findings if one.level == "FAIL"]
    assert sum("cannot be read" in text for text in failing) >= 5
    assert view.failures >= 5


@pytest.mark.attack("U2")
@pytest.mark.parametrize("hidden", ["selfremediations", "leases"])
def test_an_explanation_reports_a_missing_kind(hidden: str) -> None:
    with unhealthy_world(until=30.0) as (world, caller):
        whole = caller.run(_explain)
        view = SimulatedCaller(world, hidden=(hidden,)).run(_explain)

    assert whole.unread == ()
    assert any("cannot be read" in one for one in view.unread)
    answers = {row.key: row.answer for row in view.questions}
    assert (answers["remediating"] is ExplainAnswer.OPEN) == (hidden == "selfremediations")
    assert view.next_step == "kubectl mend check"


@pytest.mark.slow
@pytest.mark.attack("U2")
def test_a_tree_and_a_probe_report_a_missing_kind() -> None:
    with unhealthy_world() as (world, caller):
        assert not caller.run(_tree).incomplete
        assert SimulatedCaller(world, hidden=("nodehealthchecks",)).run(_tree).incomplete
        assert not SimulatedCaller(world, hidden=("pods",)).run(_tree).incomplete
        probe = SimulatedCaller(world, hidden=("nodehealthchecks",)).run(_probe)

    assert probe.unread
    assert "no NodeHealthCheck watches it" not in probe.headline


@pytest.mark.attack("U2")
def test_a_remediation_that_becomes_unreadable_does_not_count_as_ended() -> None:
    with unhealthy_world() as (world, _):
        caller = SimulatedCaller(world, hidden=("manualremediations",))
        old = ManualRemediation().but(
            metadata=ManualRemediation().metadata.but(
                name=SICK, namespace="nodemend-system", uid=_uid(world), resource_version="1"
            )
        )
        ended = caller.run(lambda cluster: stop(cluster, old, dry_run=False))

    assert isinstance(ended, NotStopped)
    assert "cannot be read" in ended.why


def _uid(world: World) -> str:
    found = world.admin_api.get(MANUAL_REMEDIATION, SICK, "nodemend-system")
    assert found is not None
    return str(found["metadata"]["uid"])


@pytest.mark.attack("U12")
def test_the_counts_and_the_sentence_do_not_contradict_each_other() -> None:
    """Right after a recovery the policy still counts a node that its check reports healthy."""
    well = check().but(status=check().status.but(targets=3, healthy=3))
    stale = RemediationPolicy()
    stale = stale.but(status=stale.status.but(targets=3, unhealthy=1))
    leaders = (leader("checker"), leader("remediator"))
    view = status_view(Present(stale), leaders, Present([well]), Listing(), MachineListing(), NOW)
    calm = stale.but(status=stale.status.but(unhealthy=0))
    later = status_view(Present(calm), leaders, Present([well]), Listing(), MachineListing(), NOW)

    assert "1 of 3 nodes not healthy" in _text(view)
    assert "Every watched node is healthy." not in _text(view)
    assert "1 node is not healthy by the counts above; no check reports which." in _text(view)
    assert "Every watched node is healthy." in _text(later)
