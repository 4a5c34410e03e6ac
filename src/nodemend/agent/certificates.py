"""State machine that decides when an agent requests its certificate, and the request on the wire. No I/O.

The agent requests one if it has none that peers would accept, and early in the life of its current one: the
rest of the life covers an API server or a signer that is unavailable. One request is open at a time, each
with its own key.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api import condition_types
from nodemend.api.agent import CERTIFICATE_USAGES
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST
from nodemend.api.upstream_types import CertificateSigningRequest
from nodemend.api.well_known import AGENT_SIGNER
from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.outcome import Ok, Reason, Refused, Reply, Undecodable, Unknown, Unsent, write_outcome
from nodemend.kube.request import Request, create, get
from nodemend.protocol.timing import RENEWED_AFTER
from nodemend.records.agent_lease import AGENT

CHECK_INTERVAL: Final = 30.0
"""Seconds between reads of the files: above all of the bundle, which another component provides."""
BUNDLE_CHECK_INTERVAL: Final = 5.0
AFTER_FAILURE: Final = Backoff(first=2.0, most=300.0)
AFTER_DENIAL: Final = Backoff(first=300.0, most=3600.0)
"""Another request would be denied as well, until an administrator changes something."""
WHILE_PENDING: Final = Backoff(first=0.5, most=10.0)
GIVE_UP_AFTER: Final = 600.0
"""Seconds. An unanswered request may be lost, or its signer may have restarted."""
SPREAD: Final = 0.1
"""Fraction of a life before the latest renewal time, so that nodes which started together do not request
together."""


@dataclass(frozen=True, slots=True)
class CertificateHeld:
    """A certificate that peers accept, as far as this node knows. Its whole and remaining life in seconds."""

    life: float
    left: float


# Events.


@dataclass(frozen=True, slots=True)
class NoCertificate:
    """There is no certificate, or none that peers would accept."""


@dataclass(frozen=True, slots=True)
class NoBundle:
    """There is no CA bundle yet, so peers could not accept any certificate."""


CertificateStatus = CertificateHeld | NoCertificate | NoBundle


@dataclass(frozen=True, slots=True)
class FilesChecked:
    """The files were read, after a wait or at the beginning."""

    holding: CertificateStatus


@dataclass(frozen=True, slots=True)
class KeyMade:
    request: str


@dataclass(frozen=True, slots=True)
class RequestPosted:
    """The API server has the request."""


@dataclass(frozen=True, slots=True)
class RequestPending:
    pass


@dataclass(frozen=True, slots=True)
class CertificateGranted:
    certificate: str


@dataclass(frozen=True, slots=True)
class RequestDenied:
    why: str


@dataclass(frozen=True, slots=True)
class RequestGone:
    """The request no longer exists."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The command could not be done now."""

    why: str


CertificateEvent = (
    FilesChecked
    | KeyMade
    | RequestPosted
    | RequestPending
    | CertificateGranted
    | RequestDenied
    | RequestGone
    | RequestFailed
)


# Commands: one at a time, each answered by an event.


