"""The replies of a cluster, and which of them end a command."""

import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from nodemend.api.resources import MANUAL_REMEDIATION, NODE
from nodemend.api.upstream_types import Node
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import Acknowledged, ApiResponse, Reason, Refused, Reply, Unanswered, Unsent
from nodemend.kube.request import Precondition, Request, delete, merge_patch
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import EPOCH, Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

T = TypeVar("T")

NODE_BODY = json.dumps({"metadata": {"name": "edge-07"}}).encode()
REFUSED_BODY = json.dumps({"kind": "Status", "message": "you may not"}).encode()


def against(
    reply: Reply, act: Callable[[Cluster], Coroutine[Any, Any, T]]
) -> tuple[T | CommandFailure, list[Request]]:
    """The result if every request gets that reply."""
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "command", HostClock())
    transport = ScriptedTransport(process, lambda _: reply)
    ended: list[T | CommandFailure] = []

    async def work() -> None:
        try:
            ended.append(await act(Cluster(ApiClient(transport, process), process, "nodemend-system")))
        except CommandFailure as failure:
            ended.append(failure)

    process.spawn(work(), "command")
    scheduler.run(100.0)
    return ended[0], [request for _, request in transport.asked]


async def find_node(cluster: Cluster) -> ReadResult[Node]:
    return await cluster.find(NODE, "edge-07", Node)


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        (ApiResponse(404, REFUSED_BODY), Absent()),
        (ApiResponse(403, REFUSED_BODY), Unreadable("you may not")),
    ],
)
def test_a_refused_read_is_a_fact(reply: Reply, fact: ReadResult[Node]) -> None:
    assert against(reply, find_node)[0] == fact


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        (Unsent("connection refused"), ExitCode.NO_ANSWER, "no answer from the cluster: connection refused."),
        (Unanswered("deadline"), ExitCode.NO_ANSWER, "no answer from the cluster: deadline."),
        (ApiResponse(503, REFUSED_BODY), ExitCode.NO_ANSWER, "the API server failed with 503: you may not."),
        (
            ApiResponse(401, REFUSED_BODY),
            ExitCode.WRONG,
            "the API server rejected your credentials: you may not.",
        ),
    ],
)
def test_no_answer_ends_the_command(reply: Reply, code: ExitCode, message: str) -> None:
    failure, _ = against(reply, find_node)

    assert isinstance(failure, CommandFailure)
    assert (failure.code, failure.message) == (code, message)


CHANGE = merge_patch(NODE, "edge-07", change={}, only_if=Precondition("u", "1"), manager="m")


@pytest.mark.parametrize(
    ("reply", "reported"),
    [
        (Unsent("connection refused"), "Nothing was changed."),
        (Unanswered("deadline"), "it is unknown whether the change was applied"),
        (ApiResponse(500, REFUSED_BODY), "it is unknown whether the change was applied"),
    ],
)
def test_a_write_without_a_reply_reports_what_is_known(reply: Reply, reported: str) -> None:
    failure, _ = against(reply, lambda cluster: cluster.write(CHANGE, Acknowledged))

    assert isinstance(failure, CommandFailure)
    assert failure.code is ExitCode.NO_ANSWER
    assert reported in failure.message


def test_a_refused_write_is_for_the_command_to_judge() -> None:
    outcome, _ = against(ApiResponse(409, REFUSED_BODY), lambda cluster: cluster.write(CHANGE, Acknowledged))

    assert outcome == Refused(Reason.CONFLICT, "you may not")


def test_a_dry_run_is_requested_in_the_query() -> None:
    _, asked = against(
        ApiResponse(200, b"{}"), lambda cluster: cluster.write(CHANGE, Acknowledged, dry_run=True)
    )

    assert ("dryRun", "All") in asked[0].query


def test_a_dry_run_of_a_deletion_is_requested_in_the_body() -> None:
    removal = delete(MANUAL_REMEDIATION, "edge-07", "default", only_if=Precondition("u", "1"))
    _, asked = against(
        ApiResponse(200, b"{}"), lambda cluster: cluster.write(removal, Acknowledged, dry_run=True)
    )

    options = json.loads(asked[0].body)
    assert options["dryRun"] == ["All"]
    assert options["preconditions"] == {"uid": "u", "resourceVersion": "1"}


def test_the_time_is_the_api_server_s_advanced_by_the_local_clock() -> None:
    said = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

    async def read(cluster: Cluster) -> tuple[datetime, datetime]:
        before = cluster.now
        await cluster.find(NODE, "edge-07", Node)
        await cluster.runtime.sleep(7.0)
        return before, cluster.now

    times, _ = against(ApiResponse(200, NODE_BODY, server_time=said.timestamp()), read)

    assert times == (EPOCH, said.replace(second=7))


def test_a_command_fails_without_its_required_object() -> None:
    assert must_have(Present(3), "number") == 3
    for fact, reported in ((Absent(), "there is no node x."), (Unreadable("y"), "node x cannot be read: y.")):
        with pytest.raises(CommandFailure, match=reported) as failure:
            must_have(fact, "node x")
        assert failure.value.code is ExitCode.WRONG
