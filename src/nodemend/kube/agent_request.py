"""An agent's request for its certificate, on the wire: what is asked for, and what came of it."""

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api.certificate_signing_request import CertificateSigningRequest
from nodemend.api.group_versions import CERTIFICATE_SIGNING_REQUEST
from nodemend.api.keys import AGENT_SIGNER
from nodemend.decide.agent_certificate import USAGES
from nodemend.kube.agent_lease import AGENT
from nodemend.kube.api_outcome import Ok, Reason, Refused, Undecodable, Unknown, judge_write
from nodemend.kube.api_reply import Reply, Unsent
from nodemend.kube.api_request import Request, create, get

_LONGEST_PREFIX: Final = 200


@dataclass(frozen=True, slots=True)
class InPlace:
    """The API server has it. At most one of the three is not empty; none is, while it is not settled."""

    certificate: str = ""
    denied: str = ""
    garbled: str = ""


@dataclass(frozen=True, slots=True)
class NotThere:
    pass


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The API server itself said no, and will again."""

    why: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Anything else. If it was a write, it may have been applied."""

    why: str


RequestNews = InPlace | NotThere | TurnedAway | Unclear


def name_request(node: str, number: str) -> str:
    """For people by the node, for the API server by a number that was not there before."""
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
    """What a reply about one request says. That it was there before is as good as that it is there now."""
    outcome = judge_write(reply, CertificateSigningRequest)
    match outcome:
        case Ok(request):
            return _read(request)
        case Refused(Reason.ALREADY_EXISTS):
            return InPlace()
        case Refused(Reason.NOT_FOUND):
            return NotThere()
        case Refused(Reason.FORBIDDEN | Reason.INVALID | Reason.BAD_REQUEST, message):
            return TurnedAway(message)
        case Refused(_, why) | Unsent(why) | Unknown(why) | Undecodable(why):
            return Unclear(why)
        case _:
            assert_never(outcome)


def _read(request: CertificateSigningRequest) -> InPlace:
    status = request.status
    for type_ in ("Denied", "Failed"):
        if (found := status.says(type_)) is not None:
            return InPlace(denied=f"{found.reason}: {found.message}")
    if not status.certificate:
        return InPlace()
    try:
        return InPlace(certificate=b64decode(status.certificate, validate=True).decode())
    except (binascii.Error, ValueError) as error:
        return InPlace(garbled=str(error))
