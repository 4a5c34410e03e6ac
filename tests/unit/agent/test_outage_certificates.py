"""Agents whose certificates are over ask one another: real TLS on the loopback, by the shipped contexts."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from nodemend.agent.certificate import Held, NoBundle, NotHeld
from nodemend.agent.certificate_shell import CertificateFiles
from nodemend.agent.front_door_shell import FrontDoor
from nodemend.agent.peer_client_shell import TlsPeers
from nodemend.agent.peer_server_shell import make_server
from nodemend.api.agent_authority import KeyPair
from nodemend.api.agent_lease import PeerEntry
from nodemend.api.certified_names import certified_name
from nodemend.controllers.agent_signer.notary_shell import CryptographyNotary
from nodemend.decide.agent_certificate import Window
from nodemend.decide.peer_verdict import Answer
from nodemend.entrypoints.make_key import make
from nodemend.kube.asyncio_shell import AsyncioRuntime

pytestmark = pytest.mark.attack("V1", "V7")
NOTARY = CryptographyNotary()
MARK = "-----BEGIN CERTIFICATE REQUEST-----"
HOUR = 3600.0
OVER = (-30 * HOUR, -6 * HOUR)
"""From when to when its certificate was good: it is over for six hours."""
GOOD = (-HOUR, 23 * HOUR)
BEFORE_THE_OUTAGE = (-20 * HOUR,)
"""The last settled contact, when both were good."""
SINCE_IT_WAS_OVER = (-HOUR,)


class Node:
    """Its files, and when it last had contact: hours that are seconds from now."""

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
        signed = NOTARY.certify(
            (MARK + request).encode(), certified_name(name or self.name), Window(begins, ends), by
        )
        self.pair.write_text(signed + key)
        self.trust.write_text(by.certificate)

    def believe(self, shown: object) -> object:
        return self.files.judge(shown, self.trusted_at)  # type: ignore[arg-type]


def authority(*, over: bool = False) -> KeyPair:
    ends = -HOUR if over else 90 * 24 * HOUR
    return NOTARY.make_authority(Window(time.time() - 90 * 24 * HOUR, time.time() + ends))


@asynccontextmanager
async def serving(node: Node, answer: Answer) -> AsyncIterator[str]:
    async def desk(*_: object) -> Answer:
        return answer

    listener = socket.create_server(("127.0.0.1", 0))
    server = make_server(desk, node.believe)  # type: ignore[arg-type]
    door = FrontDoor(listener, node.files.server_tls, server, node.believe)  # type: ignore[arg-type]
    task = asyncio.create_task(door.run())
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.shutdown(1.0)
        listener.close()


def asked(asker: Node, peer: Node, answer: Answer) -> Answer:
    """What the asker takes from a peer that says this."""

    async def story() -> Answer:
        runtime = AsyncioRuntime()
        client = TlsPeers("uid", "boot", runtime, asker.files.client_tls, asker.believe)  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    ("asker_shows", "peer_shows"), [(OVER, OVER), (GOOD, OVER), (OVER, GOOD)], ids=["both", "peer", "asker"]
)
def test_a_certificate_that_is_over_says_only_that_the_api_is_out_of_reach(
    pair: tuple[Node, Node], asker_shows: tuple[float, float], peer_shows: tuple[float, float]
) -> None:
    asker, peer = pair
    by = authority()
    asker.show(by, asker_shows)
    peer.show(by, peer_shows)

    said = {answer: asked(asker, peer, answer) for answer in Answer}

    assert said.pop(Answer.API_OUT_OF_REACH) is Answer.API_OUT_OF_REACH
    assert set(said.values()) == {Answer.SILENT}


def test_certificates_that_last_say_everything(pair: tuple[Node, Node]) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)

    assert {answer: asked(*pair, answer) for answer in Answer} == {answer: answer for answer in Answer}


@pytest.mark.parametrize("who", [0, 1], ids=["asker", "peer"])
def test_one_that_was_over_at_the_last_contact_says_nothing(tmp_path: Path, who: int) -> None:
    """Whoever had contact since would have had it replaced: a key that was stolen once is not for ever."""
    contacts = [BEFORE_THE_OUTAGE, BEFORE_THE_OUTAGE]
    contacts[who] = SINCE_IT_WAS_OVER
    by = authority()
    asker, peer = (Node(tmp_path, name, contact) for name, contact in zip(("a", "b"), contacts, strict=True))
    for node in (asker, peer):
        node.show(by, OVER)

    assert asked(asker, peer, Answer.API_OUT_OF_REACH) is Answer.SILENT


def test_before_the_first_contact_of_a_boot_nobody_whose_certificate_is_over_is_believed(
    tmp_path: Path,
) -> None:
    by = authority()
    asker, peer = Node(tmp_path, "asker", ()), Node(tmp_path, "peer", BEFORE_THE_OUTAGE)
    for node in (asker, peer):
        node.show(by, OVER)

    assert asked(asker, peer, Answer.API_OUT_OF_REACH) is Answer.SILENT


def test_over_or_not_another_authority_or_another_name_says_nothing(pair: tuple[Node, Node]) -> None:
    asker, peer = pair
    by = authority()
    asker.show(by, OVER)
    peer.show(authority(), OVER)
    assert asked(asker, peer, Answer.API_OUT_OF_REACH) is Answer.SILENT
    peer.show(by, OVER, name="another")
    assert asked(asker, peer, Answer.API_OUT_OF_REACH) is Answer.SILENT


def test_what_an_authority_signed_that_is_over_itself_is_worth_as_little(pair: tuple[Node, Node]) -> None:
    by = authority(over=True)
    for node in pair:
        node.show(by, GOOD)

    assert asked(*pair, Answer.HEALTHY) is Answer.SILENT
    assert asked(*pair, Answer.API_OUT_OF_REACH) is Answer.API_OUT_OF_REACH


@pytest.mark.parametrize("days", [-40, 40])
def test_a_wall_clock_that_steps_leaves_the_same_answer(pair: tuple[Node, Node], days: float) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        node.wall_error = days * 24 * HOUR

    assert asked(*pair, Answer.API_OUT_OF_REACH) is Answer.API_OUT_OF_REACH
    assert asked(*pair, Answer.CONDEMNED) is Answer.SILENT


@pytest.mark.parametrize("how", ["deleted", "emptied", "spoiled"])
def test_without_its_bundle_a_node_goes_on_by_the_one_that_it_kept(pair: tuple[Node, Node], how: str) -> None:
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        assert isinstance(node.files.look(), Held)
        if how == "deleted":
            node.trust.unlink()
        else:
            node.trust.write_text("" if how == "emptied" else "a poem")
        assert node.files.look() == (NoBundle() if how == "deleted" else NotHeld())

    assert asked(*pair, Answer.API_OUT_OF_REACH) is Answer.API_OUT_OF_REACH
    assert asked(*pair, Answer.HEALTHY) is Answer.SILENT


def test_but_not_where_another_authority_has_replaced_it(pair: tuple[Node, Node]) -> None:
    """As after a theft of the authority's key: nothing that it signed is believed any more."""
    by = authority()
    for node in pair:
        node.show(by, GOOD)
        assert isinstance(node.files.look(), Held)
        node.trust.write_text(authority().certificate)
        assert node.files.look() == NotHeld()

    assert asked(*pair, Answer.API_OUT_OF_REACH) is Answer.SILENT
