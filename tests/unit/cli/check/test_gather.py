"""The check in a simulated cluster that works."""

from nodemend.cli.check.assess import assess
from nodemend.cli.check.gather import gather
from nodemend.testing.cluster.world import Shape, World
from tests.unit.cli.check.sound_facts import troubles
from tests.unit.cli.simulated_caller import SimulatedCaller


def test_a_cluster_that_works_has_nothing_to_complain_about() -> None:
    world = World("check", Shape(machines=3, people=False))
    world.run(30.0)
    view = assess(SimulatedCaller(world).run(gather))
    world.close()

    assert not troubles(view)
    assert view.fine == 13


def test_what_somebody_may_is_what_the_api_server_says() -> None:
    world = World("check", Shape(machines=1, replicas=0, people=False))
    facts = SimulatedCaller(world, "vera", verbs=("list", "get", "patch")).run(gather)

    assert facts.caller.name == "vera"
    assert facts.caller.abilities == {
        "view": True,
        "pause": True,
        "stop": False,
        "run": False,
        "override": False,
        "confirm": False,
        "configure": False,
    }
