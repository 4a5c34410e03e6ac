"""Requests, the authority and the bundle as facts, read fresh."""

import binascii
from base64 import b64decode
from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.agent_authority import AuthorityRecord, ConfigMap, Secret
from nodemend.api.certificate_signing_request import CertificateSigningRequest
from nodemend.api.group_versions import CONFIG_MAP, SECRET
from nodemend.controllers.agent_signer.notary import Notary
from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.agent_authority import AuthorityFacts, Former, Kept
from nodemend.decide.agent_certificate import Asked, Garbled, RequestFacts, Standing
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.json_decoding import UNREADABLE, decoder_of

RECORD = "authority.json"
BUNDLE = "ca.crt"
_FOREIGN = frozenset({"something else"})
"""The bundle holds what is no certificate of anybody."""


def standing_of(request: CertificateSigningRequest) -> Standing:
    status = request.status
    if status.certificate or status.says("Denied") or status.says("Failed"):
        return Standing.OVER
    return Standing.APPROVED if status.says("Approved") else Standing.OPEN


def decode(request: CertificateSigningRequest) -> bytes | None:
    """The PKCS#10 in it; None where that is no base64."""
    try:
        return b64decode(request.spec.request, validate=True)
    except (binascii.Error, ValueError):
        return None


def request_facts(request: CertificateSigningRequest, notary: Notary) -> RequestFacts:
    spec = request.spec
    return RequestFacts(
        signer=spec.signer_name,
        user=spec.username,
        nodes=spec.extra.get(keys.NODE_OF_CALLER, ()),
        pods=spec.extra.get(keys.POD_OF_CALLER, ()),
        usages=spec.usages,
        seconds=spec.expiration_seconds,
        asked=_asked(request, notary),
        standing=standing_of(request),
    )


def _asked(request: CertificateSigningRequest, notary: Notary) -> Asked | Garbled:
    content = decode(request)
    return Garbled("it is not in base64") if content is None else notary.read(content)


@dataclass(frozen=True, slots=True)
class Findings:
    """The facts, and the very versions that they are of."""

    facts: AuthorityFacts
    record: AuthorityRecord | None
    secret: Secret | None
    bundle: ConfigMap | None


class Gatherer:
    """`namespace` is the signer's own: the Secret is there."""

    def __init__(self, reader: Reader, notary: Notary, namespace: str) -> None:
        self._reader = reader
        self._notary = notary
        self._namespace = namespace

    async def gather(self) -> Findings:
        secret = seen(await self._reader.get(SECRET, keys.AGENT_AUTHORITY, Secret, self._namespace))
        trust = seen(await self._reader.get(CONFIG_MAP, keys.AGENT_TRUST, ConfigMap, keys.AGENT_NAMESPACE))
        record = _record(secret)
        return Findings(
            AuthorityFacts(
                self._kept(secret, record), self._bundle(trust), self._reader.runtime.wall().timestamp()
            ),
            record.value if isinstance(record, Present) else None,
            secret.value if isinstance(secret, Present) else None,
            trust.value if isinstance(trust, Present) else None,
        )

    def _kept(self, secret: Seen[Secret], record: Seen[AuthorityRecord]) -> Seen[Kept]:
        if not isinstance(record, Present) or not isinstance(secret, Present):
            return Absent() if isinstance(record, Absent) else Unreadable(_why(record))
        found, describe = record.value, self._notary.describe
        try:
            return Present(
                Kept(
                    signing=describe(found.signing.certificate),
                    successor=describe(found.successor.certificate) if found.successor else None,
                    published=found.published,
                    former=tuple(
                        Former(describe(one.certificate).fingerprint, one.replaced) for one in found.former
                    ),
                    replacement_asked=keys.REPLACE_AUTHORITY in secret.value.metadata.annotations,
                )
            )
        except ValueError as error:
            return Unreadable(f"{RECORD}: {error}")

    def _bundle(self, trust: Seen[ConfigMap]) -> Seen[frozenset[str]]:
        if not isinstance(trust, Present):
            return trust
        try:
            return Present(self._notary.fingerprints(trust.value.data.get(BUNDLE, "")))
        except ValueError:
            return Present(_FOREIGN)


def _record(secret: Seen[Secret]) -> Seen[AuthorityRecord]:
    """One that cannot be understood is not an absent one: it may hold the key that everybody believes."""
    if not isinstance(secret, Present):
        return secret
    try:
        return Present(decoder_of(AuthorityRecord).decode(b64decode(secret.value.data.get(RECORD, ""))))
    except (binascii.Error, *UNREADABLE) as error:
        return Unreadable(f"{RECORD}: {error}")


def _why(fact: Seen[AuthorityRecord]) -> str:
    return fact.why if isinstance(fact, Unreadable) else ""
