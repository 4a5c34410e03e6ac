"""An agent gets its certificate from the running signer, in virtual time."""

from collections.abc import Iterator

import pytest
from cryptography import x509

from nodemend.agent.certificates import CertificateHeld, CertificateStatus, NoBundle, NoCertificate
from nodemend.agent.certificates_io import CertificateLoop, MadeKey, NoKey
from nodemend.api import well_known
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST, SECRET
from nodemend.cmd.make_key import make
from nodemend.kube.request import Method
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.transport import SimulatedTransport
from tests.unit.signer.signer_world import SignerWorld, agent_on

MARK = "-----BEGIN CERTIFICATE REQUEST-----"


class Files:
    """The files on the node's disk, judged by the CA bundle in the cluster."""

    def __init__(self, world: SignerWorld) -> None:
        self.world = world
        self.kept: list[x509.Certificate] = []
        self.full = False

    def read_status(self) -> CertificateStatus:
        if not self.world.bundle:
            return NoBundle()
        if not self.kept or not self.world.accepted(self.kept[-1]):
            return NoCertificate()
        last = self.kept[-1]
        life = last.not_valid_after_utc - last.not_valid_before_utc
        left = last.not_valid_after_utc - self.world.scheduler.wall()
        return CertificateHeld(life.total_seconds(), left.total_seconds())

    def keep(self, certificate: str, key: str) -> bool:
        if self.full:
            raise OSError("no space left on device")
        assert key.startswith("-----BEGIN PRIVATE KEY-----")
        made = x509.load_pem_x509_certificate(certificate.encode())
        if not self.world.accepted(made):
            return False
        self.kept.append(made)
        return True


class KeyMaker:
    def __init__(self) -> None:
        self.broken = False
        self.name = ""
        """The name to request instead of the correct one; empty for the correct one."""

    async def make(self, name: str) -> MadeKey | NoKey:
        if self.broken:
            return NoKey("out of memory")
        key, mark, request = make(self.name or name).decode().partition(MARK)
        return MadeKey(key, mark + request)


class AgentWorld:
    def __init__(self, quality: LinkQuality = GOOD_LINK) -> None:
        self.world = SignerWorld(replicas=1)
        self.files, self.keys = Files(self.world), KeyMaker()
        self.reported: list[str] = []
        self.account = Account(self.world.server, agent_on("node-1"))
        self.process = SimulatedProcess(self.world.scheduler, "agent", HostClock())
        loop = CertificateLoop(
            node="node-1",
            runtime=self.process,
            transport=SimulatedTransport(Link(self.process, self.account, quality)),
            files=self.files,
            make_key=self.keys.make,
            tell=self.reported.append,
        )
        self.process.spawn(loop.run(), "certificate")

    def run(self, seconds: float) -> None:
        self.world.run(seconds)

    @property
    def requests(self) -> int:
        return len(self.world.admin.list(CERTIFICATE_SIGNING_REQUEST))

    def close(self) -> None:
        self.process.crash()
        self.world.close()


@pytest.fixture
def world() -> Iterator[AgentWorld]:
    found = AgentWorld()
    yield found
    found.close()


@pytest.mark.slow
def test_it_gets_a_certificate_and_requests_no_other_until_half_of_its_validity(world: AgentWorld) -> None:
    world.run(120.0)
    assert len(world.files.kept) == 1
    assert world.world.accepted(world.files.kept[0])
    world.run(3600.0)
    assert world.requests == 1
    assert world.reported == ["no authority is known yet", ""]


def test_a_certificate_that_is_no_longer_accepted_is_replaced(world: AgentWorld) -> None:
    world.run(120.0)
    world.world.admin.delete(SECRET, well_known.AGENT_AUTHORITY, well_known.SYSTEM_NAMESPACE)
    world.run(180.0)
    assert len(world.files.kept) == 2
    assert world.world.accepted(world.files.kept[1])


def test_a_denial_is_reported_with_its_message_and_not_retried_at_once(world: AgentWorld) -> None:
    world.keys.name = "node-2.agent.nodemend.io"
    world.run(240.0)
    assert world.requests == 1
    assert world.reported[-1] == (
        "WrongName: The request must name DNS node-1.agent.nodemend.io and nothing else;"
        " it names DNS node-2.agent.nodemend.io."
    )
    world.keys.name = ""
    world.run(600.0)
    assert len(world.files.kept) == 1
    assert world.reported[-1] == ""


def test_a_forbidden_request_is_reported_too(world: AgentWorld) -> None:
    world.account.forbidden.add((Method.POST, "certificatesigningrequests"))
    world.run(60.0)
    assert "has no right to POST" in world.reported[-1]
    assert world.requests == 0


def test_a_key_that_cannot_be_made_is_made_later(world: AgentWorld) -> None:
    world.keys.broken = True
    world.run(60.0)
    assert world.reported[-1] == "no key could be made: out of memory"
    world.keys.broken = False
    world.run(300.0)
    assert len(world.files.kept) == 1


def test_a_certificate_that_cannot_be_stored_is_requested_again(world: AgentWorld) -> None:
    world.files.full = True
    world.run(60.0)
    assert world.reported[-1].startswith("the certificate could not be kept")
    world.files.full = False
    world.run(300.0)
    assert len(world.files.kept) == 1


def test_lost_replies_make_no_second_request_beside_the_first() -> None:
    world = AgentWorld(LinkQuality(reply_lost=0.3, reset=0.2, lost=0.1))
    world.run(600.0)
    assert len(world.files.kept) == 1
    assert world.requests == 1
    world.close()
