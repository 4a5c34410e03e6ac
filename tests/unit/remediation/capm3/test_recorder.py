"""Events of CAPM3's remediations, on these objects themselves."""

import io
import json
from datetime import UTC, datetime

import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import Capm3Remediation, Metal3Remediation, Metal3RemediationSpec
from nodemend.kube.events import EventRecord
from nodemend.remediation.capm3.controller import Capm3RemediationRecorder
from nodemend.remediation.capm3.decide import (
    CreateDelegate,
    DeleteDelegate,
    ServedByCapm3,
    Step,
    WriteCapm3Status,
)
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import AddFinalizer, DropFinalizer
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream

THEIRS = Capm3Remediation(metadata=ObjectMeta(name="m1", namespace="metal3", uid="theirs"))
GOING = THEIRS.but(metadata=THEIRS.metadata.but(deletion_timestamp="2026-01-01T00:00:00Z"))


class Heard:
    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.events: list[EventRecord] = []
        log = Log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        self.recorder = Capm3RemediationRecorder(log, self.events.append)

    @property
    def warnings(self) -> list[str]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line["note"] for line in lines if line["level"] == "warning"]


@pytest.mark.parametrize(
    ("theirs", "step", "reason", "words"),
    [
        (
            THEIRS,
            CreateDelegate(Metal3RemediationSpec()),
            "DelegateCreated",
            "Metal3Remediation m1 of remediation.metal3.io",
        ),
        (GOING, DeleteDelegate(Metal3Remediation()), "DelegateDeleted", "It is no longer wanted"),
        (THEIRS, DeleteDelegate(Metal3Remediation()), "DelegateDeleted", "CAPM3 serves it"),
        (
            THEIRS,
            WriteCapm3Status("Failed", 1, again=False),
            "RemediationFailed",
            "It has failed, or was stopped",
        ),
    ],
)
def test_the_reported_text_and_event(theirs: Capm3Remediation, step: Step, reason: str, words: str) -> None:
    heard = Heard()
    heard.recorder.took(theirs, step)
    [event] = heard.events
    assert event.reason == reason
    assert words in event.note
    assert (event.regarding.api_version, event.regarding.name, event.regarding.uid) == (
        "infrastructure.cluster.x-k8s.io/v1beta1",
        "m1",
        "theirs",
    )


@pytest.mark.parametrize(
    "step", [AddFinalizer(), DropFinalizer(), WriteCapm3Status("Running", 0, again=True)]
)
def test_what_its_status_says_is_no_event(step: Step) -> None:
    heard = Heard()
    heard.recorder.took(THEIRS, step)
    assert heard.events == []


def test_the_reason_for_leaving_it_alone_is_reported_on_it() -> None:
    heard = Heard()
    heard.recorder.held(THEIRS, Hold(ServedByCapm3("its finalizer is on it")))
    [event] = heard.events
    assert event.note.startswith("CAPM3 serves it: its finalizer is on it.")


def test_that_they_cannot_be_served_is_logged_once_and_again_when_it_comes_back() -> None:
    heard = Heard()
    for why in ("gone", "gone", "", "gone"):
        heard.recorder.unserved(why)
    assert heard.warnings == ["gone", "gone"]
