"""The signer: approves, denies and signs agents' certificate requests, and maintains their authority.

Every replica watches the requests; only the leader acts. A pass reads the request, or the authority and the
trust bundle, live (uncached), decides (`signer.decide`), and writes at most once, bound to the versions that
it read. The signer emits no events: CertificateSigningRequests carry the reasons.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, assert_never

import msgspec

from nodemend.api import condition_reasons, condition_types, well_known
from nodemend.api.agent import AuthorityRecord, ConfigMap, FormerAuthority, KeyPair, Secret, certified_name
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, SECRET, Resource
from nodemend.api.upstream_types import CertificateSigningRequest, CertificateSigningRequestCondition
from nodemend.guard.policy_proof import Admission, AdmissionProof
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Controller, Done, LoopObserver, Outcome, RequeueAfter, Retry
from nodemend.kube.informer import run_reflector
from nodemend.kube.leader_runner import ElectionObserver, ElectionSettings, Leadership, LeaderTransport, lead
from nodemend.kube.outcome import DECODE_ERRORS, Acknowledged, Ok, Refused, decoder_of
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Request, Selection, create, patch_as_read
from nodemend.kube.store import Change, Projection
from nodemend.kube.tasks import run_together
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader, value_of
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.signer import decide as authority
from nodemend.signer.decide import (
    BACKDATED,
    AlreadyDecided,
    Approve,
    AuthorityFacts,
    Deny,
    Fail,
    FormerCa,
    Ignored,
    Issue,
    MayNotSign,
    MaySign,
    Objection,
    RequestContent,
    RequestFacts,
    RequestState,
    Step,
    StoredCa,
    UnreadableRequest,
    Verdict,
    Wait,
    Window,
    decide,
    may_sign,
    next_step,
    window_of,
)
from nodemend.telemetry import metric_labels
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

# `cryptography` is an extra of the package: programs that do not sign run without it.
if TYPE_CHECKING:
    from nodemend.signer.crypto import CryptographySigner

RECORD = "authority.json"
BUNDLE = "ca.crt"
_FOREIGN = frozenset({"something else"})
"""The bundle holds something that is not a certificate."""


def request_state_of(request: CertificateSigningRequest) -> RequestState:
    status = request.status
    if (
        status.certificate
        or status.says(condition_types.CSR_DENIED)
        or status.says(condition_types.CSR_FAILED)
    ):
        return RequestState.OVER
    return RequestState.APPROVED if status.says(condition_types.CSR_APPROVED) else RequestState.OPEN


def decode(request: CertificateSigningRequest) -> bytes | None:
    """Return the PKCS#10 request; None if it is not valid base64."""
    try:
        return b64decode(request.spec.request, validate=True)
    except ValueError:
        return None


def request_facts(
    request: CertificateSigningRequest, certificate_signer: "CryptographySigner"
) -> RequestFacts:
    spec = request.spec
    return RequestFacts(
        signer=spec.signer_name,
        user=spec.username,
        nodes=spec.extra.get(well_known.NODE_OF_CALLER, ()),
        pods=spec.extra.get(well_known.POD_OF_CALLER, ()),
        usages=spec.usages,
        seconds=spec.expiration_seconds,
        asked=_asked(request, certificate_signer),
        request_state=request_state_of(request),
    )


def _asked(
    request: CertificateSigningRequest, certificate_signer: "CryptographySigner"
) -> RequestContent | UnreadableRequest:
    content = decode(request)
    return UnreadableRequest("it is not in base64") if content is None else certificate_signer.read(content)


@dataclass(frozen=True, slots=True)
class Findings:
    """The facts, and the object versions they were read from."""

    facts: AuthorityFacts
    record: AuthorityRecord | None
    secret: Secret | None
    bundle: ConfigMap | None


