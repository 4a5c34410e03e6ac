"""Outcomes of calls and keys of loops appear as text in holds, conditions and logs: each is a constant."""

import pytest

from nodemend.health.machine.controller import HeldMachinesKey, HistoryKey
from nodemend.health.node.controller import (
    AllTargetsKey,
    CheckKey,
    HeldKey,
    PolicyKey,
    PrefetchKey,
    TargetKey,
)
from nodemend.kube.outcome import Reason, Refused, ServerFault, Undecodable, Unknown, Unreachable, Unsent
from nodemend.remediation.manager import RemediationKey

TEXTS: list[tuple[object, str]] = [
    (Refused(Reason.FORBIDDEN, "it's not allowed"), "Forbidden: it's not allowed"),
    (Refused(Reason.THROTTLED, "slow", 1.5), "Throttled: slow (retry after 1.5 s)"),
    (Unreachable("timeout"), "the API server did not answer: timeout"),
    (ServerFault(503, "busy"), "the API server answered 503: busy"),
    (Unknown("timeout"), "it is unknown whether the write was applied: timeout"),
    (Undecodable("no JSON"), "the answer cannot be decoded: no JSON"),
    (Unsent("paced"), "the request was not sent: paced"),
    (TargetKey("n1"), "TargetKey(node='n1')"),
    (CheckKey("workers"), "CheckKey(check='workers')"),
    (PrefetchKey("n1"), "AheadKey(node='n1')"),
    (PolicyKey(), "PolicyKey()"),
    (HeldKey(), "HeldKey()"),
    (AllTargetsKey(), "EverybodyKey()"),
    (HeldMachinesKey(), "HeldMachinesKey()"),
    (HistoryKey(), "HistoryKey()"),
    (
        RemediationKey("SelfRemediation", "ns", "n1"),
        "RemediationKey(kind='SelfRemediation', namespace='ns', name='n1')",
    ),
]


@pytest.mark.parametrize(("outcome", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_the_outcome_has_the_text(outcome: object, text: str) -> None:
    assert str(outcome) == text


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_of_a_refusal_has_a_text(reason: Reason) -> None:
    assert str(Refused(reason, "why")) == f"{reason.value}: why"
