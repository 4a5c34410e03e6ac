"""Queries running agents with valid and invalid certificates: only valid ones get an answer."""

import http.client
import json
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodemend.agent.peer_http import PATH
from nodemend.api.agent import certified_name
from tests.e2e.self_fencing.cluster import Cluster
from tests.e2e.self_fencing.networks import PEER_PORT
from tests.unit.agent.certificates import Authority, Shown

_WITHIN: Final = 10.0
NO_ANSWER: Final = "no answer"
"""The result if the listener refuses the connection."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of the listener. `shown` is None for a client without a certificate."""

    what: str
    shown: Shown | None
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    welcome: bool = False

    def ask(self, cluster: Cluster, door: str, about: str) -> str:
        """The answer of one node's agent about another node, if its listener accepts the client."""
        host = cluster.networks.address(door)
        connection = http.client.HTTPSConnection(host, PEER_PORT, timeout=_WITHIN, context=self._tls(cluster))
        body = json.dumps(
            {"nonce": "n", "nodeUID": cluster.hosts[about].agent.uid, "bootID": _boot(cluster, about)}
        )
        try:
            connection.request("POST", PATH, body)
            reply = connection.getresponse()
            reported = reply.read()
        except (OSError, http.client.HTTPException):  # Includes ssl.SSLError.
            return NO_ANSWER
        finally:
            connection.close()
        return str(json.loads(reported)["answer"]) if reply.status == 200 else NO_ANSWER

    def _tls(self, cluster: Cluster) -> ssl.SSLContext:
        """The client accepts the agents' certificates, so that only the agents refuse."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cluster.folder / f"{cluster.authority.name}.crt")
        context.check_hostname = False
        context.maximum_version = self.newest
        if self.shown is not None:
            context.load_cert_chain(self.shown.certificate, self.shown.key)
        return context


def _boot(cluster: Cluster, node: str) -> str:
    boot = cluster.hosts[node].boot
    return boot.id if boot else ""


def callers(cluster: Cluster) -> list[Caller]:
    """Invalid clients, and one valid peer so that the refusals of the others prove something."""
    first = next(iter(cluster.hosts))
    name, ours = certified_name(first), cluster.authority
    stranger = Authority(cluster.folder, "stranger")
    valid = ours.issue(name, file="valid-caller")
    return [
        Caller("a peer's own certificate", valid, welcome=True),
        Caller("no certificate", None),
        Caller("one that is over", ours.issue(name, file="expired-caller", days=-1)),
        Caller("one of another authority", stranger.issue(name, file="strange-caller")),
        Caller("one that is of no agent", ours.issue("example.com", file="foreign-caller")),
        Caller("one of two nodes at once", ours.issue(name, certified_name("other"), file="double-caller")),
        Caller("a peer's own, by TLS 1.2", valid, ssl.TLSVersion.TLSv1_2),
        Caller("no certificate, by TLS 1.2", None, ssl.TLSVersion.TLSv1_2),
    ]


def try_doors(cluster: Cluster, say: Callable[[str], None]) -> tuple[int, int]:
    """Query every listener as every client: returns the number of refusals tried, and of wrong outcomes."""
    tried = wrong = 0
    for caller in callers(cluster):
        heard = [caller.ask(cluster, door, door) for door in cluster.hosts]
        shut = heard.count(NO_ANSWER)
        wrong += shut if caller.welcome else len(heard) - shut
        tried += 0 if caller.welcome else len(heard)
        say(f"  {caller.what}: {shut} of {len(heard)} doors stayed shut")
    return tried, wrong


def pair_of(shown: Shown, file: Path) -> Path:
    """Certificate and key in one file."""
    file.write_bytes(b"".join(Path(part).read_bytes() for part in (shown.certificate, shown.key)))
    return file