async def gather(reader: LiveReader, certificate_signer: "CryptographySigner", namespace: str) -> Findings:
    """Read the CA and the trust bundle. `namespace` is the signer's own, which holds the Secret."""
    secret = await reader.read(SECRET, well_known.AGENT_AUTHORITY, Secret, namespace)
    trust = await reader.read(CONFIG_MAP, well_known.AGENT_TRUST, ConfigMap, well_known.AGENT_NAMESPACE)
    record, found = _record(secret), value_of(secret)
    replacement_asked = found is not None and well_known.REPLACE_AUTHORITY in found.metadata.annotations
    facts = AuthorityFacts(
        _stored_ca(record, replacement_asked, certificate_signer),
        _bundle(trust, certificate_signer),
        reader.runtime.wall().timestamp(),
    )
    return Findings(facts, value_of(record), found, value_of(trust))


def _stored_ca(
    record: ReadResult[AuthorityRecord], replacement_asked: bool, certificate_signer: "CryptographySigner"
) -> ReadResult[StoredCa]:
    if not isinstance(record, Present):
        return record
    found, describe = record.value, certificate_signer.describe
    try:
        return Present(
            StoredCa(
                signing=describe(found.signing.certificate),
                successor=describe(found.successor.certificate) if found.successor else None,
                published=found.published,
                former=tuple(
                    FormerCa(describe(one.certificate).fingerprint, one.replaced) for one in found.former
                ),
                replacement_asked=replacement_asked,
            )
        )
    except ValueError as error:
        return Unreadable(f"{RECORD}: {error}")


def _bundle(
    trust: ReadResult[ConfigMap], certificate_signer: "CryptographySigner"
) -> ReadResult[frozenset[str]]:
    if not isinstance(trust, Present):
        return trust
    try:
        return Present(certificate_signer.fingerprints(trust.value.data.get(BUNDLE, "")))
    except ValueError:
        return Present(_FOREIGN)


def _record(secret: ReadResult[Secret]) -> ReadResult[AuthorityRecord]:
    """Return the CA record. A record that cannot be decoded is not absent: it may hold the trusted key."""
    if not isinstance(secret, Present):
        return secret
    try:
        return Present(decoder_of(AuthorityRecord).decode(b64decode(secret.value.data.get(RECORD, ""))))
    except (ValueError, *DECODE_ERRORS) as error:
        return Unreadable(f"{RECORD}: {error}")


MANAGER: Final = "nodemend-signer"


# CertificateSigningRequests.


def approve(request: CertificateSigningRequest, node: str) -> Request:
    words = f"It is for {node} alone, and asked for by the agent there."
    return _conditioned(
        request, "approval", condition_types.CSR_APPROVED, Objection(condition_reasons.OWN_NODE_NAME, words)
    )


def _conditioned(request: CertificateSigningRequest, part: str, type_: str, why: Objection) -> Request:
    said = CertificateSigningRequestCondition(type=type_, status="True", reason=why.reason, message=why.words)
    return _changed(request, part, {"conditions": msgspec.to_builtins((*request.status.conditions, said))})


def _changed(request: CertificateSigningRequest, part: str, status: Mapping[str, object]) -> Request:
    return patch_as_read(
        CERTIFICATE_SIGNING_REQUEST, request.metadata, {"status": status}, part, manager=MANAGER
    )


# The CA.


def request_for(
    step: authority.Step, found: Findings, certificate_signer: "CryptographySigner", namespace: str
) -> Request | None:
    """Return the write that carries out `step`; None for a step without one."""
    now, record = found.facts.now, found.record
    match step:
        case authority.Wait():
            return None
        case authority.CreateCa():
            # Create, never replace: a second creator gets a conflict and uses the first CA.
            return _place(AuthorityRecord(signing=_made(certificate_signer, now)), namespace)
        case authority.PublishBundle(trusted):
            return _publish(found, certificate_signer, trusted)
        case authority.CreateNextCa():
            made = _existing_authority(record).but(successor=_made(certificate_signer, now), published=None)
            return _keep(found, made, acknowledges=True)
        case authority.RecordPublished(at):
            return _keep(found, _existing_authority(record).but(published=at))
        case authority.ReplaceCa(at):
            return _keep(found, _replaced(_existing_authority(record), at))
        case authority.ForgetCa(gone):
            kept, describe = _existing_authority(record), certificate_signer.describe
            left = tuple(one for one in kept.former if describe(one.certificate).fingerprint not in gone)
            return _keep(found, kept.but(former=left))
        case _:
            assert_never(step)


