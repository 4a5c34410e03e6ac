"""Tells of certificates and of their authority, in the log: the requests themselves carry the reasons."""

from typing import assert_never

from nodemend.api.certificate_signing_request import CertificateSigningRequest
from nodemend.decide.agent_authority import Step
from nodemend.decide.agent_certificate import Approve, Deny, Fail, Issue, LeftAlone, Over, Verdict
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable


class AgentSignerRecorder:
    """Never raises."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        self._idle: str | None = None

    def judged(self, request: CertificateSigningRequest, verdict: Verdict) -> None:
        name = request.metadata.name
        self._metrics.decisions.labels("signer", type(verdict).__name__).inc()
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
            case Approve() | LeftAlone() | Over():
                pass
            case _:
                assert_never(verdict)

    def did(self, step: Step) -> None:
        self._log.info("authority looked after", step=type(step).__name__)

    def idle(self, why: str) -> None:
        if why == self._idle:
            return
        if why:
            self._log.warning("nothing can be signed", why=printable(why))
        elif self._idle is not None:
            self._log.info("certificates can be signed")
        self._idle = why
