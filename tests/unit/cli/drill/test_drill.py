"""A user makes a node reset itself in the simulated world, and reads the output."""

from collections.abc import Callable, Iterator

import pytest

from nodemend.api import well_known
from nodemend.api.resources import NODE, REMEDIATION_POLICY, SELF_REMEDIATION
from nodemend.cli.cluster import Cluster
from nodemend.cli.drill import BEGUN_WITHIN, DrilledView, DrillRun, DrillView, Outcome, prepare
from nodemend.cli.exit_codes import CommandFailure
from tests.unit.cli.simulated_caller import EVERYTHING, SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld


class Stage(FencingWorld):
    """The node is drained: its workloads run elsewhere."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.caller = SimulatedCaller(self.world, verbs=(*EVERYTHING, "drill"))
        self.reported: list[str] = []
        self.cordon()

    def cordon(self) -> None:
        self.api.patch(NODE, SICK, {"spec": {"unschedulable": True}})

    def read(self, *, with_workloads: bool = True) -> DrillView:
        async def act(cluster: Cluster) -> DrillView:
            return await prepare(cluster, SICK, with_workloads=with_workloads)

        return self.caller.run(act)

    def drill(self, wait: float = 900.0) -> DrilledView:
        shown = self.read()

        async def act(cluster: Cluster) -> DrilledView:
            return await DrillRun(cluster, shown, self.reported.append).run(wait, with_workloads=True)

        return self.caller.run(act, within=wait + 60.0)


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    stage = Stage(request.node.name)
    yield stage
    stage.close()


def test_its_watchdog_is_timed_and_the_node_is_back_in_service(stage: Stage) -> None:
    before = stage.sick.machine.boot_id
    drilled = stage.drill()

    assert drilled.outcome is Outcome.WITHIN
    assert drilled.reset_after_seconds == stage.sick.watchdog.effective
    assert drilled.new_boot_id not in ("", before)
    assert stage.sick.resets == 1
    assert stage.marker is None
    assert stage.node["status"]["conditions"][0]["status"] == "True"
    assert stage.twice == []


@pytest.mark.slow
def test_a_drill_measures_the_watchdog_reset_without_a_kernel_reboot(stage: Stage) -> None:
    """The node runs for as long as its feed lease and its watchdog allow; the drill measures that time."""
    drilled = stage.drill()

    assert drilled.back_after_seconds >= 35.0
    assert stage.reported[0] == f"{SICK} is marked: it may feed its watchdog for 35 s more"
    assert stage.reported[1].startswith(f"{SICK} reports a new boot after ")


def test_its_request_is_deleted_at_the_end(stage: Stage) -> None:
    stage.drill()
    stage.run_until(lambda: stage.remediation is None, within=60.0)

    assert not stage.out_of_service


def paused(stage: Stage) -> None:
    pause = {"reason": "a change"}
    stage.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": pause}})


def in_dry_run(stage: Stage) -> None:
    stage.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"mode": "DryRun"}})


def another_in_progress(stage: Stage) -> None:
    stage.api.create(
        SELF_REMEDIATION, {"metadata": {"name": "node-2"}, "spec": {}}, well_known.SYSTEM_NAMESPACE
    )


def cut_off(stage: Stage) -> None:
    stage.cut_off()
    stage.run(70.0)


def without_the_right(stage: Stage) -> None:
    stage.caller = SimulatedCaller(stage.world)


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (paused, "the guard would hold it."),
        (in_dry_run, "the guard would hold it."),
        (another_in_progress, "1 remediation is under way: node-2."),
        (cut_off, "the agent of node-1 does not report now."),
        (without_the_right, "anna may not have nodes reset themselves."),
    ],
)
def test_it_is_refused_and_nothing_is_reset(stage: Stage, happens: Callable[[Stage], None], why: str) -> None:
    happens(stage)
    with pytest.raises(CommandFailure) as refused:
        stage.read()

    assert refused.value.message.startswith(why)
    assert refused.value.message.endswith("Nothing was reset.")
    assert refused.value.next_step


def test_a_node_with_workloads_is_reset_only_with_the_option(stage: Stage) -> None:
    with pytest.raises(CommandFailure, match=f"still on {SICK}: "):
        stage.read(with_workloads=False)
    stage.api.patch(NODE, SICK, {"spec": {"unschedulable": False}})
    with pytest.raises(CommandFailure, match=f"{SICK} is not cordoned"):
        stage.read(with_workloads=False)

    assert stage.read(with_workloads=True).pods


def test_a_drill_that_does_not_begin_is_withdrawn(stage: Stage) -> None:
    """Another user pauses Nodemend after the preview, so the remediator holds it."""
    shown = stage.read()

    async def act(cluster: Cluster) -> DrilledView:
        drill = DrillRun(cluster, shown, stage.reported.append)
        stage.world.scheduler.after(0.5, lambda: paused(stage))
        return await drill.run(900.0, with_workloads=True)

    with pytest.raises(CommandFailure, match=r"it did not begin: .* Nothing was reset"):
        stage.caller.run(act, within=BEGUN_WITHIN + 60.0)
    stage.run_until(lambda: stage.remediation is None, within=60.0)
    assert stage.sick.resets == 0


def test_a_node_that_does_not_come_back_is_left_to_its_remediation(stage: Stage) -> None:
    shown = stage.read()

    async def act(cluster: Cluster) -> DrilledView:
        return await DrillRun(cluster, shown, stage.reported.append).run(20.0, with_workloads=True)

    with pytest.raises(CommandFailure, match="has not reported a new boot"):
        stage.caller.run(act, within=60.0)
    assert stage.remediation is not None