def _made(certificate_signer: "CryptographySigner", now: float) -> KeyPair:
    return certificate_signer.make_authority(Window(now - BACKDATED, now + authority.LIVES_FOR))


def _replaced(record: AuthorityRecord, at: float) -> AuthorityRecord:
    """Return the record after replacement: the old key is dropped at once, its certificate stays."""
    if record.successor is None:
        raise ValueError("there is no successor to take over")
    former = FormerAuthority(certificate=record.signing.certificate, replaced=at)
    return AuthorityRecord(signing=record.successor, former=(*record.former, former))


def _existing_authority(record: AuthorityRecord | None) -> AuthorityRecord:
    if record is None:
        raise ValueError("there is no authority to look after")
    return record


def _place(record: AuthorityRecord, namespace: str) -> Request:
    data = {RECORD: _encode(msgspec.json.encode(record))}
    return _created(SECRET, well_known.AGENT_AUTHORITY, namespace, data)


def _created(resource: Resource, name: str, namespace: str, data: Mapping[str, str]) -> Request:
    metadata = {"name": name, "namespace": namespace}
    return create(resource, {"metadata": metadata, "data": data}, namespace, manager=MANAGER)


def _keep(found: Findings, record: AuthorityRecord, *, acknowledges: bool = False) -> Request:
    """Return the write of the record, bound to the version that was read.

    The flag also clears the user's request to replace the CA, which this write fulfills.
    """
    if found.secret is None:
        raise ValueError("there is no Secret to change")
    change: dict[str, object] = {"data": {RECORD: _encode(msgspec.json.encode(record))}}
    if acknowledges:
        change["metadata"] = {"annotations": {well_known.REPLACE_AUTHORITY: None}}
    return patch_as_read(SECRET, found.secret.metadata, change, manager=MANAGER)


def _publish(found: Findings, certificate_signer: "CryptographySigner", trusted: frozenset[str]) -> Request:
    record = _existing_authority(found.record)
    pairs = (record.signing, *((record.successor,) if record.successor else ()), *record.former)
    certificates = {
        certificate_signer.describe(one.certificate).fingerprint: one.certificate for one in pairs
    }
    data = {BUNDLE: "".join(certificates[one] for one in sorted(trusted))}
    if found.bundle is None:
        return _created(CONFIG_MAP, well_known.AGENT_TRUST, well_known.AGENT_NAMESPACE, data)
    return patch_as_read(CONFIG_MAP, found.bundle.metadata, {"data": data}, manager=MANAGER)


def _encode(content: bytes) -> str:
    return b64encode(content).decode()


CHECK_INTERVAL: Final = 10.0
GO_ON_AFTER: Final = 0.2
LENT_FOR: Final = 30.0
"""Seconds for which a read of the CA stays valid. A key that was revoked is used no longer than that."""


class SignerRecorder(Protocol):
    """Receives everything that the signer writes."""

    def judged(self, request: CertificateSigningRequest, verdict: Verdict) -> None:
        """Report a verdict that was written."""
        ...

    def did(self, step: Step) -> None: ...

    def idle(self, why: str) -> None:
        """Report why nothing can be signed; empty if it can."""
        ...


