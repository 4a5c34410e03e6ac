"""The signer of agents' certificates. One program, over its ports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from nodemend.api import keys
from nodemend.api.certificate_signing_request import CertificateSigningRequest
from nodemend.api.group_versions import CERTIFICATE_SIGNING_REQUEST
from nodemend.controllers.admission_proof import Admission, AdmissionProof
from nodemend.controllers.agent_signer.authority_care import AuthorityCare, AuthorityRecorder
from nodemend.controllers.agent_signer.controller import RequestController, RequestRecorder
from nodemend.controllers.agent_signer.gather import standing_of
from nodemend.controllers.agent_signer.notary import Notary
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.agent_certificate import Standing
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_request import Selection
from nodemend.kube.leader_loop import ElectionObserver, ElectionSettings, Leadership, lead
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.projection import Projection
from nodemend.kube.reconcile_loop import LoopObserver, ReconcileLoop
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.running_together import run_together
from nodemend.kube.write_gate import WriteGate

_OURS: Final = Selection(fields=f"spec.signerName={keys.AGENT_SIGNER}")
_LOOK_FOR_SYNC_EVERY: Final = 0.1
_WORKERS: Final = 2


class SignerRecorder(AuthorityRecorder, RequestRecorder, Protocol):
    """Told of all that the signer writes."""


@dataclass(frozen=True, slots=True)
class SignerObservers:
    """Who is told what, for logs and metrics."""

    election: ElectionObserver
    loop: LoopObserver[str]
    recorder: SignerRecorder


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """All that wakes us: each is read fresh before it is judged."""

    name: str
    uid: str
    standing: Standing


def _known(request: CertificateSigningRequest, _old: KnownRequest | None) -> KnownRequest:
    return KnownRequest(request.metadata.name, request.metadata.uid, standing_of(request))


def _uid(request: KnownRequest) -> str:
    return request.uid


class Signer:
    """Every replica watches; the leader signs."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: SignerObservers,
        notary: Notary,
        *,
        admission: Admission | None = None,
    ) -> None:
        """`admission`: the policies without which nothing is signed; None in worlds without any.

        No node ends for want of a certificate: one that cannot get any gives up its peers.
        """
        self._admission = admission
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._notary = notary
        self._loop: ReconcileLoop[str] | None = None
        self._care: AuthorityCare | None = None
        projection = Projection(CERTIFICATE_SIGNING_REQUEST, CertificateSigningRequest, _known, _uid)
        self._reflector = Reflector(projection, chance=runtime.random, of=_OURS)
        self.cache = self._reflector.cache

    @property
    def synced(self) -> bool:
        return self.cache.synced_at is not None

    @property
    def waiting(self) -> int:
        """Keys in the queue, 0 while another replica leads."""
        return self._loop.status().waiting if self._loop is not None else 0

    @property
    def signs(self) -> bool:
        """Whether certificates can be signed here and now."""
        return self._care is not None and self._care.lend() is not None

    async def run(self) -> None:
        """Until cancelled, or until something of it fails."""
        watch = run_reflector(self._reflector, self._transport, self._runtime, self._changed)
        election = lead(self._runtime, self._transport, self._election, self._work, self._observers.election)
        await run_together(self._runtime, {"requests": watch, "election": election})

    def _changed(self, changes: Sequence[Change[KnownRequest]]) -> None:
        if self._loop is not None:
            for change in changes:
                if change.new is not None and change.new.standing is not Standing.OVER:
                    self._loop.add(change.key)

    async def _work(self, leadership: Leadership) -> None:
        while not self.synced:
            await self._runtime.sleep(_LOOK_FOR_SYNC_EVERY)
        client = ApiClient(WriteGate(self._runtime, self._transport, leadership), self._runtime)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reader, recorder = Reader(client, self._runtime, proof.doubt), self._observers.recorder
        care = AuthorityCare(reader, client, self._notary, recorder, self._election.lease.namespace)
        controller = RequestController(reader, client, self._notary, care, recorder)
        loop = ReconcileLoop(
            self._runtime, controller.reconcile, self._observers.loop, self._open_requests, workers=_WORKERS
        )
        self._loop, self._care = loop, care
        try:
            for name in self._open_requests():
                loop.add(name)
            await proof.prove()
            works = {"work": loop.run(), "authority": care.run()}
            if self._admission is not None:
                works["admission policies"] = proof.run()
            await run_together(self._runtime, works)
        finally:
            self._loop = self._care = None

    def _open_requests(self) -> list[str]:
        return [one.name for one in self.cache.all() if one.standing is not Standing.OVER]
