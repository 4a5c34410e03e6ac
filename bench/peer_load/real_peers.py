"""Peers that have lost the API server, and query as the shipped agent does."""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final

from nodemend.agent.peer_http import TlsPeerClient, client_tls
from nodemend.api.agent import PeerEntry
from nodemend.api.well_known import AGENT_NAMESPACE
from nodemend.cmd.agent import PAIR
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.protocol.peers import CertificateTrust, PeerReply
from nodemend.protocol.timing import RenewalPace
from tests.e2e.agent_nodes.agent_node import AgentNode

_WITHIN: Final = RenewalPace().round_deadline
_EVERY: Final = _WITHIN
"""An agent that has lost the API server asks again when a round is over, no sooner."""


@dataclass(frozen=True)
class Heard:
    answer: PeerReply
    took: float

    @property
    def good(self) -> bool:
        """True if the Lease was checked, and the answer came in time."""
        return self.answer is PeerReply.HEALTHY and self.took <= _WITHIN


@dataclass
class Peer:
    node: AgentNode
    keeps: bool
    """It keeps its connection between queries."""
    answers: list[Heard] = field(default_factory=list)

    def place_lease(self) -> None:
        """Create it as its agent did, before it lost the API server."""
        self.node.plane.api.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.node.name, "namespace": AGENT_NAMESPACE},
                "spec": {"holderIdentity": self.node.name},
            }
        )

    def tls(self) -> ssl.SSLContext:
        pair = str(self.node.folder / "agent" / "tls" / PAIR)
        return client_tls(pair, pair, str(self.node.folder / "trust.crt"))

    async def ask(self, entry: PeerEntry, seconds: float, after: float) -> None:
        runtime, context = AsyncioRuntime(), self.tls()
        await asyncio.sleep(after)
        began = runtime.monotonic()
        client = TlsPeerClient(
            self.node.uid, self.node.boot_id, runtime, lambda: context, lambda _: CertificateTrust.FULL
        )
        while (asked_at := runtime.monotonic()) < began + seconds - after:
            async for _, answer in client.ask((entry,), asked_at + _WITHIN):
                self.answers.append(Heard(answer, runtime.monotonic() - asked_at))
            if not self.keeps:
                await client.close()
                client = TlsPeerClient(
                    self.node.uid,
                    self.node.boot_id,
                    runtime,
                    lambda: context,
                    lambda _: CertificateTrust.FULL,
                )
            await asyncio.sleep(max(0.0, asked_at + _EVERY - runtime.monotonic()))
        await client.close()


async def ask_for(peers: list[Peer], name: str, address: str, seconds: float) -> None:
    """Query at different times, spread evenly."""
    entry = PeerEntry(name=name, address=address)
    apart = _EVERY / len(peers)
    await asyncio.gather(*(peer.ask(entry, seconds, number * apart) for number, peer in enumerate(peers)))
