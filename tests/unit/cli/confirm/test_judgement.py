"""`confirm` refuses a confirmation that the remediator would not accept, before it is written."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from nodemend.api.manual_remediation import Confirmation
from nodemend.api.meta import ObjectMeta
from nodemend.api.upstream_types import Lease, LeaseSpec, Node, NodeCondition, NodeInfo, NodeStatus
from nodemend.cli.cluster import Refusal
from nodemend.cli.confirm import ConfirmFacts, check_confirmation
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import remediation

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
RENEWED = "2026-01-31T11:53:00.000000Z"
LATER = "2026-01-31T11:59:59.000000Z"


def node(ready: str = "Unknown", boot: str = "boot-1", uid: str = "uid-1") -> Present[Node]:
    status = NodeStatus(
        conditions=(NodeCondition(type="Ready", status=ready),), node_info=NodeInfo(boot_id=boot)
    )
    return Present(Node(metadata=ObjectMeta(name="edge-07", uid=uid), status=status))


def lease(renewed: str = RENEWED) -> Present[Lease]:
    return Present(Lease(spec=LeaseSpec(lease_duration_seconds=40, renew_time=renewed)))


def waiting(**status: Any) -> Any:
    return remediation(
        "edge-07", **{"node_uid": "uid-1", "boot_id": "boot-1", "last_renew_time": RENEWED, **status}
    )


DOWN = ConfirmFacts(
    remediation=waiting(),
    node=node(),
    lease=lease(),
    policy=Absent(),
    pods=Present([]),
    attachments=Present([]),
    caller="anna",
    may_confirm=True,
    now=NOW,
)


def test_a_confirmation_copies_what_the_remediator_shows() -> None:
    assert check_confirmation(DOWN, "pulled the plug") == Confirmation(
        by="anna",
        reason="pulled the plug",
        node_uid="uid-1",
        boot_id="boot-1",
        last_renew_time=RENEWED,
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"may_confirm": False}, "anna may not confirm."),
        ({"remediation": waiting(node_uid="")}, "The remediator has not recorded the state of the node yet."),
        ({"node": Absent()}, "There is no Node edge-07 any more: the remediation closes by itself."),
        ({"node": Unreadable("no")}, "The node's state cannot be read: no."),
        ({"lease": Unreadable("no")}, "The node's state cannot be read: no."),
        ({"lease": Absent()}, "Node edge-07 has no Lease, so it is unknown whether its kubelet is silent."),
        (
            {"node": node(uid="uid-2")},
            "This is now node uid-2, and the remediation still names uid-1.",
        ),
        (
            {"node": node(boot="boot-2")},
            "This is now boot boot-2, and the remediation still names boot-1.",
        ),
        ({"node": node(ready="True")}, "Node edge-07 reports Ready: its kubelet is running."),
        (
            {"lease": lease(LATER)},
            f"The kubelet renewed its Lease at {LATER}, after it was reported silent: it is alive.",
        ),
        (
            {"remediation": waiting(last_renew_time=""), "lease": lease("2026-01-31T11:59:50.000000Z")},
            "The kubelet has not renewed its Lease for 10 s; 40 s are needed.",
        ),
        (
            {"remediation": waiting(last_renew_time="")},
            "The remediator has not yet observed 40 s without a renewal by the kubelet.",
        ),
    ],
)
def test_a_confirmation_that_would_be_rejected_is_refused_with_the_reason(
    changes: dict[str, Any], why: str
) -> None:
    evaluation = check_confirmation(replace(DOWN, **changes), "pulled the plug")

    assert isinstance(evaluation, Refusal)
    assert evaluation.why == why
    assert evaluation.next_step


def test_a_remediation_that_is_ending_takes_no_confirmation() -> None:
    ending = waiting().but(metadata=ObjectMeta(name="edge-07", deletion_timestamp="2026-01-31T12:00:00Z"))
    evaluation = check_confirmation(replace(DOWN, remediation=ending), "x")

    assert isinstance(evaluation, Refusal)
    assert evaluation.why == "The remediation of edge-07 is ending."
