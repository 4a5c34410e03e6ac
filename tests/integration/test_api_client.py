"""Every call, and every refusal that the client acts on, against a real API server."""

import gc
import warnings

import pytest

from controlplane.run import ControlPlane
from nodemend.api.meta import ObjectMeta, Wire
from nodemend.api.resources import LEASE, NODE
from nodemend.kube.asyncio_runtime import run
from nodemend.kube.client import Page, list_all, list_of, pages
from nodemend.kube.outcome import Acknowledged, Ok, Reason, Refused, Undecodable, WriteOutcome
from nodemend.kube.request import Precondition, Selection, apply, create, delete, get, list_page, merge_patch
from tests.integration.connected_client import Connected, connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

MANAGER = "nodemend-test"


class Spec(Wire):
    unschedulable: bool = False


class Node(Wire):
    metadata: ObjectMeta
    spec: Spec = Spec()


def _node(name: str, **labels: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


async def _created(here: Connected, name: str) -> Node:
    outcome = await here.client.write(create(NODE, _node(name), manager=MANAGER), Node, deadline=here.soon())
    assert isinstance(outcome, Ok)
    return outcome.value


async def _cordon(here: Connected, name: str, only_if: Precondition) -> WriteOutcome[Node]:
    request = merge_patch(
        NODE, name, change={"spec": {"unschedulable": True}}, only_if=only_if, manager=MANAGER
    )
    return await here.client.write(request, Node, deadline=here.soon())


def _of(node: Node) -> Precondition:
    return Precondition(node.metadata.uid, node.metadata.resource_version)


def _reason(outcome: object) -> Reason:
    assert isinstance(outcome, Refused), outcome
    assert outcome.message
    return outcome.reason


def test_an_object_is_created_read_changed_and_deleted(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            node = await _created(here, "n")
            cordoned = await _cordon(here, "n", _of(node))
            assert isinstance(cordoned, Ok)
            assert cordoned.server_time is not None
            read = await here.client.read(get(NODE, "n"), Node, deadline=here.soon())
            assert isinstance(read, Ok)
            assert read.value == cordoned.value
            assert read.value.spec.unschedulable
            gone = await here.client.write(
                delete(NODE, "n", only_if=_of(read.value)), Acknowledged, deadline=here.soon()
            )
            assert isinstance(gone, Ok)
            missing = await here.client.read(get(NODE, "n"), Node, deadline=here.soon())
            assert _reason(missing) is Reason.NOT_FOUND

    run(main())


def test_an_existing_name_is_distinguished_from_a_conflict(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            await _created(here, "n")
            again = await here.client.write(
                create(NODE, _node("n"), manager=MANAGER), Node, deadline=here.soon()
            )
            assert _reason(again) is Reason.ALREADY_EXISTS

    run(main())


def test_a_write_on_an_older_version_or_another_object_is_refused(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            first = await _created(here, "n")
            second = await _cordon(here, "n", _of(first))
            assert isinstance(second, Ok)
            stale, other = _of(first), Precondition("another-uid", _of(second.value).version)
            assert _reason(await _cordon(here, "n", stale)) is Reason.CONFLICT
            # In a patch the uid is a field of the object, and the server calls a different value invalid.
            assert _reason(await _cordon(here, "n", other)) is Reason.INVALID
            for precondition in (stale, other):
                request = delete(NODE, "n", only_if=precondition)
                outcome = await here.client.write(request, Acknowledged, deadline=here.soon())
                assert _reason(outcome) is Reason.CONFLICT

    run(main())


def test_an_object_that_took_the_name_is_not_written_to(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            first = await _created(here, "n")
            await here.client.write(delete(NODE, "n", only_if=_of(first)), Acknowledged, deadline=here.soon())
            await _created(here, "n")
            assert _reason(await _cordon(here, "n", _of(first))) in {Reason.CONFLICT, Reason.INVALID}

    run(main())


def test_applied_fields_are_owned_and_a_bad_value_is_invalid(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:

            async def lease(seconds: int) -> WriteOutcome[Acknowledged]:
                fields = {"spec": {"leaseDurationSeconds": seconds, "holderIdentity": "us"}}
                request = apply(LEASE, "l", "default", fields=fields, manager=MANAGER)
                return await here.client.write(request, Acknowledged, deadline=here.soon())

            assert isinstance(await lease(15), Ok)
            assert _reason(await lease(-1)) is Reason.INVALID

    run(main())


def test_a_reply_with_an_unexpected_type_is_undecodable(api_server: ControlPlane) -> None:
    class Wrong(Wire):
        metadata: str

    async def main() -> None:
        async with connected(api_server) as here:
            await _created(here, "n")
            outcome = await here.client.read(get(NODE, "n"), Wrong, deadline=here.soon())
            assert isinstance(outcome, Undecodable)

    run(main())


def test_a_long_list_comes_in_pages_and_whole(api_server: ControlPlane) -> None:
    for number in range(23):
        api_server.api.create(_node(f"n{number:02d}", odd=str(number % 2)))

    async def main() -> None:
        async with connected(api_server) as here:
            steps = [step async for step in pages(here.client, NODE, Node, deadline=here.soon(), limit=10)]
            assert [len(step.items) for step in steps if isinstance(step, Page)] == [10, 10, 3]
            odd = await list_all(here.client, NODE, Node, of=Selection(labels="odd=1"), deadline=here.soon())
            assert isinstance(odd, Ok)
            assert len(odd.value) == 11

    run(main())


def test_a_list_with_an_expired_version_starts_again(api_server: ControlPlane) -> None:
    for number in range(4):
        api_server.api.create(_node(f"n{number}"))

    async def main() -> list[str]:
        story = []
        async with connected(api_server) as here:
            first = True
            async for step in pages(here.client, NODE, Node, deadline=here.soon(120), limit=2):
                story.append(type(step).__name__)
                if first:
                    # Two revisions, since the server keeps the last one that it compacted to.
                    for name in ("x", "y"):
                        api_server.api.create(_node(name))
                    api_server.compact()
                    api_server.restart_api_server()
                    # Time to notice that the kept connection is closed: the client sends nothing twice.
                    await here.runtime.sleep(0.2)
                    first = False
        return story

    assert run(main()) == ["Page", "Restarted", "Page", "Page", "Page"]


def test_a_request_that_means_nothing_is_a_bad_one(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            bad = list_page(NODE, Selection(fields="nonsense=1"), limit=5)
            outcome = await here.client.read(bad, list_of(Node), deadline=here.soon())
            assert _reason(outcome) is Reason.BAD_REQUEST

    run(main())


def test_a_request_that_is_cancelled_while_it_connects_leaves_no_connection_open(
    api_server: ControlPlane,
) -> None:
    async def main(after: float) -> None:
        async with connected(api_server) as here:

            async def ask() -> None:
                await here.client.read(get(NODE, "n"), Node, deadline=here.soon())

            task = here.runtime.spawn(ask(), "ask")
            await here.runtime.sleep(after)
            task.cancel()
            await task.join()

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for step in range(200):
            run(main(after=step * 0.0001))
            gc.collect()
    assert [str(one.message) for one in warned] == []
