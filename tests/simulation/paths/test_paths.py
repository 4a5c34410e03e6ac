"""The measured paths are deterministic, end in the awaited request, and leave unrelated work out."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from nodemend.api.resources import MANUAL_REMEDIATION, NODE
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Controller, Done, Outcome, RequeueAfter
from nodemend.kube.leader_election import LeaderLease
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Method, Request
from simulation.cluster.replicas import Silent
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.simulation.paths import __main__ as program
from tests.simulation.paths import tracing
from tests.simulation.paths.measured import Bar, path_to_release, path_to_remediation
from tests.simulation.paths.tracing import Flow, MeasuredPath, Tracer

ON_EVERY_PATH = (Reflector, Controller, ApiClient)


def file_of(type_: type) -> str:
    return str(inspect.getfile(type_)).removeprefix(f"{tracing.SOURCE}/")


@pytest.mark.parametrize(
    ("measure", "method", "resource", "sender"),
    [
        (path_to_remediation, Method.POST, MANUAL_REMEDIATION, "checker"),
        (path_to_release, Method.PATCH, NODE, "remediator"),
    ],
)
def test_a_path_is_deterministic_and_ends_in_the_awaited_request(
    measure: Callable[[], MeasuredPath], method: Method, resource: Any, sender: str
) -> None:
    path, again = measure(), measure()
    assert path == again
    assert path.request.method is method
    assert f"/{resource.plural}" in path.request.path
    assert path.sender.startswith(sender)
    assert {file_of(one) for one in ON_EVERY_PATH} <= set(path.files)
    assert file_of(LeaderLease) not in path.files
    assert all((tracing.SOURCE / file).is_file() for file in path.files)


class World:
    """One process with a controller, whose reconciles note the flow that they run for."""

    def __init__(self, outcomes: dict[str, list[Outcome]]) -> None:
        self.tracer = Tracer(lambda _data: False, lambda _request: False)
        self.scheduler = Scheduler(1)
        self.process = SimulatedProcess(self.scheduler, "one", HostClock())
        self.flows: dict[str, list[Flow | None]] = {}
        self._outcomes = outcomes
        self.loop: Controller[str] = Controller(
            self.process, self._reconcile, Silent(), lambda: (), workers=2
        )

    async def _reconcile(self, key: str) -> Outcome:
        await self.process.sleep(1.0)
        self.flows.setdefault(key, []).append(self.tracer._current)
        if key == "parent":
            child = self.process.spawn(self._child(), "child")
            self.loop.add("next")
            await child.join()
        outcomes = self._outcomes.get(key, [])
        return outcomes.pop(0) if outcomes else Done()

    async def _child(self) -> None:
        await self.process.sleep(1.0)
        self.flows.setdefault("child", []).append(self.tracer._current)

    def play(self, add: Callable[["World"], None]) -> None:
        with self.tracer.following():
            self.process.spawn(self.loop.run(), "loop")
            self.scheduler.run(1.0)
            add(self)
            self.scheduler.run(60.0)
        assert self.process.unjoined_failures == []

    def caused(self, key: str, cause: Flow) -> None:
        self.tracer.run(cause, lambda: self.loop.add(key))


def test_only_the_key_that_the_cause_added_is_followed() -> None:
    world, cause = World({}), Flow()

    def add(world: World) -> None:
        world.loop.add("unrelated")
        world.caused("related", cause)

    world.play(add)
    assert world.flows["unrelated"] == [None]
    (flow,) = world.flows["related"]
    assert flow is not None
    assert flow.before == (cause,)


def test_a_child_task_belongs_to_its_parent_and_an_added_key_to_the_next_flow() -> None:
    world = World({})
    world.play(lambda world: world.caused("parent", Flow()))
    (parent,), (child,), (added,) = (world.flows[name] for name in ("parent", "child", "next"))
    assert child is parent is not None
    assert added is not None
    assert added.before == (parent,)


def test_a_requeued_key_is_followed() -> None:
    world = World({"slow": [RequeueAfter(5.0)]})
    world.play(lambda world: world.caused("slow", Flow()))
    first, second = world.flows["slow"]
    assert second is not None
    assert second.before == (first,)


def test_a_path_has_the_files_of_all_flows_before_and_of_no_side_branch() -> None:
    cause = Flow(files={"a"})
    first, branch = Flow((cause,), {"b"}), Flow((cause,), {"x"})
    last = Flow((first, cause), {"c"})
    first.before = (cause, last)
    assert branch.path() == {"a", "x"}
    assert last.path() == {"a", "b", "c"}


@pytest.mark.parametrize(("files", "status"), [(2, 0), (3, 1)])
def test_the_program_fails_above_its_bar(
    files: int, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = MeasuredPath(("a", "b", "c")[:files], Request(Method.POST, "/x"), "checker")
    monkeypatch.setattr(program, "PATHS", ((Bar("one", 9, 2), lambda: path),))
    assert program.main() == status
    assert capsys.readouterr().out.splitlines()[-1] == f"paths: {files} files (at most 2, before 9)"
