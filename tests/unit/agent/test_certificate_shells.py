"""An agent's certificate as files and as TLS: real keys, real handshakes, and so the real clock."""

import asyncio
import ssl
import time
from pathlib import Path

import pytest

from nodemend.agent.certificates import CertificateHeld, NoBundle, NoCertificate
from nodemend.agent.certificates_io import (
    CertificateFiles,
    MadeKey,
    NoCertificateError,
    make_key_in_child,
    shake_hands,
)
from nodemend.api.agent import KeyPair, certified_name
from nodemend.cmd.make_key import make
from nodemend.signer.crypto import CryptographySigner
from nodemend.signer.decide import RequestContent, Window

CERTIFICATE_SIGNER = CryptographySigner()
NAME = certified_name("node-1")
MARK = "-----BEGIN CERTIFICATE REQUEST-----"


class Agent:
    """One node's files, and a clock that only moves when it is set."""

    def __init__(self, folder: Path, node: str = "node-1") -> None:
        self.now = 0.0
        self.pair, self.trust = folder / f"{node}.pem", folder / "ca.crt"
        self.name = certified_name(node)
        self.files = CertificateFiles(node, str(self.pair), str(self.trust), lambda: self.now, time.time)

    def believe(self, *authorities: KeyPair) -> None:
        self.trust.write_text("".join(one.certificate for one in authorities))

    def issue(self, by: KeyPair, *, name: str = "", begins: float = -60, ends: float = 600) -> bool:
        key, _, request = make(self.name).decode().partition(MARK)
        window = Window(time.time() + begins, time.time() + ends)
        return self.files.keep(
            CERTIFICATE_SIGNER.certify((MARK + request).encode(), name or self.name, window, by), key
        )


def authority() -> KeyPair:
    return CERTIFICATE_SIGNER.make_authority(Window(time.time() - 60, time.time() + 3600))


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


def test_without_files_there_is_no_tls(agent: Agent) -> None:
    assert agent.files.read_status() == NoBundle()
    agent.believe(authority())
    assert agent.files.read_status() == NoCertificate()
    for tls in (agent.files.server_tls, agent.files.client_tls):
        with pytest.raises(NoCertificateError, match="no certificate of node-1"):
            tls()


def test_a_certificate_is_held_until_its_expiry(agent: Agent) -> None:
    ours = authority()
    agent.believe(ours)
    agent.issue(ours)
    held = agent.files.read_status()
    assert isinstance(held, CertificateHeld)
    assert held.life == pytest.approx(660, abs=2)
    assert held.left == pytest.approx(600, abs=30)


def test_only_its_owner_reads_the_key(agent: Agent) -> None:
    ours = authority()
    agent.believe(ours)
    assert agent.issue(ours)
    assert agent.issue(ours)
    assert agent.pair.stat().st_mode & 0o777 == 0o600
    agent.files.read_status()
    assert {file.name for file in agent.pair.parent.iterdir()} == {
        "node-1.pem",
        "node-1.pem.bundle",
        "ca.crt",
    }


def test_an_unacceptable_certificate_does_not_replace_the_current_one(agent: Agent) -> None:
    ours = authority()
    agent.believe(ours)
    assert agent.issue(ours)
    before = agent.pair.read_bytes()
    assert not agent.issue(ours, name=certified_name("node-2")), "another's name"
    assert not agent.issue(ours, begins=-600, ends=-60), "over"
    assert not agent.issue(ours, begins=300, ends=600), "not yet"
    assert not agent.issue(authority()), "of an authority that nobody knows"
    assert not agent.files.keep("a poem", "a key")
    assert agent.pair.read_bytes() == before
    assert {file.name for file in agent.pair.parent.iterdir()} == {"node-1.pem", "ca.crt"}
    assert isinstance(agent.files.read_status(), CertificateHeld)


def test_nor_does_a_key_that_is_not_its_own(agent: Agent) -> None:
    ours = authority()
    agent.believe(ours)
    assert agent.issue(ours)
    other, _, _ = make(agent.name).decode().partition(MARK)
    certificate = agent.pair.read_text().partition("-----BEGIN PRIVATE KEY-----")[0]
    assert not agent.files.keep(certificate, other)


def test_a_damaged_file_does_not_count_as_held(agent: Agent) -> None:
    agent.believe(authority())
    agent.pair.write_text("a poem")
    assert agent.files.read_status() == NoCertificate()


def test_a_bundle_without_its_authority_ends_it_however_young(agent: Agent) -> None:
    ours, others = authority(), authority()
    agent.believe(ours, others)
    agent.issue(ours)
    assert isinstance(agent.files.read_status(), CertificateHeld)
    agent.believe(others)
    assert agent.files.read_status() == NoCertificate()


def test_the_tls_context_is_rebuilt_when_a_file_changes_and_not_for_every_connection(agent: Agent) -> None:
    ours = authority()
    agent.believe(ours)
    agent.issue(ours)
    first = agent.files.server_tls()
    agent.now = 0.5
    agent.believe(ours, authority())
    assert agent.files.server_tls() is first, "it looks once a second"
    agent.now = 1.5
    second = agent.files.server_tls()
    assert second is not first
    agent.now = 3.0
    assert agent.files.server_tls() is second
    agent.issue(ours)
    assert agent.files.server_tls() is not second, "its own writes it knows of"


def test_during_an_authority_change_old_and_new_certificates_accept_each_other(tmp_path: Path) -> None:
    old, new = authority(), authority()
    one, other = Agent(tmp_path, "node-1"), Agent(tmp_path, "node-2")
    one.believe(old, new)
    assert one.issue(old)
    assert other.issue(new)
    for asks, answers in ((one, other), (other, one)):
        shown = shake_hands(answers.files.server_tls(), asks.files.client_tls(), answers.name)
        assert shown["subjectAltName"] == (("DNS", answers.name),)


def test_an_expired_certificate_cannot_resume_a_session_by_a_ticket(agent: Agent) -> None:
    """A resumed session would not present a certificate."""
    ours = authority()
    agent.believe(ours)
    agent.issue(ours)
    assert agent.files.server_tls().num_tickets == 0
    assert agent.files.server_tls().minimum_version is ssl.TLSVersion.TLSv1_3


def test_a_child_makes_a_key_and_a_request_that_the_signer_signs() -> None:
    made = asyncio.run(make_key_in_child(NAME))
    assert isinstance(made, MadeKey)
    assert made.key.startswith("-----BEGIN PRIVATE KEY-----")
    assert made.key not in repr(made)
    asked = CERTIFICATE_SIGNER.read(made.request.encode())
    assert asked == RequestContent(names=(("DNS", NAME),), subject="", key="P-256", proven=True)
