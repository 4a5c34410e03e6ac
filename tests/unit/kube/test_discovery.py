"""The resource of a kind."""

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.client import ApiClient, find_resource
from nodemend.kube.outcome import ApiResponse, ReadFailure, Refused, Reply
from nodemend.kube.request import Request
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import Piece, ScriptedTransport

SERVED = msgspec.json.encode(
    {
        "kind": "APIResourceList",
        "resources": [
            {"name": "reboots/status", "kind": "Reboot", "namespaced": True, "verbs": ["get"]},
            {"name": "reboots", "kind": "Reboot", "namespaced": True, "verbs": ["get"]},
            {"name": "racks", "kind": "Rack", "namespaced": False, "verbs": ["get"]},
        ],
    }
)


def ask(api_version: str, kind: str, reply: Reply) -> tuple[Resource | ReadFailure | None, str]:
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "p", HostClock())

    def script(_request: Request) -> Reply | list[Piece]:
        return reply

    transport = ScriptedTransport(process, script)
    found: list[Resource | ReadFailure | None] = []

    async def act() -> None:
        client = ApiClient(transport, process)
        found.append(await find_resource(client, api_version, kind, deadline=process.monotonic() + 5))

    process.spawn(act(), "ask")
    scheduler.run(10.0)
    return found[0], transport.asked[0][1].path


def test_a_kind_is_found_by_its_name_and_not_by_that_of_a_subresource() -> None:
    found, path = ask("example.com/v1", "Reboot", ApiResponse(200, SERVED))
    assert found == Resource("example.com", "v1", "Reboot", "reboots")
    assert path == "/apis/example.com/v1"


def test_its_scope_is_what_the_server_says() -> None:
    found, _ = ask("example.com/v1", "Rack", ApiResponse(200, SERVED))
    assert found == Resource("example.com", "v1", "Rack", "racks", namespaced=False)


def test_the_core_group_has_a_separate_path() -> None:
    _, path = ask("v1", "Node", ApiResponse(200, SERVED))
    assert path == "/api/v1"


def test_a_missing_kind_is_absent_and_a_missing_version_is_refused() -> None:
    assert ask("example.com/v1", "Fence", ApiResponse(200, SERVED))[0] is None
    assert isinstance(ask("example.com/v9", "Fence", ApiResponse(404, b"404 page not found\n"))[0], Refused)
