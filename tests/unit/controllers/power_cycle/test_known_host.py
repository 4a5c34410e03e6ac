"""The host that a remediation has recorded is known by its UID: another may have taken its name."""

import msgspec
import pytest

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.power_cycle import HeldHost
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.locate import Locator
from nodemend.decide.facts import Absent, Present, Seen
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_reply import Answer
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

HELD = HeldHost(namespace="metal", name="h1", uid="host-1")


def known_host(uid: str) -> Seen[BareMetalHost]:
    """What is found where a host of that name has this UID."""
    scheduler = Scheduler("known host")
    process = SimulatedProcess(scheduler, "remediator", HostClock())
    body = msgspec.json.encode({"metadata": {"namespace": "metal", "name": "h1", "uid": uid}})
    transport = ScriptedTransport(process, lambda _: Answer(200, body))
    locate = Locator(Reader(ApiClient(transport, process), process))
    found: list[Seen[BareMetalHost]] = []

    async def look() -> None:
        found.append(await locate.known_host(HELD))

    process.spawn(look(), "look")
    scheduler.run(1.0)
    return found[0]


@pytest.mark.parametrize(("uid", "found"), [("host-1", Present), ("host-2", Absent)])
def test_only_the_very_host_is_found(uid: str, found: type) -> None:
    assert isinstance(known_host(uid), found)
