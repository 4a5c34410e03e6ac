"""Remediations that wait for long, and leftovers."""

import pytest

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ObjectMeta
from nodemend.api.upstream_types import Lease, LeaseSpec
from nodemend.cli.check.assess import assess
from nodemend.cli.check.view import Level
from nodemend.records.node import NodeTaintRecord
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import EVIDENCE, facts, node, problems, remediation

FAIL, WARN = Level.FAIL, Level.WARN
OURS = NodeTaintRecord("node.kubernetes.io/out-of-service", "NoExecute", "nodemend")
THEIRS = NodeTaintRecord("node.kubernetes.io/out-of-service", "NoExecute", "nodeshutdown")


def lock(uid: str, holder: str) -> Lease:
    return Lease(metadata=ObjectMeta(name=f"node-{uid}"), spec=LeaseSpec(holder_identity=holder))


def test_a_remediation_that_has_just_begun_is_fine() -> None:
    assert not problems(assess(facts(remediations=Present([remediation("edge-1")]))))


def test_a_long_open_remediation_is_reported_with_what_it_waits_for() -> None:
    old = remediation(
        "edge-1", created="2026-01-31T11:00:00Z", message="Waiting for a person. Switch it off."
    )
    over = remediation("edge-2", created="2026-01-30T11:00:00Z", phase=ManualRemediationPhase.SUCCEEDED)

    assert problems(assess(facts(remediations=Present([old, over])))) == [
        (WARN, "edge-1 has been under remediation for 1h. Waiting for a person.")
    ]


def test_nodemend_s_taint_without_a_remediation_is_a_failure() -> None:
    nodes = [node("edge-1", taints=(OURS,)), node("edge-2")]

    assert problems(assess(facts(nodes=Present(nodes)))) == [
        (FAIL, "edge-1 has Nodemend's out-of-service taint, and no remediation that would remove it")
    ]


@pytest.mark.attack("F1")
def test_another_writer_of_the_taint_is_warned_of() -> None:
    nodes = [node("edge-1"), node("edge-2", taints=(THEIRS,))]

    assert problems(assess(facts(nodes=Present(nodes)))) == [
        (
            WARN,
            (
                "edge-2 has the taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, which "
                "Nodemend did not set: another writer releases its workloads, and Nodemend neither adds its "
                "own taint nor removes this one"
            ),
        )
    ]


def test_nodemend_s_taint_with_its_remediation_is_fine() -> None:
    releasing = remediation(
        "edge-1", phase=ManualRemediationPhase.RELEASING, evidence=EVIDENCE, node_uid="uid-edge-1"
    )
    found = facts(nodes=Present([node("edge-1", taints=(OURS,))]), remediations=Present([releasing]))

    assert not problems(assess(found))


def test_a_lock_without_its_holder_is_reported() -> None:
    leases = [
        lock("uid-1", "rem-gone"),
        lock("uid-2", "rem-edge-1"),
        Lease(metadata=ObjectMeta(name="nodemend-checker")),
    ]
    found = facts(remediations=Present([remediation("edge-1")]), locks=Present(leases))

    assert problems(assess(found)) == [(WARN, "1 lock on nodes whose remediation is gone: node-uid-1")]


def test_an_unreadable_object_is_reported_as_unread() -> None:
    assert problems(assess(facts(remediations=Unreadable("no")))) == [
        (FAIL, "the remediations cannot be read: no")
    ]
    assert problems(assess(facts(remediations=Absent()))) == [
        (FAIL, "the remediations cannot be read: their kind is not served")
    ]
    assert problems(assess(facts(locks=Unreadable("no")))) == [
        (FAIL, "the locks on nodes cannot be read: no")
    ]
