"""Each step as the one write that it is."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final, assert_never

import msgspec

from nodemend.api import keys
from nodemend.api.agent_authority import AuthorityRecord, FormerAuthority, KeyPair
from nodemend.api.certificate_signing_request import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
)
from nodemend.api.group_versions import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, SECRET
from nodemend.api.object_meta import ObjectMeta
from nodemend.controllers.agent_signer.gather import BUNDLE, RECORD, Findings
from nodemend.controllers.agent_signer.notary import Notary
from nodemend.decide import agent_authority as authority
from nodemend.decide.agent_certificate import BACKDATED, Objection, Window
from nodemend.kube.api_request import Precondition, Request, create, merge_patch

MANAGER: Final = "nodemend-signer"


# Requests.


def approve(request: CertificateSigningRequest, node: str) -> Request:
    words = f"It is for {node} alone, and asked for by the agent there."
    return _conditioned(request, "approval", "Approved", Objection("OwnName", words))


def deny(request: CertificateSigningRequest, objection: Objection) -> Request:
    return _conditioned(request, "approval", "Denied", objection)


def fail(request: CertificateSigningRequest, objection: Objection) -> Request:
    return _conditioned(request, "status", "Failed", objection)


def issue(request: CertificateSigningRequest, certificate: str) -> Request:
    return _changed(request, "status", {"certificate": _encode(certificate.encode())})


def _conditioned(request: CertificateSigningRequest, part: str, type_: str, why: Objection) -> Request:
    said = CertificateSigningRequestCondition(type=type_, status="True", reason=why.reason, message=why.words)
    return _changed(request, part, {"conditions": msgspec.to_builtins((*request.status.conditions, said))})


def _changed(request: CertificateSigningRequest, part: str, status: Mapping[str, object]) -> Request:
    return merge_patch(
        CERTIFICATE_SIGNING_REQUEST,
        request.metadata.name,
        change={"status": status},
        only_if=_version(request.metadata),
        manager=MANAGER,
        subresource=part,
    )


# The authority.


def request_for(step: authority.Step, found: Findings, notary: Notary, namespace: str) -> Request | None:
    """The write that makes `step` true; None for a step without one."""
    now, record = found.facts.now, found.record
    match step:
        case authority.Wait():
            return None
        case authority.MakeFirst():
            # Created, never replaced: whoever comes second meets a conflict and takes the first's.
            return _place(AuthorityRecord(signing=_made(notary, now)), namespace)
        case authority.Publish(trusted):
            return _publish(found, notary, trusted)
        case authority.MakeSuccessor():
            successor = _made(notary, now)
            return _keep(found, _known(record).but(successor=successor, published=None), heeds=True)
        case authority.NotePublished(at):
            return _keep(found, _known(record).but(published=at))
        case authority.Replace(at):
            return _keep(found, _replaced(_known(record), at))
        case authority.Forget(gone):
            left = [one for one in _known(record).former if _print(notary, one) not in gone]
            return _keep(found, _known(record).but(former=tuple(left)))
        case _:
            assert_never(step)


def _made(notary: Notary, now: float) -> KeyPair:
    return notary.make_authority(Window(now - BACKDATED, now + authority.LIVES_FOR))


def _replaced(record: AuthorityRecord, at: float) -> AuthorityRecord:
    """The old key goes at once; its certificate stays."""
    if record.successor is None:
        raise ValueError("there is no successor to take over")
    former = FormerAuthority(certificate=record.signing.certificate, replaced=at)
    return AuthorityRecord(signing=record.successor, former=(*record.former, former))


def _known(record: AuthorityRecord | None) -> AuthorityRecord:
    if record is None:
        raise ValueError("there is no authority to look after")
    return record


def _print(notary: Notary, former: FormerAuthority) -> str:
    return notary.describe(former.certificate).fingerprint


def _place(record: AuthorityRecord, namespace: str) -> Request:
    body = {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {"name": keys.AGENT_AUTHORITY, "namespace": namespace},
        "data": {RECORD: _encode(msgspec.json.encode(record))},
    }
    return create(SECRET, body, namespace, manager=MANAGER)


def _keep(found: Findings, record: AuthorityRecord, *, heeds: bool = False) -> Request:
    """On exactly the version that was read. `heeds`: a person's wish for another is thereby fulfilled."""
    if found.secret is None:
        raise ValueError("there is no Secret to change")
    change: dict[str, object] = {"data": {RECORD: _encode(msgspec.json.encode(record))}}
    if heeds:
        change["metadata"] = {"annotations": {keys.REPLACE_AUTHORITY: None}}
    metadata = found.secret.metadata
    return merge_patch(
        SECRET,
        metadata.name,
        metadata.namespace,
        change=change,
        only_if=_version(metadata),
        manager=MANAGER,
    )


def _publish(found: Findings, notary: Notary, trusted: frozenset[str]) -> Request:
    record = _known(found.record)
    pairs = (record.signing, *((record.successor,) if record.successor else ()), *record.former)
    certificates = {notary.describe(one.certificate).fingerprint: one.certificate for one in pairs}
    data = {BUNDLE: "".join(certificates[one] for one in sorted(trusted))}
    if found.bundle is None:
        metadata = {"name": keys.AGENT_TRUST, "namespace": keys.AGENT_NAMESPACE}
        body = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": metadata,
            "data": data,
        }
        return create(CONFIG_MAP, body, keys.AGENT_NAMESPACE, manager=MANAGER)
    return merge_patch(
        CONFIG_MAP,
        keys.AGENT_TRUST,
        keys.AGENT_NAMESPACE,
        change={"data": data},
        only_if=_version(found.bundle.metadata),
        manager=MANAGER,
    )


def _version(metadata: ObjectMeta) -> Precondition:
    return Precondition(metadata.uid, metadata.resource_version)


def _encode(content: bytes) -> str:
    return b64encode(content).decode()
