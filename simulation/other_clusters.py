"""Clusters other than the one in which a process runs: the Connector port over simulated links."""

import json
from collections.abc import Mapping
from typing import Final

from nodemend.kube.credentials import CredentialsError, StaticToken
from nodemend.kube.kubeconfig import read_foreign_kubeconfig
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.ports import CannotConnect
from nodemend.kube.request import Request
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.api_server.statuses import Refusal
from simulation.api_server.watching import SimulatedWatch
from simulation.network import GOOD_LINK, Link, LinkQuality
from simulation.processes import SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

AWAY: Final = LinkQuality(refused=1.0)


class OtherCluster:
    """An API server with a separate address. It accepts one token."""

    def __init__(self, scheduler: Scheduler, address: str) -> None:
        self.address = address
        self.token = "first"  # noqa: S105 - of a simulated server
        self.server = SimulatedApiServer(scheduler.wall)
        self.links: list[Link] = []
        """All links that were ever opened to it, in that order."""
        self.open = 0
        """Number of links that are open."""
        self._quality = GOOD_LINK
        self._hangs = False

    def kubeconfig(self) -> str:
        """Return a kubeconfig as Cluster API writes it, but in JSON, which is valid YAML."""
        return json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": self.address}}],
                "users": [{"name": "u", "user": {"token": self.token}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )

    def hang(self) -> None:
        """Accept all connections and requests, but never answer."""
        self._hangs = True
        for link in self.links:
            link.cut()

    def go_away(self) -> None:
        """Break open streams and refuse new connections."""
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
        """Refuse every other token from now on, and end the watches that were opened with it."""
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
    """Endpoint for a client with a token."""

    def __init__(self, cluster: OtherCluster, token: str) -> None:
        self._cluster = cluster
        self._token = token

    def handle(self, request: Request) -> ApiResponse:
        return self._refusal() or self._cluster.server.handle(request, ADMIN)

    def watch(self, request: Request) -> SimulatedWatch | ApiResponse:
        return self._refusal() or self._cluster.server.watch(request, ADMIN)

    def _refusal(self) -> ApiResponse | None:
        if self._token == self._cluster.token:
            return None
        return Refusal(401, "Unauthorized", "Unauthorized").as_answer(0.0)


class OwnedSimulatedTransport(SimulatedTransport):
    """A transport that its owner can close; after that, nothing passes through it."""

    def __init__(self, link: Link, cluster: OtherCluster) -> None:
        super().__init__(link)
        self._owned = link
        self._cluster = cluster

    async def close(self) -> None:
        self._owned.cut()
        self._cluster.open -= 1


class SimulatedConnector:
    """The Connector port of one process. `clusters` are by address."""

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
