"""A user who runs commands in the simulated world."""

from collections.abc import Callable, Coroutine, Iterable
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec

from generate.outputs import install_documents
from nodemend.api.resources import ADMISSION_BINDING, ADMISSION_POLICY
from nodemend.cli.cluster import Cluster
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server.admission import User
from simulation.api_server.server import SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

T = TypeVar("T")

EVERYTHING = ("list", "get", "patch", "create", "delete", "confirm", "configure", "override")


@cache
def shipped(kind: str) -> list[dict[str, Any]]:
    return [one for one in install_documents() if one["kind"] == kind]


class Served(Protocol):
    """Any simulated world that has an API server."""

    @property
    def server(self) -> SimulatedApiServer: ...

    @property
    def scheduler(self) -> Scheduler: ...


class Front:
    """One user's access to the simulated server.

    It adds what that server lacks: the caller's identity, and discovery.
    """

    def __init__(self, world: Served, user: str, verbs: Iterable[str], hidden: Iterable[str]) -> None:
        self._account = Account(world.server, User(user))
        self._account.forbidden |= {(Method.GET, plural) for plural in hidden}
        self._scheduler = world.scheduler
        self._user = user
        self._verbs = frozenset(verbs)
        self._unserved: set[str] = set()

    def stop_serving(self, plural: str) -> None:
        """As if its definition were not installed."""
        self._unserved.add(plural)

    def forbid(self, method: Method, plural: str) -> None:
        self._account.forbidden.add((method, plural))

    def handle(self, request: Request) -> ApiResponse:
        if self._unserved & set(request.path.split("/")):
            status = {"kind": "Status", "code": 404, "reason": "NotFound", "message": "404 page not found"}
            return ApiResponse(404, msgspec.json.encode(status))
        known = self._known(request)
        if known is None:
            return self._account.handle(request)
        return ApiResponse(200, msgspec.json.encode(known), server_time=self._scheduler.wall().timestamp())

    def watch(self, request: Request) -> SimulatedWatch | ApiResponse:
        return self._account.watch(request)

    def _known(self, request: Request) -> dict[str, Any] | None:
        match request.path.rpartition("/")[2]:
            case "version":
                return {"major": "1", "minor": "36", "gitVersion": "v1.36.3"}
            case "selfsubjectreviews":
                return {"status": {"userInfo": {"username": self._user}}}
            case "selfsubjectaccessreviews":
                attributes = msgspec.json.decode(request.body)["spec"]["resourceAttributes"]
                return {"status": {"allowed": attributes["verb"] in self._verbs}}
            case "validatingadmissionpolicies":
                return {"metadata": {}, "items": shipped(ADMISSION_POLICY.kind)}
            case "validatingadmissionpolicybindings":
                return {"metadata": {}, "items": shipped(ADMISSION_BINDING.kind)}
            case _:
                return None


class SimulatedCaller:
    """Runs the code of a command in virtual time."""

    def __init__(
        self, world: Served, user: str = "anna", verbs: Iterable[str] = EVERYTHING, hidden: Iterable[str] = ()
    ) -> None:
        """`hidden` are resources that the user may not read, by plural name."""
        self._world = world
        self._front = Front(world, user, verbs, hidden)
        self._commands = 0
        self._link: Link | None = None

    def cut(self) -> None:
        """The running command gets no further replies from the API server."""
        assert self._link is not None
        self._link.cut()

    def heal(self) -> None:
        assert self._link is not None
        self._link.heal()

    def stop_serving(self, plural: str) -> None:
        self._front.stop_serving(plural)

    def forbid_deletion(self, plural: str) -> None:
        self._front.forbid(Method.DELETE, plural)

    def run(self, act: Callable[[Cluster], Coroutine[Any, Any, T]], within: float = 60.0) -> T:
        """Return or raise what `act` does. `within` is the limit in virtual seconds."""
        self._commands += 1
        scheduler = self._world.scheduler
        process = SimulatedProcess(scheduler, f"command {self._commands}", HostClock())
        self._link = Link(process, self._front, GOOD_LINK)
        client = ApiClient(SimulatedTransport(self._link), process)
        cluster = Cluster(client, process, "nodemend-system")
        ended: list[T] = []

        async def work() -> None:
            ended.append(await act(cluster))

        task = process.spawn(work(), "command")
        scheduler.run(scheduler.now + within, stop=lambda: task.done)
        assert task.done, f"the command did not end within {within:.0f} s"
        if task.error is not None:
            raise task.error
        return ended[0]
