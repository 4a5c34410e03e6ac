"""Requests are counted by verb, resource and outcome, with the names that RBAC rules use."""

import pytest

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.kube.client import CountedTransport
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import Stream
from nodemend.kube.request import (
    EVERYTHING,
    Method,
    Precondition,
    Request,
    create,
    delete,
    get,
    list_page,
    merge_patch,
    watch,
)
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import Piece, ScriptedTransport

THIS = Precondition("uid", "1")


def counted(request: Request, reply: Reply | list[Piece], *, opened: bool = False) -> tuple[str, str, str]:
    """The labels that are counted if a request gets that reply."""
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "p", HostClock())
    counts: list[tuple[str, str, str]] = []
    transport = CountedTransport(
        ScriptedTransport(process, lambda _: reply), lambda *asked: counts.append(asked)
    )
    got: list[Stream | Reply] = []

    async def ask() -> None:
        got.append(await (transport.open if opened else transport.send)(request, 5.0))

    process.spawn(ask(), "ask")
    scheduler.run(1.0)
    assert got[0] == reply or isinstance(reply, list)
    [count] = counts
    return count


@pytest.mark.parametrize(
    ("request_", "verb", "resource"),
    [
        (get(NODE, "edge-07"), "get", "nodes"),
        (get(LEASE, "edge-07", "kube-node-lease"), "get", "leases"),
        (list_page(NODE, EVERYTHING, limit=500), "list", "nodes"),
        (create(LEASE, {}, "default", manager="m"), "create", "leases"),
        (
            merge_patch(
                MANUAL_REMEDIATION, "n", "d", change={}, only_if=THIS, manager="m", subresource="status"
            ),
            "patch",
            "manualremediations/status",
        ),
        (delete(MANUAL_REMEDIATION, "n", "d", only_if=THIS), "delete", "manualremediations"),
        (Request(Method.PUT, "/api/v1/nodes/n"), "update", "nodes"),
        (Request(Method.GET, "/version"), "get", "/version"),
    ],
)
def test_verb_and_resource(request_: Request, verb: str, resource: str) -> None:
    assert counted(request_, ApiResponse(200, b"{}")) == (verb, resource, "200")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [(ApiResponse(409, b""), "409"), (Unsent("refused"), "unsent"), (Unanswered("late"), "unanswered")],
)
def test_how_it_ended(reply: Reply, outcome: str) -> None:
    assert counted(get(NODE, "edge-07"), reply) == ("get", "nodes", outcome)
    asked = watch(NODE, EVERYTHING, version="1", seconds=60)
    assert counted(asked, reply, opened=True) == ("watch", "nodes", outcome)


def test_a_watch_counts_when_it_is_opened() -> None:
    asked = watch(NODE, EVERYTHING, version="1", seconds=60)

    assert counted(asked, [], opened=True) == ("watch", "nodes", "200")
