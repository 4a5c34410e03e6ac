"""The two servers under comparison, behind one interface."""

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Content, Request
from simulation.api_server.admission import User
from simulation.api_server.server import SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch
from tests.simulation.differential.steps import Outcome, Step

Event = dict[str, Any]
SECONDS_TO_ANSWER = 15.0
SECONDS_FOR_EVENTS = 10.0


class Side(Protocol):
    """One server."""

    def perform(self, step: Step) -> Outcome:
        """Run a step with resolved references. A watch stays open until `forget_watches`."""
        ...

    def set_time(self, moment: float | None) -> float:
        """Set the time of the following steps: `moment`, or now if it is None. Returns it."""
        ...

    def wait(self, seconds: float) -> None: ...

    def compact(self) -> None: ...

    def events(self, index: int, until: Callable[[Event], bool]) -> list[Event]:
        """Return the events of the `index`th watch step, up to one that satisfies `until`, or all."""
        ...

    def forget_watches(self) -> None: ...


class SimulatedSide:
    """The simulated server, at the wall-clock time of the real one."""

    def __init__(
        self, server: Callable[[Callable[[], datetime]], SimulatedApiServer], users: dict[str, User]
    ) -> None:
        self.clock = time.time()
        self.server = server(lambda: datetime.fromtimestamp(self.clock, UTC))
        self._users = users
        self._watches: list[SimulatedWatch | ApiResponse] = []

    def perform(self, step: Step) -> Outcome:
        body = b"" if step.body is None else _encoded(step.body)
        request = Request(step.verb, step.path, tuple(step.query.items()), body, Content(step.content))
        if not step.is_watch:
            return _outcome(self.server.handle(request, self._users[step.user]))
        opened = self.server.watch(request, self._users[step.user])
        self._watches.append(opened)
        return _outcome(opened) if isinstance(opened, ApiResponse) else Outcome(200, None)

    def set_time(self, moment: float | None) -> float:
        self.clock = time.time() if moment is None else moment
        return self.clock

    def wait(self, seconds: float) -> None:
        """Do nothing: the times of later steps include the wait."""

    def compact(self) -> None:
        self.server.compact(events=False)

    def events(self, index: int, until: Callable[[Event], bool]) -> list[Event]:
        watch = self._watches[index]
        lines = [] if isinstance(watch, ApiResponse) else watch.take()
        return _up_to([json.loads(line) for line in lines], until)

    def forget_watches(self) -> None:
        for watch in self._watches:
            if isinstance(watch, SimulatedWatch):
                watch.close()
        self._watches.clear()


def _up_to(events: list[Event], until: Callable[[Event], bool]) -> list[Event]:
    for index, event in enumerate(events):
        if until(event):
            return events[: index + 1]
    return events


def _encoded(body: Any) -> bytes:
    """Encode a body as JSON. A string is sent as it is, to test invalid JSON."""
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


def _outcome(answer: ApiResponse) -> Outcome:
    return Outcome(answer.status, parsed(answer.body), answer.retry_after)


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a real server and its etcd, and the admin's credentials."""

    port: int
    ca: Path
    token: str
    etcd_port: int


class RealSide:
    """A real kube-apiserver. Users other than the admin are impersonated."""

    def __init__(self, address: Address, users: dict[str, User], *, streaming_lists: bool = True) -> None:
        self.streaming_lists = streaming_lists
        self._address = address
        self._users = users
        self._tls = ssl.create_default_context(cafile=str(address.ca))
        self._connection = self._connect()
        self._watches: list[tuple[http.client.HTTPSConnection, http.client.HTTPResponse] | None] = []

    def close(self) -> None:
        self.forget_watches()
        self._connection.close()

    def reconnect(self) -> None:
        """Connect again after a restart of the server."""
        self._connection.close()
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self._address.port, timeout=SECONDS_TO_ANSWER, context=self._tls
        )

    def perform(self, step: Step) -> Outcome:
        if step.is_watch or step.query.get("resourceVersion"):
            self._freshen(step)
        connection = self._connect() if step.is_watch else self._connection
        response = self._send(connection, step)
        if step.is_watch and response.status == 200:
            self._watches.append((connection, response))
            return Outcome(200, None)
        retry_after = response.getheader("Retry-After")
        outcome = Outcome(
            response.status, parsed(response.read()), float(retry_after) if retry_after else None
        )
        if step.is_watch:
            self._watches.append(None)
            connection.close()
        return outcome

    def _send(self, connection: http.client.HTTPSConnection, step: Step) -> http.client.HTTPResponse:
        target = f"{step.path}?{urlencode(step.query)}" if step.query else step.path
        body = None if step.body is None else _encoded(step.body)
        connection.request(step.method, target, body, self._headers(step))
        return connection.getresponse()

    def _headers(self, step: Step) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._address.token}",
            "Content-Type": step.content,
            "Accept": "application/json",
            "User-Agent": "unknown/1",
        }
        user = self._users[step.user]
        if step.user != "admin":
            headers["Impersonate-User"] = user.name
        if user.groups and step.user != "admin":
            headers["Impersonate-Group"] = ",".join(user.groups)
        return headers

    def _freshen(self, step: Step) -> None:
        """Wait until the watch cache has caught up; it lags by milliseconds.

        A consistent list waits for that.
        """
        collection = step.path.split("/")
        if not step.is_watch and step.label == "get":
            collection = collection[:-1]
        self._send(self._connection, Step("list", path="/".join(collection), query={"limit": "1"})).read()

    def set_time(self, moment: float | None) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def compact(self) -> None:
        head = self._etcd("/v3/kv/range", {"key": base64.b64encode(b"/").decode(), "count_only": True})
        self._etcd("/v3/kv/compaction", {"revision": head["header"]["revision"], "physical": True})

    def _etcd(self, path: str, body: object) -> Any:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._address.etcd_port, timeout=SECONDS_TO_ANSWER
        )
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def events(self, index: int, until: Callable[[Event], bool]) -> list[Event]:
        opened = self._watches[index]
        found: list[Event] = []
        if opened is None:
            return found
        connection, response = opened
        connection.sock.settimeout(SECONDS_FOR_EVENTS)
        try:
            while line := response.readline():
                found.append(json.loads(line))
                if until(found[-1]):
                    break
        except TimeoutError:
            found.append({"type": "SILENCE", "object": {}})
        return found

    def forget_watches(self) -> None:
        for opened in self._watches:
            if opened is not None:
                opened[0].close()
        self._watches.clear()
