"""A simulated cluster in which only the signer runs, with real keys and certificates."""

from base64 import b64decode, b64encode
from collections.abc import Coroutine
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from nodemend.api import well_known
from nodemend.api.agent import AuthorityRecord
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, LEASE, SECRET
from nodemend.guard.policy_proof import Admission
from nodemend.kube.leader_runner import ElectionSettings
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import LeaseAddress
from nodemend.signer.controller import Signer, SignerObservers
from nodemend.signer.crypto import CryptographySigner
from simulation.api_server.admission import ADMIN, Attempt, PolicyDenial, User
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Replica, Silent
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, LinkQuality
from simulation.scheduler import Scheduler
from tests.unit.signer.requests import pkcs10, signing_request

SIGNER: Final = "system:serviceaccount:nodemend-system:nodemend-signer"
CERTIFICATE_SIGNER: Final = CryptographySigner()


class Recorder(Silent):
    """Records the operations on the CA, and the reasons why nothing could be signed."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.idles: list[str] = []

    def did(self, step: object) -> None:
        self.steps.append(type(step).__name__)

    def idle(self, why: str) -> None:
        if not self.idles or self.idles[-1] != why:
            self.idles.append(why)


def agent_on(node: str, pod: str = "nodemend-agent-x7k2p") -> User:
    extra = ((well_known.NODE_OF_CALLER, (node,)), (well_known.POD_OF_CALLER, (pod,)))
    return User(well_known.AGENT_USER, ("system:serviceaccounts",), extra)


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
        """`admission`: the admission proofs of the signer.

        With `pins_leases`, a policy allows it only its own Lease.
        """
        self.scheduler = Scheduler(seed)
        self.pins_leases = True
        self._admission = admission
        namespaces = (*NAMESPACES, well_known.SYSTEM_NAMESPACE, well_known.AGENT_NAMESPACE)
        self.server = SimulatedApiServer(
            self.scheduler.wall, namespaces=namespaces, rules={LEASE: (self._pin,)}
        )
        self.admin = Direct(Account(self.server, ADMIN))
        self.signer = Account(self.server, User(SIGNER))
        self.recorder = Recorder()
        self.programs: dict[str, Signer] = {}
        """The running signer of each replica."""
        if record is not None:
            self._place(record)
        if bundle is not None:
            body = {"metadata": {"name": well_known.AGENT_TRUST}, "data": {"ca.crt": bundle}}
            self.admin.create(CONFIG_MAP, body, well_known.AGENT_NAMESPACE)
        self._tick()
        self.replicas = [
            Replica(self.scheduler, f"signer-{number}", self._program, self.signer, quality)
            for number in range(replicas)
        ]
        for replica in self.replicas:
            replica.watch_over()

    def _program(self, runtime: Runtime, transport: Transport, name: str) -> Coroutine[Any, Any, None]:
        lease = LeaseAddress("nodemend-signer", well_known.SYSTEM_NAMESPACE)
        election = ElectionSettings(lease=lease, candidate=name)
        observers = SignerObservers(Silent(), Silent(), self.recorder)
        signer = Signer(
            runtime, transport, election, observers, CERTIFICATE_SIGNER, admission=self._admission
        )
        self.programs[name.partition(".")[0]] = signer
        return signer.run()

    def _pin(self, attempt: Attempt) -> list[PolicyDenial]:
        metadata = (attempt.new or attempt.old or {})["metadata"]
        if attempt.user.name != SIGNER or metadata["name"] == "nodemend-signer" or not self.pins_leases:
            return []
        return [PolicyDenial("nodemend-accounts", "its own Lease alone", "Forbidden")]

    def _place(self, record: AuthorityRecord) -> None:
        data = {"authority.json": b64encode(msgspec.json.encode(record)).decode()}
        body = {"metadata": {"name": well_known.AGENT_AUTHORITY}, "data": data}
        self.admin.create(SECRET, body, well_known.SYSTEM_NAMESPACE)

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
        """The number of replicas that report that they can sign."""
        return sum(program.signs for program in self.programs.values())

    def ask(self, name: str, node: str = "node-1", content: bytes | None = None, **spec: Any) -> None:
        """Create a request as the agent on this node does."""
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
        """Reasons by condition type."""
        return {one["type"]: one["reason"] for one in self.status(name).get("conditions", [])}

    def certificate(self, name: str) -> x509.Certificate | None:
        found = self.status(name).get("certificate")
        return x509.load_pem_x509_certificate(b64decode(found)) if found else None

    @property
    def record(self) -> AuthorityRecord | None:
        found = self.admin.get(SECRET, well_known.AGENT_AUTHORITY, well_known.SYSTEM_NAMESPACE)
        if found is None:
            return None
        return msgspec.json.decode(b64decode(found["data"]["authority.json"]), type=AuthorityRecord)

    @property
    def bundle(self) -> str:
        found = self.admin.get(CONFIG_MAP, well_known.AGENT_TRUST, well_known.AGENT_NAMESPACE)
        return "" if found is None else found["data"]["ca.crt"]

    def accepted(self, certificate: x509.Certificate, bundle: str | None = None) -> bool:
        """True if a client with this bundle trusts the certificate now."""
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
