"""A list is of one moment, or it starts again."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from nodemend.api.resources import NODE
from nodemend.kube.client import ApiClient, list_all, take_all
from nodemend.kube.outcome import ApiResponse, Ok, ReadOutcome, Reason, Refused, Reply, ServerFault
from nodemend.records.node import NodeWire
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

T = TypeVar("T")

_EXPIRED = ApiResponse(410, b'{"message":"expired"}')


def _page(names: Sequence[str], token: str = "", version: str = "5") -> ApiResponse:
    items = [{"metadata": {"name": name}} for name in names]
    metadata = {"resourceVersion": version, "continue": token}
    return ApiResponse(200, msgspec.json.encode({"metadata": metadata, "items": items}))


def _list(*replies: Reply) -> tuple[ReadOutcome[list[NodeWire]], list[str]]:
    """The outcome of a list whose requests get these replies, and the continue tokens that it sent."""
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "client", HostClock())
    left = list(replies)
    transport = ScriptedTransport(process, lambda _: left.pop(0))
    outcomes: list[ReadOutcome[list[NodeWire]]] = []

    async def listing() -> None:
        client = ApiClient(transport, process)
        outcomes.append(await list_all(client, NODE, NodeWire, deadline=9.0))

    process.spawn(listing(), "list")
    scheduler.run(1.0)
    assert all(dict(request.query)["limit"] == "500" for _, request in transport.asked)
    return outcomes[0], [dict(request.query).get("continue", "") for _, request in transport.asked]


def _names(outcome: ReadOutcome[list[NodeWire]]) -> list[str]:
    assert isinstance(outcome, Ok)
    return [node.metadata.name for node in outcome.value]


def test_pages_are_followed_to_the_end() -> None:
    outcome, tokens = _list(_page(["a"], "t1"), _page(["b"], "t2"), _page(["c"]))

    assert _names(outcome) == ["a", "b", "c"]
    assert tokens == ["", "t1", "t2"]


def test_an_expired_token_starts_again_and_forgets_the_pages_of_another_moment() -> None:
    outcome, tokens = _list(_page(["a"], "t1"), _EXPIRED, _page(["b"], "t2"), _page(["c"], version="9"))

    assert _names(outcome) == ["b", "c"]
    assert tokens == ["", "t1", "", "t2"]


def test_a_list_that_always_expires_ends() -> None:
    outcome, tokens = _list(*[_page(["a"], "t1"), _EXPIRED] * 4)

    assert outcome == Refused(Reason.GONE, "expired")
    assert len(tokens) == 8


def test_a_failure_ends_the_list_with_nothing() -> None:
    outcome, _ = _list(_page(["a"], "t1"), ApiResponse(500, b'{"message":"sick"}'))

    assert outcome == ServerFault(500, "sick")


def _take(*replies: Reply) -> ReadOutcome[list[str]]:
    """The names of the Nodes that are not "a"."""
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "client", HostClock())
    left = list(replies)
    transport = ScriptedTransport(process, lambda _: left.pop(0))
    outcomes: list[ReadOutcome[list[str]]] = []

    def but_a(node: NodeWire) -> str | None:
        return node.metadata.name if node.metadata.name != "a" else None

    async def taking() -> None:
        client = ApiClient(transport, process)
        outcomes.append(await take_all(client, NODE, NodeWire, but_a, deadline=9.0))

    process.spawn(taking(), "take")
    scheduler.run(1.0)
    return outcomes[0]


def test_what_is_wanted_is_taken_of_all_pages_of_one_moment() -> None:
    assert _take(_page(["a", "b"], "t1"), _page(["c"])) == Ok(["b", "c"])
    assert _take(_page(["x"], "t1"), _EXPIRED, _page(["a", "b"], "t2"), _page(["c"])) == Ok(["b", "c"])


def test_of_half_a_list_nothing_is_taken() -> None:
    assert isinstance(_take(_page(["b"], "t1"), ApiResponse(500, b"")), ServerFault)