@dataclass(slots=True)
class CaManager:
    """Serves one leader term. The reader's client must refuse writes after the term ends."""

    reader: LiveReader
    certificate_signer: "CryptographySigner"
    recorder: SignerRecorder
    namespace: str
    """The signer's own, which holds the Secret."""
    _lent: tuple[KeyPair, MaySign] | None = None
    _looked_at: float = float("-inf")

    async def run(self) -> None:
        """Run until cancelled. A failed read or write is retried in the next pass."""
        while True:
            wrote = await self.reconcile()
            await self.reader.runtime.sleep(GO_ON_AFTER if wrote else CHECK_INTERVAL)

    async def reconcile(self) -> bool:
        """Run one pass with at most one write. Returns whether a write succeeded."""
        asked_at = self.reader.runtime.monotonic()
        found = await gather(self.reader, self.certificate_signer, self.namespace)
        verdict = may_sign(found.facts)
        step = next_step(found.facts)
        if isinstance(verdict, MaySign) and found.record is not None:
            self._lent, self._looked_at = (found.record.signing, verdict), asked_at
        else:
            self._lent = None
        problem = self.reader.problem()
        self.recorder.idle(problem.explain().sentence if problem else _why_not_signing(verdict, step))
        request = request_for(step, found, self.certificate_signer, self.namespace)
        if request is None:
            return False
        deadline = self.reader.runtime.monotonic() + WRITE_WITHIN
        written = await self.reader.client.write(request, Acknowledged, deadline=deadline)
        if not isinstance(written, Ok):
            return False
        self.recorder.did(step)
        return True

    def signing_key(self) -> tuple[KeyPair, MaySign] | None:
        """Return the current signing key; None if nothing can be signed."""
        fresh = self.reader.runtime.monotonic() - self._looked_at < LENT_FOR
        return self._lent if fresh and self.reader.problem() is None else None


def _why_not_signing(verdict: MaySign | MayNotSign, step: Step) -> str:
    if isinstance(verdict, MaySign):
        return ""
    return step.why if isinstance(step, Wait) and step.why else verdict.why


_SIGN_AFTER: Final = 0.05
_HELD_FOR: Final = 30.0
"""Seconds until a request is checked again while nothing may be signed.

All nodes may have sent one by then, so nothing is read for them.
"""


@dataclass(frozen=True, slots=True)
class RequestController:
    """Serves one leader term. The reader's client must refuse writes after the term ends."""

    reader: LiveReader
    certificate_signer: "CryptographySigner"
    care: CaManager
    recorder: SignerRecorder

    async def reconcile(self, name: str) -> Outcome:
        """Serve one request.

        Without a proven admission policy nothing is approved or signed: requests wait.
        """
        if self.reader.problem() is not None:
            return RequeueAfter(_HELD_FOR)
        found = await self.reader.read(CERTIFICATE_SIGNING_REQUEST, name, CertificateSigningRequest)
        match found:
            case Absent():
                return Done()
            case Unreadable(why):
                return Retry(why)
            case Present(request):
                return await self._serve(request)

    async def _serve(self, request: CertificateSigningRequest) -> Outcome:
        verdict = decide(request_facts(request, self.certificate_signer))
        match verdict:
            case Ignored() | AlreadyDecided():
                return Done()
            case Deny(objection):
                change = _conditioned(request, "approval", condition_types.CSR_DENIED, objection)
            case Fail(objection):
                change = _conditioned(request, "status", condition_types.CSR_FAILED, objection)
            case Approve(node):
                change = approve(request, node)
            case Issue():
                return await self._issue(request, verdict)
            case _:
                assert_never(verdict)
        return await self._write(request, verdict, change)

    async def _issue(self, request: CertificateSigningRequest, verdict: Issue) -> Outcome:
        lent, content = self.care.signing_key(), decode(request)
        if lent is None or content is None:
            return Retry("there is no authority to sign with")
        pair, signs = lent
        window = window_of(verdict, self.reader.runtime.wall().timestamp(), signs.until)
        certificate = self.certificate_signer.certify(content, certified_name(verdict.node), window, pair)
        change = _changed(request, "status", {"certificate": _encode(certificate.encode())})
        return await self._write(request, verdict, change)

    async def _write(self, request: CertificateSigningRequest, verdict: Verdict, change: Request) -> Outcome:
        deadline = self.reader.runtime.monotonic() + WRITE_WITHIN
        written = await self.reader.client.write(change, Acknowledged, deadline=deadline)
        if not isinstance(written, Ok):
            return Retry(str(written), refused=isinstance(written, Refused))
        self.recorder.judged(request, verdict)
        return RequeueAfter(_SIGN_AFTER) if isinstance(verdict, Approve) else Done()


