"""Serves one request after another: read fresh, decided, written once."""

from typing import Final, Protocol, assert_never

from nodemend.api.certificate_signing_request import CertificateSigningRequest
from nodemend.api.certified_names import certified_name
from nodemend.api.group_versions import CERTIFICATE_SIGNING_REQUEST
from nodemend.controllers.agent_signer import act
from nodemend.controllers.agent_signer.authority_care import AuthorityCare
from nodemend.controllers.agent_signer.gather import decode, request_facts
from nodemend.controllers.agent_signer.notary import Notary
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader, seen
from nodemend.decide.agent_certificate import (
    Approve,
    Deny,
    Fail,
    Issue,
    LeftAlone,
    Over,
    Verdict,
    decide,
    window_of,
)
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Refused
from nodemend.kube.api_request import Request
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

_SIGN_AFTER: Final = 0.05
_HELD_FOR: Final = 30.0
"""Seconds. All nodes may have asked by then: nothing is read for them while nothing may be signed."""


class RequestRecorder(Protocol):
    def judged(self, request: CertificateSigningRequest, verdict: Verdict) -> None:
        """It was written as it was judged."""
        ...


class RequestController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(
        self,
        reader: Reader,
        client: ApiClient,
        notary: Notary,
        care: AuthorityCare,
        recorder: RequestRecorder,
    ) -> None:
        self._reader = reader
        self._client = client
        self._notary = notary
        self._care = care
        self._recorder = recorder

    async def reconcile(self, name: str) -> Outcome:
        """While an admission policy is not proven nothing is approved or signed; requests wait for it."""
        if self._reader.doubt() is not None:
            return RequeueAfter(_HELD_FOR)
        found = seen(await self._reader.get(CERTIFICATE_SIGNING_REQUEST, name, CertificateSigningRequest))
        match found:
            case Absent():
                return Done()
            case Unreadable(why):
                return Retry(why)
            case Present(request):
                return await self._serve(request)

    async def _serve(self, request: CertificateSigningRequest) -> Outcome:
        verdict = decide(request_facts(request, self._notary))
        match verdict:
            case LeftAlone() | Over():
                return Done()
            case Deny(objection):
                return await self._write(request, verdict, act.deny(request, objection))
            case Fail(objection):
                return await self._write(request, verdict, act.fail(request, objection))
            case Approve(node):
                return await self._write(request, verdict, act.approve(request, node))
            case Issue():
                return await self._issue(request, verdict)
            case _:
                assert_never(verdict)

    async def _issue(self, request: CertificateSigningRequest, verdict: Issue) -> Outcome:
        lent, content = self._care.lend(), decode(request)
        if lent is None or content is None:
            return Retry("there is no authority to sign with")
        pair, signs = lent
        window = window_of(verdict, self._reader.runtime.wall().timestamp(), signs.until)
        certificate = self._notary.certify(content, certified_name(verdict.node), window, pair)
        return await self._write(request, verdict, act.issue(request, certificate))

    async def _write(self, request: CertificateSigningRequest, verdict: Verdict, change: Request) -> Outcome:
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        written = await self._client.write(change, Acknowledged, deadline=deadline)
        if not isinstance(written, Ok):
            return Retry(str(written), refused=isinstance(written, Refused))
        self._recorder.judged(request, verdict)
        return RequeueAfter(_SIGN_AFTER) if isinstance(verdict, Approve) else Done()
