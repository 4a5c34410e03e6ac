"""`stop` cancels a self-fencing, and reports what cannot be undone."""

from collections.abc import Iterator

import pytest

from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase
from nodemend.cli.cluster import Cluster
from nodemend.cli.listing import find_open
from nodemend.cli.stop import NotStopped, Stopped, stop, stopped_view
from tests.unit.cli.node_cases import by_itself, evidence
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld

BY_TIME = evidence(0.0, 0.0).but(class_="E4", host=None)
PENDING = by_itself(SelfRemediationPhase.PENDING)
FENCING = by_itself(SelfRemediationPhase.FENCING)
RELEASING = by_itself(SelfRemediationPhase.RELEASING, evidence=BY_TIME)
RECOVERING = by_itself(SelfRemediationPhase.RECOVERING, evidence=BY_TIME, released=True)


@pytest.fixture
def world() -> Iterator[FencingWorld]:
    found = FencingWorld("stop")
    found.cut_off()
    found.ask()
    yield found
    assert found.twice == []
    found.close()


@pytest.mark.parametrize(
    ("remediation", "ends"),
    [
        (PENDING, "ends at once; no reset was requested"),
        (
            FENCING,
            "ends once its marker is off; nothing was released, and the node may have reset itself",
        ),
        (
            RELEASING,
            "ends once its taint and its marker are off; what was released by then runs elsewhere",
        ),
        (
            RECOVERING,
            (
                "ends once its marker is off; its workloads run elsewhere, and nothing waits for the node"
                " any longer"
            ),
        ),
    ],
)
def test_how_each_ends(remediation: SelfRemediation, ends: str) -> None:
    assert stopped_view(remediation).ends == ends


def test_a_stopped_marked_remediation_removes_its_marker_and_releases_nothing(world: FencingWorld) -> None:
    world.run_until(lambda: world.marker is not None, 10.0)

    async def act(cluster: Cluster) -> Stopped | NotStopped | None:
        return await stop(cluster, await find_open(cluster, SICK), dry_run=False)

    assert isinstance(SimulatedCaller(world.world).run(act), Stopped)
    world.run_until(lambda: world.remediation is None, 60.0)

    assert world.marker is None
    assert not world.out_of_service
