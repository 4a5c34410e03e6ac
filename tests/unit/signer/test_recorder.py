"""Log lines, metrics and events of the signer."""

import io
import json
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.api.meta import ObjectMeta
from nodemend.api.upstream_types import CertificateSigningRequest, CertificateSigningRequestSpec
from nodemend.signer.controller import AgentSignerRecorder
from nodemend.signer.decide import Approve, CreateCa, Deny, Fail, Issue, Objection
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics

REQUEST = CertificateSigningRequest(
    metadata=ObjectMeta(name="r-1"), spec=CertificateSigningRequestSpec(username="some\nbody")
)


class Heard:
    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        log = Log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        metrics = Metrics(self.registry, program="signer", version="1", monotonic=lambda: 0.0)
        self.recorder = AgentSignerRecorder(log, metrics)

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def counted(self, verdict: str) -> float | None:
        labels = {"controller": "signer", "verdict": verdict}
        return self.registry.get_sample_value("nodemend_decisions_total", labels)


def test_an_issued_certificate_is_reported_with_its_node() -> None:
    heard = Heard()
    heard.recorder.judged(REQUEST, Approve("node-1"))
    heard.recorder.judged(REQUEST, Issue("node-1", 86400))
    [line] = heard.lines
    assert (line["level"], line["node"], line["request"]) == ("info", "node-1", "r-1")
    assert (heard.counted("Approve"), heard.counted("Issue")) == (1.0, 1.0)


def test_a_refusal_names_its_requester_and_reason_and_starts_no_new_log_line() -> None:
    heard = Heard()
    objection = Objection("WrongName", "it names\x1b[2J node-2")
    heard.recorder.judged(REQUEST, Deny(objection))
    heard.recorder.judged(REQUEST, Fail(objection))
    for line in heard.lines:
        assert line["level"] == "warning"
        assert line["reason"] == "WrongName"
        assert line["by"] == r"some\nbody"
        assert line["why"] == r"it names\x1b[2J node-2"
    assert (heard.counted("Deny"), heard.counted("Fail")) == (1.0, 1.0)


def test_a_signer_that_cannot_sign_reports_it_once_and_its_return() -> None:
    heard = Heard()
    for why in ("", "", "no Secret", "no Secret", "", ""):
        heard.recorder.idle(why)
    heard.recorder.did(CreateCa())
    assert [(line["level"], line.get("why"), line.get("step")) for line in heard.lines] == [
        ("warning", "no Secret", None),
        ("info", None, None),
        ("info", None, "CreateCa"),
    ]
