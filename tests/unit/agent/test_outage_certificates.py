"""Agents with expired certificates query one another: real TLS on the loopback, by the shipped contexts."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nodemend.agent.certificates import CertificateHeld, NoBundle, NoCertificate
from nodemend.agent.certificates_io import CertificateFiles
from nodemend.agent.peer_http import PeerListener, TlsPeerClient, make_server
from nodemend.api.agent import KeyPair, PeerEntry, certified_name
from nodemend.cmd.make_key import make
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.protocol.peers import PeerReply
from nodemend.signer.crypto import CryptographySigner
from nodemend.signer.decide import Window

pytestmark = pytest.mark.attack("V1", "V7")
CERTIFICATE_SIGNER = CryptographySigner()
MARK = "-----BEGIN CERTIFICATE REQUEST-----"
HOUR = 3600.0
OVER = (-30 * HOUR, -6 * HOUR)
"""Validity of a certificate that expired six hours ago."""
GOOD = (-HOUR, 23 * HOUR)
BEFORE_THE_OUTAGE = (-20 * HOUR,)
"""The last settled contact, when both certificates were valid."""
SINCE_IT_WAS_OVER = (-HOUR,)


class Node:
    """A node's files, and the times of its last contact in seconds relative to now."""

    def __init__(self, folder: Path, name: str, contact: Sequence[float]) -> None:
        self.name = name
        self.pair, self.trust = folder / f"{name}.pem", folder / f"{name}.ca"
        self.wall_error = 0.0
        self.files = CertificateFiles(name, str(self.pair), str(self.trust), time.monotonic, self.wall)
        self.trusted_at = tuple(time.time() + one for one in contact)

    def wall(self) -> float:
        return time.time() + self.wall_error

    def show(self, by: KeyPair, window: tuple[float, float], name: str = "") -> None:
        key, _, request = make(certified_name(self.name)).decode().partition(MARK)
        begins, ends = (time.time() + one for one in window)
        signed = CERTIFICATE_SIGNER.certify(
            (MARK + request).encode(), certified_name(name or self.name), Window(begins, ends), by
        )
        self.pair.write_text(signed + key)
        self.trust.write_text(by.certificate)

    def believe(self, shown: object) -> object:
        return self.files.evaluate(shown, self.trusted_at)  # type: ignore[arg-type]


def authority(*, over: bool = False) -> KeyPair:
    ends = -HOUR if over else 90 * 24 * HOUR
    return CERTIFICATE_SIGNER.make_authority(Window(time.time() - 90 * 24 * HOUR, time.time() + ends))


@asynccontextmanager
async def serving(node: Node, answer: PeerReply) -> AsyncIterator[str]:
    async def responder(*_: object) -> PeerReply:
        return answer

    listener = socket.create_server(("127.0.0.1", 0))
    server = make_server(responder, node.believe)  # type: ignore[arg-type]
    door = PeerListener(listener, node.files.server_tls, server, node.believe)  # type: ignore[arg-type]
    task = asyncio.create_task(door.run())
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.shutdown(1.0)
        listener.close()


def asked(asker: Node, peer: Node, answer: PeerReply) -> PeerReply:
    """The answer that the asker accepts from a peer that answers this."""

    async def story() -> PeerReply:
        runtime = AsyncioRuntime()
        client = TlsPeerClient("uid", "boot", runtime, asker.files.client_tls, asker.believe)  # type: ignore[arg-type]
        try:
            async with serving(peer, answer) as address:
                entry = PeerEntry(name=peer.name, address=address)
                return {name: said async for name, said in client.ask((entry,), runtime.monotonic() + 3.0)}[
                    peer.name
                ]
        finally:
            await client.close()

    return asyncio.run(story())


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Node, Node]:
    return Node(tmp_path, "asker", BEFORE_THE_OUTAGE), Node(tmp_path, "peer", BEFORE_THE_OUTAGE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asker_shows", "peer_shows"), [(OVER, OVER), (GOOD, OVER), (OVER, GOOD)], ids=["both", "peer", "asker"]
)
def test_an_expired_certificate_may_only_report_that_the_api_is_out_of_reach(
    pair: tuple[Node, Node], asker_shows: tuple[float, float], peer_shows: tuple[float, float]
) -> None:
    asker, peer = pair
    by = authority()
    asker.show(by, asker_shows)
    peer.show(by, peer_shows)

    said = {answer: asked(asker, peer, answer) for answer in PeerReply}

    assert said.pop(PeerReply.API_OUT_OF_REACH) is PeerReply.API_OUT_OF_REACH
    assert set(said.values()) == {PeerReply.SILENT}


