"""A machine, its node and its check become a verdict."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.meta import ConditionStatus, LabelSelector
from nodemend.rules.machine import (
    MachineFacts,
    MachineRules,
    NodeAwaited,
    NodeFound,
    NodeMissing,
    NodeUnseen,
    WatchedCondition,
    evaluate_machine_health,
)
from nodemend.rules.node import (
    AskedFor,
    ConditionOwner,
    ConditionSeen,
    Finding,
    Healthy,
    Match,
    NeverStarted,
    NodeGone,
    NodeHealth,
    PhaseFailed,
    Suspect,
    Unhealthy,
    Unjudged,
    spell_finding,
)
from nodemend.safety.limits import LimitSemantics

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN

RULES = MachineRules(
    cluster="prod",
    selector=LabelSelector(),
    of_node=(WatchedCondition("Ready", UNKNOWN, 300.0), WatchedCondition("Ready", FALSE, 600.0)),
    of_machine=(WatchedCondition("BootOK", FALSE, 60.0),),
    startup=1200.0,
    gate=None,
    reading=LimitSemantics.AT_LIMIT,
    template=None,
)
BARE = replace(RULES, of_node=(), of_machine=())


def ready(status: ConditionStatus, age: float) -> NodeFound:
    return NodeFound((ConditionSeen("Ready", status, age),))


def boot(age: float) -> tuple[ConditionSeen, ...]:
    return (ConditionSeen("BootOK", FALSE, age, "BadDisk"),)


def boot_match(age: float) -> Match:
    return Match("BootOK", FALSE, age, 60.0, ConditionOwner.MACHINE, "BadDisk")


GOOD = ready(TRUE, 9.0)


@pytest.mark.conforms(
    "D01", "D03", "D06", "D08", "D09", "D10", "D11", "D16", "D20", "D21", "D24", "L01", "L02"
)
@pytest.mark.parametrize(
    ("machine", "verdict"),
    [
        ({"node": GOOD}, Healthy(9.0)),
        ({"node": NodeFound(())}, Healthy(None)),
        ({"node": ready(UNKNOWN, 299.0)}, Suspect(Match("Ready", UNKNOWN, 299.0, 300.0))),
        ({"node": ready(UNKNOWN, 300.0)}, Unhealthy(Match("Ready", UNKNOWN, 300.0, 300.0))),
        ({"node": ready(FALSE, 300.0)}, Suspect(Match("Ready", FALSE, 300.0, 600.0))),
        ({"node": ready(FALSE, 601.0)}, Unhealthy(Match("Ready", FALSE, 601.0, 600.0))),
        ({"node": NodeMissing("n1")}, Unhealthy(NodeGone("n1"))),
        ({"node": NodeAwaited(1199.0)}, Suspect(NeverStarted(1199.0, 1200.0))),
        ({"node": NodeAwaited(1200.0)}, Unhealthy(NeverStarted(1200.0, 1200.0))),
        ({"node": NodeUnseen("no answer")}, Unjudged("no answer")),
        ({"node": GOOD, "conditions": boot(59.0)}, Suspect(boot_match(59.0))),
        ({"node": GOOD, "conditions": boot(60.0)}, Unhealthy(boot_match(60.0))),
        (
            {"node": ready(UNKNOWN, 400.0), "conditions": boot(70.0)},
            Unhealthy(boot_match(70.0), (Match("Ready", UNKNOWN, 400.0, 300.0),)),
        ),
        (
            {"node": ready(UNKNOWN, 295.0), "conditions": boot(10.0)},
            Suspect(Match("Ready", UNKNOWN, 295.0, 300.0)),
        ),
        (
            {"node": ready(UNKNOWN, 10.0), "conditions": boot(70.0)},
            Unhealthy(boot_match(70.0)),
        ),
        ({"node": NodeAwaited(0.0), "asked_by": "a/b"}, Unhealthy(AskedFor("a/b"))),
        ({"node": NodeUnseen("x"), "asked_by": "a/b"}, Unhealthy(AskedFor("a/b"))),
        ({"node": GOOD, "asked_by": "a/b", "deleting": True}, Unjudged("it is being deleted")),
        ({"node": NodeMissing("n1"), "not_yet": "no control plane"}, Unjudged("no control plane")),
        ({"node": NodeAwaited(1.0), "failed": "no image"}, Unhealthy(PhaseFailed("no image"))),
        ({"node": GOOD, "failed": ""}, Unhealthy(PhaseFailed(""))),
    ],
)
def test_the_verdict(machine: dict[str, Any], verdict: NodeHealth) -> None:
    assert evaluate_machine_health(RULES, MachineFacts(**machine)) == verdict


@pytest.mark.conforms("D14", "D15")
@pytest.mark.parametrize(
    ("node", "verdict"),
    [
        (ready(FALSE, 9000.0), Healthy(None)),
        (GOOD, Healthy(9.0)),
        (NodeMissing("n1"), Unhealthy(NodeGone("n1"))),
    ],
)
def test_without_any_configured_condition_only_a_missing_node_counts(node: Any, verdict: NodeHealth) -> None:
    assert evaluate_machine_health(BARE, MachineFacts(node)) == verdict


@pytest.mark.conforms("D04")
def test_without_a_startup_limit_a_machine_without_a_node_is_neither_healthy_nor_unhealthy() -> None:
    verdict = evaluate_machine_health(replace(RULES, startup=None), MachineFacts(NodeAwaited(1e9)))
    assert verdict == Unjudged("it has no node yet, and the check sets no limit for that")


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Match("Ready", UNKNOWN, 301.0, 300.0), "Ready=Unknown for 300 s"),
        (Match("Ready", UNKNOWN, 10.0, 300.0), "Ready=Unknown, but not yet for 300 s"),
        (boot_match(60.0), "Machine BootOK=False (BadDisk) for 60 s"),
        (NeverStarted(10.0, 600.0), "no node, but not yet for 600 s"),
        (NeverStarted(600.0, 600.0), "no node for 600 s"),
        (NodeGone("n1"), "its Node n1 is gone"),
        (AskedFor("a/b"), "asked for by a/b"),
        (PhaseFailed("no image"), "its phase is Failed: no image"),
        (PhaseFailed(""), "its phase is Failed"),
    ],
)
def test_every_finding_has_a_message(finding: Finding, words: str) -> None:
    assert spell_finding(finding) == words


@pytest.mark.parametrize("finding", [NodeGone("n1"), AskedFor("a/b"), PhaseFailed("")])
def test_some_findings_wait_for_nothing(finding: Finding) -> None:
    assert finding.remaining == 0.0


def test_others_wait_for_their_time() -> None:
    assert Match("Ready", UNKNOWN, 100.0, 300.0).remaining == 200.0
    assert NeverStarted(100.0, 300.0).remaining == 200.0
    assert NeverStarted(301.0, 300.0).remaining == 0.0
