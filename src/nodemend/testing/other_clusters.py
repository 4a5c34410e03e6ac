"""Clusters beside the one that a process runs in: the Connector port over simulated links."""

import json
from collections.abc import Mapping
from typing import Final

from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.kube.credentials import CredentialsError, StaticToken
from nodemend.kube.foreign_kubeconfig import read_foreign_kubeconfig
from nodemend.kube.ports import CannotConnect
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.api_server.statuses import Refusal
from nodemend.testing.api_server.watching import SimulatedWatch
from nodemend.testing.network import GOOD_LINK, Link, LinkQuality
from nodemend.testing.processes import SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport

AWAY: Final = LinkQuality(refused=1.0)


class OtherCluster:
    """An API server with an address of its own. It takes one token."""

    def __init__(self, scheduler: Scheduler, address: str) -> None:
        self.address = address
        self.token = "first"  # noqa: S105 - of a simulated server
        self.server = SimulatedApiServer(scheduler.wall)
        self.links: list[Link] = []
        """All that were ever opened to it, in that order."""
        self.open = 0
        """How many of them are."""
        self._quality = GOOD_LINK
        self._hangs = False

    def kubeconfig(self) -> str:
        """As Cluster API writes it, but in JSON, which is YAML too."""
        return json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": self.address}}],
                "users": [{"name": "u", "user": {"token": self.token}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )

    def hang(self) -> None:
        """Accept whatever comes, and answer nothing any more."""
        self._hangs = True
        for link in self.links:
            link.cut()

    def go_away(self) -> None:
        """Break what is open, and refuse new connections."""
        self._quality = AWAY
        for link in self.links:
            link.quality = AWAY
        self.server.break_watches()

    def come_back(self) -> None:
        self._hangs, self._quality = False, GOOD_LINK
        for link in self.links:
            link.quality = GOOD_LINK
            link.heal()

    def take_only(self, token: str) -> None:
        """Refuse every other token from now on, and end what was opened with it."""
        self.token = token
        self.server.break_watches()

    def link_for(self, process: SimulatedProcess, token: str) -> Link:
        link = Link(process, _Door(self, token), self._quality)
        self.links.append(link)
        self.open += 1
        if self._hangs:
            link.cut()
        return link


class _Door:
    """The way in for whoever shows a token."""

    def __init__(self, cluster: OtherCluster, token: str) -> None:
        self._cluster = cluster
        self._token = token

    def handle(self, request: Request) -> Answer:
        return self._refusal() or self._cluster.server.handle(request, ADMIN)

    def watch(self, request: Request) -> SimulatedWatch | Answer:
        return self._refusal() or self._cluster.server.watch(request, ADMIN)

    def _refusal(self) -> Answer | None:
        if self._token == self._cluster.token:
            return None
        return Refusal(401, "Unauthorized", "Unauthorized").as_answer(0.0)


class OwnedSimulatedTransport(SimulatedTransport):
    """One that can be closed: then nothing comes through it any more."""

    def __init__(self, link: Link, cluster: OtherCluster) -> None:
        super().__init__(link)
        self._owned = link
        self._cluster = cluster

    async def close(self) -> None:
        self._owned.cut()
        self._cluster.open -= 1


class SimulatedConnector:
    """The Connector port of one process. `clusters` by their addresses."""

    def __init__(self, process: SimulatedProcess, clusters: Mapping[str, OtherCluster]) -> None:
        self._process = process
        self._clusters = clusters

    async def connect(self, kubeconfig: str) -> OwnedSimulatedTransport | CannotConnect:
        try:
            connection = read_foreign_kubeconfig(kubeconfig)
        except CredentialsError as error:
            return CannotConnect(str(error))
        cluster = self._clusters[connection.endpoint.server]
        shown = connection.bearer.token if isinstance(connection.bearer, StaticToken) else ""
        return OwnedSimulatedTransport(cluster.link_for(self._process, shown), cluster)
