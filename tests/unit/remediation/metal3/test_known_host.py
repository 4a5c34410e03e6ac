"""A recorded host is identified by its UID, since another host may have taken its name."""

import msgspec
import pytest

from nodemend.api.metal3_remediation import TargetHost
from nodemend.api.upstream_types import BareMetalHost
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.metal3.host_lookup import Locator
from nodemend.safety.facts import Absent, Present, ReadResult
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

HELD = TargetHost(namespace="metal", name="h1", uid="host-1")


def known_host(uid: str) -> ReadResult[BareMetalHost]:
    """The read of a host of that name with this UID."""
    scheduler = Scheduler("known host")
    process = SimulatedProcess(scheduler, "remediator", HostClock())
    body = msgspec.json.encode({"metadata": {"namespace": "metal", "name": "h1", "uid": uid}})
    transport = ScriptedTransport(process, lambda _: ApiResponse(200, body))
    locate = Locator(LiveReader(ApiClient(transport, process), process))
    found: list[ReadResult[BareMetalHost]] = []

    async def observation() -> None:
        found.append(await locate.known_host(HELD))

    process.spawn(observation(), "look")
    scheduler.run(1.0)
    return found[0]


@pytest.mark.parametrize(("uid", "found"), [("host-1", Present), ("host-2", Absent)])
def test_only_exactly_the_recorded_host_is_found(uid: str, found: type) -> None:
    assert isinstance(known_host(uid), found)
