"""A simulated cluster in which only the signer runs, with real keys and certificates."""

from base64 import b64decode, b64encode
from collections.abc import Coroutine
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from nodemend.api import keys
from nodemend.api.agent_authority import AuthorityRecord
from nodemend.api.group_versions import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, LEASE, SECRET
from nodemend.controllers.admission_proof import Admission
from nodemend.controllers.agent_signer.notary_shell import CryptographyNotary
from nodemend.controllers.signer import Signer, SignerObservers
from nodemend.kube.leader_loop import ElectionSettings, Unobserved
from nodemend.kube.leader_record import LeaseAddress
from nodemend.kube.ports import Runtime, Transport
from nodemend.testing.api_server import ADMIN, SimulatedApiServer, User
from nodemend.testing.api_server.admission import Attempt, PolicyDenial
from nodemend.testing.api_server.server import NAMESPACES
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.replicas import Replica, Silent
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import GOOD_LINK, LinkQuality
from nodemend.testing.scheduler import Scheduler
from tests.unit.controllers.agent_signer.requests import pkcs10, signing_request

SIGNER: Final = "system:serviceaccount:nodemend-system:nodemend-signer"
NOTARY: Final = CryptographyNotary()


class Recorder(Silent):
    """Remembers what was done with the authority, and why nothing could be signed."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.idles: list[str] = []

    def did(self, step: object) -> None:
        self.steps.append(type(step).__name__)

    def idle(self, why: str) -> None:
        if not self.idles or self.idles[-1] != why:
            self.idles.append(why)


def agent_on(node: str, pod: str = "nodemend-agent-x7k2p") -> User:
    extra = ((keys.NODE_OF_CALLER, (node,)), (keys.POD_OF_CALLER, (pod,)))
    return User(keys.AGENT_USER, ("system:serviceaccounts",), extra)


class SignerWorld:
    def __init__(
        self,
        seed: int | str = "signer",
        *,
        replicas: int = 2,
        quality: LinkQuality = GOOD_LINK,
        record: AuthorityRecord | None = None,
        bundle: str | None = None,
        admission: Admission | None = None,
    ) -> None:
        """`admission`: what the signer proves. While `pins_leases`, a policy leaves it its own Lease."""
        self.scheduler = Scheduler(seed)
        self.pins_leases = True
        self._admission = admission
        namespaces = (*NAMESPACES, keys.SYSTEM_NAMESPACE, keys.AGENT_NAMESPACE)
        self.server = SimulatedApiServer(
            self.scheduler.wall, namespaces=namespaces, rules={LEASE: (self._pin,)}
        )
        self.admin = Direct(Account(self.server, ADMIN))
        self.signer = Account(self.server, User(SIGNER))
        self.recorder = Recorder()
        self.programs: dict[str, Signer] = {}
        """By replica, whichever runs now."""
        if record is not None:
            self._place(record)
        if bundle is not None:
            body = {"metadata": {"name": keys.AGENT_TRUST}, "data": {"ca.crt": bundle}}
            self.admin.create(CONFIG_MAP, body, keys.AGENT_NAMESPACE)
        self._tick()
        self.replicas = [
            Replica(self.scheduler, f"signer-{number}", self._program, self.signer, quality)
            for number in range(replicas)
        ]
        for replica in self.replicas:
            replica.watch_over()

    def _program(self, runtime: Runtime, transport: Transport, name: str) -> Coroutine[Any, Any, None]:
        lease = LeaseAddress("nodemend-signer", keys.SYSTEM_NAMESPACE)
        election = ElectionSettings(lease=lease, candidate=name)
        observers = SignerObservers(Unobserved(), Silent(), self.recorder)
        signer = Signer(runtime, transport, election, observers, NOTARY, admission=self._admission)
        self.programs[name.partition(".")[0]] = signer
        return signer.run()

    def _pin(self, attempt: Attempt) -> list[PolicyDenial]:
        metadata = (attempt.new or attempt.old or {})["metadata"]
        if attempt.user.name != SIGNER or metadata["name"] == "nodemend-signer" or not self.pins_leases:
            return []
        return [PolicyDenial("nodemend-accounts", "nodemend-accounts", "its own Lease alone", "Forbidden")]

    def _place(self, record: AuthorityRecord) -> None:
        data = {"authority.json": b64encode(msgspec.json.encode(record)).decode()}
        body = {"metadata": {"name": keys.AGENT_AUTHORITY}, "data": data}
        self.admin.create(SECRET, body, keys.SYSTEM_NAMESPACE)

    def _tick(self) -> None:
        self.server.tick()
        self.scheduler.after(1.0, self._tick)

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def close(self) -> None:
        for replica in self.replicas:
            replica.process.crash()

    @property
    def now(self) -> float:
        return self.scheduler.wall().timestamp()

    @property
    def able(self) -> int:
        """How many replicas say that they can sign."""
        return sum(program.signs for program in self.programs.values())

    def ask(self, name: str, node: str = "node-1", content: bytes | None = None, **spec: Any) -> None:
        """As the agent on this node does."""
        wanted = content if content is not None else pkcs10(f"{node}.agent.nodemend.io")
        self.ask_as(agent_on(node), name, wanted, **spec)

    def ask_as(self, user: User, name: str, content: bytes, **spec: Any) -> None:
        api = Direct(Account(self.server, user))
        api.create(CERTIFICATE_SIGNING_REQUEST, signing_request(name, content, **spec))

    def status(self, name: str) -> dict[str, Any]:
        found = self.admin.get(CERTIFICATE_SIGNING_REQUEST, name)
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    def conditions(self, name: str) -> dict[str, str]:
        """Reasons by type."""
        return {one["type"]: one["reason"] for one in self.status(name).get("conditions", [])}

    def certificate(self, name: str) -> x509.Certificate | None:
        found = self.status(name).get("certificate")
        return x509.load_pem_x509_certificate(b64decode(found)) if found else None

    @property
    def record(self) -> AuthorityRecord | None:
        found = self.admin.get(SECRET, keys.AGENT_AUTHORITY, keys.SYSTEM_NAMESPACE)
        if found is None:
            return None
        return msgspec.json.decode(b64decode(found["data"]["authority.json"]), type=AuthorityRecord)

    @property
    def bundle(self) -> str:
        found = self.admin.get(CONFIG_MAP, keys.AGENT_TRUST, keys.AGENT_NAMESPACE)
        return "" if found is None else found["data"]["ca.crt"]

    def believed(self, certificate: x509.Certificate, bundle: str | None = None) -> bool:
        """Whether somebody with this bundle believes it now."""
        text = self.bundle if bundle is None else bundle
        if not text:
            return False
        store = Store(x509.load_pem_x509_certificates(text.encode()))
        verifier = PolicyBuilder().store(store).time(self.scheduler.wall()).build_client_verifier()
        try:
            verifier.verify(certificate, [])
        except x509.verification.VerificationError:
            return False
        return True
