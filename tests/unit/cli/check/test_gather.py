"""The check in a simulated cluster that works."""

import pytest

from nodemend.api import well_known
from nodemend.api.resources import NODE_HEALTH_CHECK, SELF_REMEDIATION_TEMPLATE
from nodemend.cli.check.assess import assess
from nodemend.cli.check.facts import gather
from simulation.cluster.world import Shape, World
from tests.unit.cli.check.sound_facts import problems
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld


@pytest.mark.slow
def test_a_cluster_that_works_has_nothing_to_complain_about() -> None:
    world = World("check", Shape(machines=3, people=False))
    world.run(30.0)
    view = assess(SimulatedCaller(world).run(gather))
    world.close()

    assert not problems(view)
    assert view.fine == 13


def test_the_rights_are_those_that_the_api_server_reports() -> None:
    world = World("check", Shape(machines=1, replicas=0, people=False))
    facts = SimulatedCaller(world, "vera", verbs=("list", "get", "patch")).run(gather)

    assert facts.caller == "vera"
    assert facts.abilities == {
        "view": True,
        "pause": True,
        "stop": False,
        "run": False,
        "override": False,
        "confirm": False,
        "configure": False,
    }


@pytest.mark.slow
def test_agents_are_read_and_judged_by_what_the_template_in_use_accepts() -> None:
    world = FencingWorld("check", gated=False)
    template = {"spec": {"template": {"spec": {"accept": ["NoBootGate"]}}}}
    world.api.create(
        SELF_REMEDIATION_TEMPLATE, {"metadata": {"name": "reset"}, **template}, well_known.SYSTEM_NAMESPACE
    )
    remedy = {
        "apiVersion": SELF_REMEDIATION_TEMPLATE.api_version,
        "kind": SELF_REMEDIATION_TEMPLATE.kind,
        "name": "reset",
        "namespace": well_known.SYSTEM_NAMESPACE,
    }
    [check] = world.api.list(NODE_HEALTH_CHECK)
    change = {"spec": {"selector": {"matchLabels": None}, "remedies": [{"template": remedy}]}}
    world.api.patch(NODE_HEALTH_CHECK, check["metadata"]["name"], change)
    before = assess(SimulatedCaller(world.world).run(gather))
    world.cut_off()
    world.run(120.0)
    after = assess(SimulatedCaller(world.world).run(gather))
    world.close()

    assert before.fencing is not None
    assert after.fencing is not None
    assert [row.safe_time_seconds for row in before.fencing.nodes] == [72] * 5
    assert [row.node for row in after.fencing.nodes if row.agent == "silent"] == [SICK]
