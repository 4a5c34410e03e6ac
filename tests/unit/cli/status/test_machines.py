"""MachineHealthChecks in `status` beside NodeHealthChecks, as the checker reported on them."""

from nodemend.cli.read_commands import gather
from nodemend.cli.status.view import StatusView, render, without_ages
from nodemend.records.machine import OPENSHIFT
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import MachineWorld


def shown(world: MachineWorld) -> StatusView:
    return SimulatedCaller(world).run(gather)


def screen(view: StatusView) -> list[str]:
    """The lines below the leaders."""
    lines = list(render(view))
    return lines[lines.index("") + 1 :]


def test_a_machine_that_is_under_remediation_and_one_that_is_held(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(6)
    world.add_check(remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 2}})
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(70)
    one = shown(world)
    for name in ("m2", "m3"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(80)

    assert screen(one) == [
        "CHECK                 TARGETS   HEALTHY   REMEDIATING   MAY-BEGIN   WHY-NOT",
        "mhc/default/workers   6         5         1             yes",
        "",
        "MACHINE      NODE   STATE         FOR   CHECK     WHY",
        "default/m1   m1     Remediating   10s   workers   Ready=Unknown (Told) for 60 s.",
        "Next: kubectl mend check",
    ]
    closed = shown(world)
    (check,) = closed.machine_checks
    assert (check.targets, check.healthy, check.allowed) == (6, 3, False)
    assert check.why.startswith("Too many targets are unhealthy in ")
    assert [(row.machine, row.state) for row in closed.machines] == [
        ("default/m1", "Unhealthy"),
        ("default/m2", "Unhealthy"),
        ("default/m3", "Unhealthy"),
    ]


def test_what_is_counted_and_not_written_down_is_said_to_be(new_world: NewWorld) -> None:
    world = new_world(mode="DryRun")
    world.add_pool(4)
    world.add_check()
    world.start()
    well = shown(world)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(90)

    assert "Every watched Machine is healthy." in screen(well)
    assert "1 Machine is not healthy by the counts above, with nothing written on them." in screen(
        shown(world)
    )


def test_a_check_of_another_project_is_not_shown(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(2)
    world.add_check(claimed=False)
    world.start()

    assert (shown(world).machine_checks, shown(world).machines) == ((), ())


def test_on_openshift_machines_nothing_is_written_so_nothing_is_known_of_each(new_world: NewWorld) -> None:
    world = new_world(OPENSHIFT, "v1beta1")
    world.add_pool(4)
    world.add_check()
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(90)
    view = shown(world)

    (check,) = view.machine_checks
    assert (check.targets, check.healthy, check.remediating) == (4, 3, None)
    assert (view.machines, view.machines_untold) == ((), 1)


def test_the_last_ended_remediations_are_shown_with_their_machine(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(6)
    world.add_check(template=True)
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(90)
    world.set_condition("m1", "Ready", "True")
    world.run(40)

    (past,) = shown(world).past
    assert (past.node, past.outcome, past.kind, past.check) == (
        "machine/default/m1",
        "Healed",
        "Metal3Remediation",
        "mhc/workers",
    )
    assert past.took is not None
    assert 29.0 <= past.took <= 32.0


def test_time_alone_changes_nothing(new_world: NewWorld) -> None:
    world = new_world()
    world.add_pool(6)
    world.add_check()
    world.start()
    world.set_condition("m1", "Ready", "Unknown")
    world.run(80)
    before = shown(world)
    world.run(30)
    after = shown(world)

    assert before != after
    assert without_ages(before) == without_ages(after)