@pytest.mark.slow
def test_valid_certificates_may_give_every_answer(pair: tuple[Node, Node]) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)

    assert {answer: asked(*pair, answer) for answer in PeerReply} == {answer: answer for answer in PeerReply}


@pytest.mark.slow
@pytest.mark.parametrize("who", [0, 1], ids=["asker", "peer"])
def test_a_certificate_that_had_expired_at_the_last_contact_may_report_nothing(
    tmp_path: Path, who: int
) -> None:
    """A node with contact since then would have renewed its certificate, so a stolen key does not stay
    usable.
    """
    contacts = [BEFORE_THE_OUTAGE, BEFORE_THE_OUTAGE]
    contacts[who] = SINCE_IT_WAS_OVER
    by = authority()
    asker, peer = (Node(tmp_path, name, contact) for name, contact in zip(("a", "b"), contacts, strict=True))
    for node in (asker, peer):
        node.show(by, OVER)

    assert asked(asker, peer, PeerReply.API_OUT_OF_REACH) is PeerReply.SILENT


@pytest.mark.slow
def test_before_a_boot_s_first_contact_an_expired_certificate_is_rejected(
    tmp_path: Path,
) -> None:
    by = authority()
    asker, peer = Node(tmp_path, "asker", ()), Node(tmp_path, "peer", BEFORE_THE_OUTAGE)
    for node in (asker, peer):
        node.show(by, OVER)

    assert asked(asker, peer, PeerReply.API_OUT_OF_REACH) is PeerReply.SILENT


def test_another_authority_or_another_name_may_report_nothing_valid_or_expired(
    pair: tuple[Node, Node],
) -> None:
    asker, peer = pair
    by = authority()
    asker.show(by, OVER)
    peer.show(authority(), OVER)
    assert asked(asker, peer, PeerReply.API_OUT_OF_REACH) is PeerReply.SILENT
    peer.show(by, OVER, name="another")
    assert asked(asker, peer, PeerReply.API_OUT_OF_REACH) is PeerReply.SILENT


@pytest.mark.slow
def test_a_certificate_of_an_expired_authority_is_limited_too(pair: tuple[Node, Node]) -> None:
    by = authority(over=True)
    for node in pair:
        node.show(by, GOOD)

    assert asked(*pair, PeerReply.HEALTHY) is PeerReply.SILENT
    assert asked(*pair, PeerReply.API_OUT_OF_REACH) is PeerReply.API_OUT_OF_REACH


@pytest.mark.slow
@pytest.mark.parametrize("days", [-40, 40])
def test_a_wall_clock_that_steps_leaves_the_same_answer(pair: tuple[Node, Node], days: float) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        node.wall_error = days * 24 * HOUR

    assert asked(*pair, PeerReply.API_OUT_OF_REACH) is PeerReply.API_OUT_OF_REACH
    assert asked(*pair, PeerReply.FENCE_NOW) is PeerReply.SILENT


@pytest.mark.slow
@pytest.mark.parametrize("how", ["deleted", "emptied", "spoiled"])
def test_without_its_bundle_a_node_uses_the_stored_one(pair: tuple[Node, Node], how: str) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        assert isinstance(node.files.read_status(), CertificateHeld)
        if how == "deleted":
            node.trust.unlink()
        else:
            node.trust.write_text("" if how == "emptied" else "a poem")
        assert node.files.read_status() == (NoBundle() if how == "deleted" else NoCertificate())

    assert asked(*pair, PeerReply.API_OUT_OF_REACH) is PeerReply.API_OUT_OF_REACH
    assert asked(*pair, PeerReply.HEALTHY) is PeerReply.SILENT


def test_a_stored_bundle_is_unused_if_another_authority_has_replaced_it(pair: tuple[Node, Node]) -> None:
    """As after a theft of the CA's key: no certificate that it signed is trusted any longer."""
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        assert isinstance(node.files.read_status(), CertificateHeld)
        node.trust.write_text(authority().certificate)
        assert node.files.read_status() == NoCertificate()

    assert asked(*pair, PeerReply.API_OUT_OF_REACH) is PeerReply.SILENT