class AgentSignerRecorder:
    """Logs and counts verdicts on certificates and steps of their CA. Never raises."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._idle: str | None = None

    def judged(self, request: CertificateSigningRequest, verdict: Verdict) -> None:
        name = request.metadata.name
        self._metrics.decisions.labels(metric_labels.SIGNER, verdict.verdict).inc()
        match verdict:
            case Issue(node, seconds):
                self._log.info("certificate issued", request=name, node=node, seconds=seconds)
            case Deny(objection) | Fail(objection):
                self._log.warning(
                    "certificate refused",
                    request=name,
                    by=printable(request.spec.username),
                    reason=objection.reason,
                    why=printable(objection.words),
                )
            case Approve() | Ignored() | AlreadyDecided():
                pass
            case _:
                assert_never(verdict)

    def did(self, step: Step) -> None:
        self._log.info("authority looked after", step=step.step)

    def idle(self, why: str) -> None:
        if why == self._idle:
            return
        if why:
            self._log.warning("nothing can be signed", why=printable(why))
        elif self._idle is not None:
            self._log.info("certificates can be signed")
        self._idle = why


_OURS: Final = Selection(fields=f"spec.signerName={well_known.AGENT_SIGNER}")
_SYNC_POLL_INTERVAL: Final = 0.1
_WORKERS: Final = 2


@dataclass(frozen=True, slots=True)
class SignerObservers:
    election: ElectionObserver
    loop: LoopObserver[str]
    recorder: SignerRecorder


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The cached part of a request. It only wakes the signer, which reads the request live to decide."""

    name: str
    uid: str
    request_state: RequestState


def _known_request(request: CertificateSigningRequest, _old: KnownRequest | None) -> KnownRequest:
    return KnownRequest(request.metadata.name, request.metadata.uid, request_state_of(request))


class Signer:
    """Every replica watches; only the leader signs."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        election: ElectionSettings,
        observers: SignerObservers,
        certificate_signer: "CryptographySigner",
        *,
        admission: Admission | None = None,
    ) -> None:
        """`admission`: without these policies in force the signer signs nothing; None in test worlds.

        A missing certificate never causes a reset: a node that cannot get one gives up its peers.
        """
        self._admission = admission
        self._runtime = runtime
        self._transport = transport
        self._election = election
        self._observers = observers
        self._certificate_signer = certificate_signer
        self._loop: Controller[str] | None = None
        self._care: CaManager | None = None
        projection = Projection(
            CERTIFICATE_SIGNING_REQUEST, CertificateSigningRequest, _known_request, lambda known: known.uid
        )
        self._reflector = Reflector(projection, chance=runtime.random, of=_OURS)
        self.cache = self._reflector.cache

    @property
    def synced(self) -> bool:
        return self.cache.synced_at is not None

    @property
    def waiting(self) -> int:
        """Number of keys in the queue; 0 while another replica leads."""
        return self._loop.waiting if self._loop is not None else 0

    @property
    def signs(self) -> bool:
        """True if this replica can sign certificates now."""
        return self._care is not None and self._care.signing_key() is not None

    async def run(self) -> None:
        """Run until cancelled; raise if one of the tasks fails."""
        watch = run_reflector(self._reflector, self._transport, self._runtime, self._changed)
        election = lead(self._runtime, self._transport, self._election, self._work, self._observers.election)
        await run_together(self._runtime, {"requests": watch, "election": election})

    def _changed(self, changes: Sequence[Change[KnownRequest]]) -> None:
        if self._loop is not None:
            for change in changes:
                if change.new is not None and change.new.request_state is not RequestState.OVER:
                    self._loop.add(change.key)

    async def _work(self, leadership: Leadership) -> None:
        while not self.synced:
            await self._runtime.sleep(_SYNC_POLL_INTERVAL)
        client = ApiClient(LeaderTransport(self._runtime, self._transport, leadership), self._runtime)
        proof = AdmissionProof(client, self._runtime, self._admission)
        reader, recorder = LiveReader(client, self._runtime, proof.problem), self._observers.recorder
        care = CaManager(reader, self._certificate_signer, recorder, self._election.lease.namespace)
        controller = RequestController(reader, self._certificate_signer, care, recorder)
        loop = Controller(
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
        return [one.name for one in self.cache.all() if one.request_state is not RequestState.OVER]
