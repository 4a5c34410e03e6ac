"""The reflector on a real API server: lists of both kinds, observed and unobserved deletions, restarts."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE, Settings
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.informer import run_reflector
from nodemend.kube.reflector import Reflector, ReflectorTimings
from nodemend.kube.request import Selection
from nodemend.kube.store import Change
from nodemend.records.node import NodeRecord, NodeWire, node_records
from tests.integration.connected_client import connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

QUICK = ReflectorTimings(backoff=Backoff(first=0.05, most=0.4), good_period=0.4)


class Watched:
    """A running reflector, its reported changes, and a way to wait for it."""

    def __init__(self, runtime: AsyncioRuntime, *, streaming: bool) -> None:
        self.reflector: Reflector[NodeWire, NodeRecord] = Reflector(
            node_records(), chance=runtime.random, timings=QUICK, streaming=streaming, of=Selection()
        )
        self.story: list[str] = []
        self._runtime = runtime
        self._heard = runtime.signal()

    def on_changes(self, changes: Sequence[Change[NodeRecord]]) -> None:
        for change in changes:
            verb = "came" if change.old is None else "went" if change.new is None else "changed"
            self.story.append(f"{change.key} {verb}")
        self._heard.set()

    async def until(self, holds: Callable[[], bool], within: float = 60.0) -> None:
        deadline = self._runtime.monotonic() + within
        while not holds():
            assert self._runtime.monotonic() < deadline, (self.story, self.reflector.failure)
            await self._heard.wait(within=0.1)

    @property
    def names(self) -> set[str]:
        return set(self.reflector.cache.keys())


@asynccontextmanager
async def watching(plane: ControlPlane, *, streaming: bool = True) -> AsyncIterator[Watched]:
    async with connected(plane) as here:
        watched = Watched(here.runtime, streaming=streaming)
        loop = here.runtime.spawn(
            run_reflector(watched.reflector, here.transport, here.runtime, watched.on_changes), "reflector"
        )
        try:
            await watched.until(lambda: watched.reflector.cache.synced_at is not None)
            yield watched
        finally:
            loop.cancel()
            await loop.join()


def _node(name: str, **labels: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


@pytest.mark.parametrize("streaming", [True, False])
def test_the_reflector_lists_existing_objects_and_follows_changes(
    api_server: ControlPlane, *, streaming: bool
) -> None:
    api = api_server.api
    api.create(_node("a"))

    async def main() -> list[str]:
        async with watching(api_server, streaming=streaming) as watched:
            api.create(_node("b"))
            api.patch(_path("a"), {"metadata": {"labels": {"zone": "x"}}})
            api.patch(_path("b"), {"status": {"images": []}, "metadata": {"annotations": {"noise": "1"}}})
            api.delete(_path("b"))
            await watched.until(lambda: "b went" in watched.story)
            assert watched.names == {"a"}
            assert not watched.reflector.unreadable
            return watched.story

    assert run(main()) == ["a came", "b came", "a changed", "b went"]


def test_a_server_without_streaming_lists_is_paged(start_control_plane: StartControlPlane) -> None:
    settings = Settings(controller_manager=False, scheduler=False, feature_gates={"WatchList": False})
    plane = start_control_plane(settings)
    plane.api.create(_node("a"))

    async def main() -> list[str]:
        async with watching(plane) as watched:
            plane.api.create(_node("b"))
            await watched.until(lambda: "b came" in watched.story)
            return watched.story

    assert run(main()) == ["a came", "b came"]


@pytest.mark.parametrize("streaming", [True, False])
def test_deletions_during_a_compaction_are_reported(
    start_control_plane: StartControlPlane, *, streaming: bool
) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    for name in ("stays", "goes", "returns"):
        plane.api.create(_node(name))
    plane.kubectl("create", "configmap", "x")

    async def main() -> list[str]:
        async with watching(plane, streaming=streaming) as watched:
            before = watched.reflector.cache.get("returns")
            # The watch is stopped here: from here on it gets no events.
            plane.pause("kube-apiserver")
            plane.etcd.change(put={}, delete={"/registry/minions/goes", "/registry/minions/returns"})
            plane.resume("kube-apiserver")
            plane.api.create(_node("returns"))
            plane.compact()
            plane.restart_api_server()
            plane.api.create(_node("last"))
            await watched.until(lambda: "last" in watched.names)
            after = watched.reflector.cache.get("returns")
            assert before is not None
            assert after is not None
            assert before.uid != after.uid
            assert watched.names == {"stays", "returns", "last"}
            return watched.story[3:]

    story = run(main())
    assert "goes went" in story
    assert story.index("returns went") < story.index("returns came")


def test_the_cache_reports_its_freshness(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with watching(api_server) as watched:
            runtime = AsyncioRuntime()
            cache = watched.reflector.cache
            await runtime.sleep(0.5)
            assert cache.age(runtime.monotonic()) >= 0.5
            before = runtime.monotonic()
            api_server.api.create(_node("a"))
            await watched.until(lambda: "a came" in watched.story)
            assert cache.age(now := runtime.monotonic()) < now - before

    run(main())