@dataclass(frozen=True, slots=True)
class WaitForCertificate:
    """Wait, then read the files."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MakeKey:
    pass


@dataclass(frozen=True, slots=True)
class PostRequest:
    request: str


@dataclass(frozen=True, slots=True)
class GetRequest:
    """Wait, then read the state of the request."""

    after: float


@dataclass(frozen=True, slots=True)
class StoreCertificate:
    """Replace certificate and key if peers would accept the new ones; then read the files."""

    certificate: str


CertificateCommand = WaitForCertificate | MakeKey | PostRequest | GetRequest | StoreCertificate


class CertificateRequester:
    """The state machine. `chance` returns a number in [0, 1) for each time that is spread."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._renew_at = RENEWED_AFTER - SPREAD * chance()
        """Fraction of a life after which the agent requests the next certificate."""
        self._request: str | None = None
        self._asked_since = 0.0
        self._polls = 0
        self._failures = 0
        self._denials = 0
        self.failure = ""
        """The last failure, for operators; empty once a fresh certificate is there."""

    def step(self, event: CertificateEvent, now: float) -> CertificateCommand:
        match event:
            case FilesChecked(holding):
                return self._evaluate_files(holding)
            case KeyMade(request):
                self._request = request
                return PostRequest(request)
            case RequestPosted():
                self._asked_since, self._polls = now, 0
                return self._ask_again()
            case RequestPending():
                return self._pending(now)
            case CertificateGranted(certificate):
                self._request, self._denials = None, 0
                self._renew_at = RENEWED_AFTER - SPREAD * self._chance()
                return StoreCertificate(certificate)
            case RequestDenied(why):
                self._request, self.failure = None, why
                self._denials += 1
                return WaitForCertificate(AFTER_DENIAL.delay(self._denials, self._chance()))
            case RequestGone():
                return self._fail("the request is gone", forget=True)
            case RequestFailed(why):
                return self._fail(why, forget=False)
            case _:
                assert_never(event)

    def _evaluate_files(self, holding: CertificateStatus) -> CertificateCommand:
        match holding:
            case NoBundle():
                self.failure = "no authority is known yet"
                return WaitForCertificate(BUNDLE_CHECK_INTERVAL)
            case CertificateHeld(life, left) if left > life * (1.0 - self._renew_at):
                self._failures, self.failure = 0, ""
                return WaitForCertificate(min(CHECK_INTERVAL, left))
            case CertificateHeld() | NoCertificate():
                # Post a request with an unknown outcome again, instead of a second one beside it.
                return MakeKey() if self._request is None else PostRequest(self._request)

    def _pending(self, now: float) -> CertificateCommand:
        if now - self._asked_since >= GIVE_UP_AFTER:
            return self._fail("the request got no answer", forget=True)
        return self._ask_again()

    def _ask_again(self) -> CertificateCommand:
        self._polls += 1
        return GetRequest(WHILE_PENDING.delay(self._polls, self._chance()))

    def _fail(self, why: str, *, forget: bool) -> CertificateCommand:
        self.failure = why
        self._failures += 1
        if forget:
            self._request = None
        return WaitForCertificate(AFTER_FAILURE.delay(self._failures, self._chance()))


_LONGEST_PREFIX: Final = 200


def name_request(node: str, number: str) -> str:
    """A name with the node, for people, and a number that makes it new to the API server."""
    return f"nodemend-agent-{node[:_LONGEST_PREFIX].strip('.-')}-{number}"


def post_request(name: str, content: str) -> Request:
    spec = {
        "request": b64encode(content.encode()).decode(),
        "signerName": AGENT_SIGNER,
        "usages": sorted(CERTIFICATE_USAGES),
    }
    return create(CERTIFICATE_SIGNING_REQUEST, {"metadata": {"name": name}, "spec": spec}, manager=AGENT)


def ask_request(name: str) -> Request:
    return get(CERTIFICATE_SIGNING_REQUEST, name)


def understand_post(reply: Reply) -> CertificateEvent:
    """The meaning of the reply to a post. A request that already existed counts like a created one."""
    outcome = write_outcome(reply, CertificateSigningRequest)
    match outcome:
        case Ok() | Refused(Reason.ALREADY_EXISTS):
            return RequestPosted()
        case Refused(Reason.NOT_FOUND):
            return RequestFailed("the API server knows no such requests")
        case Refused(Reason.FORBIDDEN | Reason.INVALID | Reason.BAD_REQUEST, why):
            # The API server itself refused the request, and will refuse it again.
            return RequestDenied(why)
        case Refused(_, why) | Unsent(why) | Unknown(why) | Undecodable(why):
            return RequestFailed(why)
        case _:
            assert_never(outcome)


def understand_get(reply: Reply) -> CertificateEvent:
    """The meaning of the reply to a read. After a failed one the agent asks again later."""
    outcome = write_outcome(reply, CertificateSigningRequest)
    match outcome:
        case Ok(request):
            return _read(request)
        case Refused(Reason.NOT_FOUND):
            return RequestGone()
        case Refused() | Unsent() | Unknown() | Undecodable():
            return RequestPending()
        case _:
            assert_never(outcome)


def _read(request: CertificateSigningRequest) -> CertificateEvent:
    status = request.status
    for type_ in (condition_types.CSR_DENIED, condition_types.CSR_FAILED):
        if (found := status.says(type_)) is not None:
            return RequestDenied(f"{found.reason}: {found.message}")
    if not status.certificate:
        return RequestPending()
    try:
        return CertificateGranted(b64decode(status.certificate, validate=True).decode())
    except ValueError as error:
        return RequestDenied(f"the certificate cannot be read: {error}")
