"""An agent's CertificateSigningRequest on the wire: requests, and the meaning of replies."""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api import condition_types
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST
from nodemend.api.upstream_types import CertificateSigningRequest
from nodemend.api.well_known import AGENT_SIGNER
from nodemend.kube.outcome import Ok, Reason, Refused, Reply, Undecodable, Unknown, Unsent, write_outcome
from nodemend.kube.request import Request, create, get
from nodemend.records.agent_lease import AGENT
from nodemend.signer.decide import USAGES

_LONGEST_PREFIX: Final = 200


@dataclass(frozen=True, slots=True)
class RequestFound:
    """The request exists. At most one of the three is set; all are empty if it is pending."""

    certificate: str = ""
    denied: str = ""
    garbled: str = ""


@dataclass(frozen=True, slots=True)
class RequestMissing:
    pass


@dataclass(frozen=True, slots=True)
class RequestRejected:
    """The API server itself refused the request, and will refuse it again."""

    why: str


@dataclass(frozen=True, slots=True)
class RequestUnclear:
    """Any other outcome. If it was a write, it may have been applied."""

    why: str


RequestNews = RequestFound | RequestMissing | RequestRejected | RequestUnclear


def name_request(node: str, number: str) -> str:
    """A name with the node, for people, and a number that makes it new to the API server."""
    return f"nodemend-agent-{node[:_LONGEST_PREFIX].strip('.-')}-{number}"


def post_request(name: str, content: str) -> Request:
    spec = {
        "request": b64encode(content.encode()).decode(),
        "signerName": AGENT_SIGNER,
        "usages": sorted(USAGES),
    }
    kind = CERTIFICATE_SIGNING_REQUEST
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return create(kind, body, manager=AGENT)


def ask_request(name: str) -> Request:
    return get(CERTIFICATE_SIGNING_REQUEST, name)


def understand(reply: Reply) -> RequestNews:
    """The meaning of a reply about one request. A request that already existed counts like a created one."""
    outcome = write_outcome(reply, CertificateSigningRequest)
    match outcome:
        case Ok(request):
            return _read(request)
        case Refused(Reason.ALREADY_EXISTS):
            return RequestFound()
        case Refused(Reason.NOT_FOUND):
            return RequestMissing()
        case Refused(Reason.FORBIDDEN | Reason.INVALID | Reason.BAD_REQUEST, message):
            return RequestRejected(message)
        case Refused(_, why) | Unsent(why) | Unknown(why) | Undecodable(why):
            return RequestUnclear(why)
        case _:
            assert_never(outcome)


def _read(request: CertificateSigningRequest) -> RequestFound:
    status = request.status
    for type_ in (condition_types.CSR_DENIED, condition_types.CSR_FAILED):
        if (found := status.says(type_)) is not None:
            return RequestFound(denied=f"{found.reason}: {found.message}")
    if not status.certificate:
        return RequestFound()
    try:
        return RequestFound(certificate=b64decode(status.certificate, validate=True).decode())
    except (binascii.Error, ValueError) as error:
        return RequestFound(garbled=str(error))
