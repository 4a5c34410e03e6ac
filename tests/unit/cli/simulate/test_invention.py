"""Parsing of the option values that define failures, recoveries and symptoms."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.cli.simulate.scenario import (
    SILENT,
    ByLabels,
    ByName,
    Choice,
    FailureSpec,
    Span,
    Symptom,
    parse_choice,
    parse_failure_spec,
    parse_symptom,
)
from nodemend.safety.limits import Count, Percent


@pytest.mark.parametrize(
    ("written", "choice", "when"),
    [
        ("edge-07@2m", Choice("edge-07", ByName("edge-07")), Span(120, 120)),
        ("node/edge-07@0s", Choice("node/edge-07", ByName("edge-07")), Span(0, 0)),
        ("edge-*:3@2m..10m", Choice("edge-*:3", ByName("edge-*"), Count(3)), Span(120, 600)),
        ("*:40%@1h", Choice("*:40%", ByName("*"), Percent(40)), Span(3600, 3600)),
        ("zone=a@5m", Choice("zone=a", ByLabels((("zone", "a"),))), Span(300, 300)),
        (
            "a.b/zone=a*,tier=gpu:50%@90s",
            Choice("a.b/zone=a*,tier=gpu:50%", ByLabels((("a.b/zone", "a*"), ("tier", "gpu"))), Percent(50)),
            Span(90, 90),
        ),
        ("role=@0s", Choice("role=", ByLabels((("role", ""),))), Span(0, 0)),
    ],
)
def test_which_nodes_how_many_and_when(written: str, choice: Choice, when: Span) -> None:
    assert parse_failure_spec(written) == FailureSpec(choice, when)


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("edge-07", "does not say when"),
        ("@2m", "names no nodes"),
        ("Edge 7@2m", "names no nodes"),
        ("zone=a,b@2m", "names no nodes"),
        ("zone=a=b@2m", "names no nodes"),
        ("edge-07:@2m", "neither a count nor a share"),
        ("edge-07:x@2m", "neither a count nor a share"),
        ("edge-07:101%@2m", "neither a count nor a share"),
        ("edge-07:[1-2]@2m", "neither a count nor a share"),
        ("edge-07@", "not a duration"),
        ("edge-07@2", "not a duration"),
        ("edge-07@2m..", "not a duration"),
        ("edge-07@2m..1m", "ends before it begins"),
    ],
)
def test_an_invalid_option_is_refused_with_a_reason(written: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_failure_spec(written)


def test_a_choice_has_no_time() -> None:
    assert parse_choice("zone=a:2") == Choice("zone=a:2", ByLabels((("zone", "a"),)), Count(2))


def test_a_symptom_is_a_condition() -> None:
    assert parse_symptom("Ready=Unknown") == SILENT
    assert parse_symptom("KernelDeadlock=True") == Symptom("KernelDeadlock", ConditionStatus.TRUE)
    for wrong in ("Ready", "Ready=Perhaps", "=True", "Ready=true"):
        with pytest.raises(ValueError, match="is no condition"):
            parse_symptom(wrong)
