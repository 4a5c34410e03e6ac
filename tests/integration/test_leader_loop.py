"""The election loop under asyncio, on a real API server."""

from collections.abc import Callable

import pytest

from controlplane.run import ControlPlane
from nodemend.kube.asyncio_runtime import run
from nodemend.kube.leader_election import LeaseTiming
from nodemend.kube.leader_runner import ElectionSettings, Leadership, lead
from nodemend.kube.request import LeaseAddress
from simulation.cluster.replicas import Silent
from tests.integration.connected_client import Connected, connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

QUICK = LeaseTiming(
    lease_duration=5, renew_deadline=3.9, stop_within=0.8, retry_period=0.2, request_timeout=1.5
)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/checker"


class Replica:
    """A campaign whose work says when it begins and when it has ended."""

    def __init__(self, here: Connected, name: str, story: list[str], winds_down_in: float = 0.1) -> None:
        self._here = here
        self._winds_down_in = winds_down_in
        self._name = name
        self._story = story
        self.epochs: list[int] = []
        settings = ElectionSettings(lease=LeaseAddress("checker", "default"), candidate=name, timing=QUICK)
        term = lead(here.runtime, here.transport, settings, self._work, Silent())
        self.task = here.runtime.spawn(term, name)

    async def _work(self, leadership: Leadership) -> None:
        self.epochs.append(leadership.epoch)
        self._story.append(f"{self._name} begins")
        try:
            await self._here.runtime.sleep(3600.0)
        finally:
            self._story.append(f"{self._name} winds down")
            await self._here.runtime.sleep(self._winds_down_in)
            self._story.append(f"{self._name} has ended")

    async def leads(self, times: int = 1) -> None:
        await self.until(lambda: len(self.epochs) >= times)

    async def until(self, holds: Callable[[], bool]) -> None:
        deadline = self._here.soon(60.0)
        while not holds():
            assert self._here.runtime.monotonic() < deadline, self._story
            await self._here.runtime.sleep(0.01)


def test_a_leader_that_leaves_ends_its_work_and_hands_over_in_no_time(api_server: ControlPlane) -> None:
    story: list[str] = []

    async def main() -> None:
        async with connected(api_server) as here:
            first = Replica(here, "a", story)
            await first.leads()
            second = Replica(here, "b", story)
            await here.runtime.sleep(3.0)
            first.task.cancel()
            await first.task.join()
            story.append(f"held by {api_server.api.get(LEASE)['spec']['holderIdentity']!r}")
            await second.leads()
            assert second.epochs[0] > first.epochs[0]
            second.task.cancel()
            await second.task.join()

    run(main())

    assert [line for line in story if "winds" not in line] == [
        "a begins",
        "a has ended",
        "held by ''",
        "b begins",
        "b has ended",
    ]


def test_a_deleted_lease_ends_the_term_and_the_next_has_a_higher_epoch(api_server: ControlPlane) -> None:
    story: list[str] = []

    async def main() -> Replica:
        async with connected(api_server) as here:
            only = Replica(here, "a", story)
            await only.leads()
            api_server.api.delete(LEASE)
            await only.leads(2)
            only.task.cancel()
            await only.task.join()
            return only

    only = run(main())

    assert story == ["a begins", "a winds down", "a has ended"] * 2
    assert only.epochs == sorted(set(only.epochs))


def test_leaving_while_the_work_winds_down_does_not_break_into_it(api_server: ControlPlane) -> None:
    story: list[str] = []

    async def main() -> None:
        async with connected(api_server) as here:
            only = Replica(here, "a", story, winds_down_in=0.5)
            await only.leads()
            api_server.api.delete(LEASE)
            await only.until(lambda: "a winds down" in story)
            only.task.cancel()
            await only.task.join()

    run(main())

    assert story == ["a begins", "a winds down", "a has ended"]
