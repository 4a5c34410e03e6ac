"""The remediation annotation: an unhealthy Machine is healed, a healthy one is cleared, and neither in
silence.
"""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.well_known import EXTERNAL_REMEDIATION
from nodemend.health.machine import annotation
from nodemend.health.machine.annotation import (
    ACCEPTED_FOR,
    STANDS_FOR,
    AnnotationRemediation,
    AnnotationRequest,
    ByAnnotation,
    Clear,
    RemediationAnnotation,
    decide_annotated,
    evaluate_annotated,
)
from nodemend.rules import request as remediation_request
from nodemend.rules.machine import MachineFacts, NodeAwaited, NodeFound, NodeMissing, NodeSeen, NodeUnseen
from nodemend.rules.node import AskedFor, ConditionSeen, Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import Create, DeleteRemediation, ExistingRemediation, NoAction, RemedyAttempt
from nodemend.safety import guard_holds
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import CannotRead, Hold

SICK = Unhealthy(AskedFor(EXTERNAL_REMEDIATION, STANDS_FOR, STANDS_FOR))
SUSPECT = Suspect(AskedFor(EXTERNAL_REMEDIATION, 5.0, STANDS_FOR))
WELL = Healthy(ACCEPTED_FOR)
STORM = Hold(guard_holds.TooManyUnhealthy("the cluster", 9, 10, "40%", 4))
DRY = Hold(guard_holds.DryRun(policy_exists=True))
ASKED = RemediationAnnotation("")


def a_remediation(
    *, committed: bool = False, finished: bool = False, failed: bool = False
) -> ExistingRemediation:
    trying = RemedyAttempt(0, 10.0, failed=failed)
    return ExistingRemediation(
        "Metal3Remediation a/m1",
        ours=True,
        ending=False,
        committed=committed,
        finished=finished,
        trying=trying,
    )


def the_way(
    asking: RemediationAnnotation | None = ASKED,
    answer: ExistingRemediation | None = None,
    to: str = "",
    other: str = "",
) -> ByAnnotation:
    return ByAnnotation(
        asking, AnnotationRemediation(answer, to) if answer is not None else None, other, healthy_delay=0.0
    )


def ready(status: ConditionStatus, seconds: float = 70.0) -> NodeFound:
    return NodeFound(
        (ConditionSeen("Ready", status, seconds), ConditionSeen("Odd", ConditionStatus.TRUE, 9.0))
    )


@pytest.mark.parametrize(
    ("node", "asked_for", "expected"),
    [
        (ready(ConditionStatus.TRUE), STANDS_FOR, Healthy(STANDS_FOR)),
        (ready(ConditionStatus.TRUE), 3600.0, Healthy(70.0)),
        (ready(ConditionStatus.TRUE), None, Healthy(70.0)),
        (ready(ConditionStatus.FALSE), STANDS_FOR, SICK),
        (ready(ConditionStatus.UNKNOWN), STANDS_FOR, SICK),
        (NodeFound(()), STANDS_FOR, SICK),
        (NodeMissing("n1"), STANDS_FOR, SICK),
        (NodeAwaited(5.0), STANDS_FOR, SICK),
        (ready(ConditionStatus.UNKNOWN), 5.0, SUSPECT),
        (NodeMissing("n1"), 5.0, SUSPECT),
        (NodeUnseen("its cluster does not answer"), STANDS_FOR, Unjudged("its cluster does not answer")),
        (NodeUnseen("its cluster does not answer"), None, Unjudged("its cluster does not answer")),
    ],
)
def test_a_node_that_is_not_ready_is_unhealthy_if_the_annotation_is_set(
    node: NodeSeen, asked_for: float | None, expected: NodeHealth
) -> None:
    assert evaluate_annotated(MachineFacts(node, asked_externally_for=asked_for)) == expected


@pytest.mark.parametrize("node", [ready(ConditionStatus.UNKNOWN), NodeMissing("n1"), NodeAwaited(5.0)])
def test_without_the_annotation_it_is_neither_unhealthy_nor_counted_as_healthy(node: NodeSeen) -> None:
    assert isinstance(evaluate_annotated(MachineFacts(node)), Unjudged)


def test_a_machine_that_is_being_deleted_is_not_judged() -> None:
    facts = MachineFacts(ready(ConditionStatus.UNKNOWN), asked_externally_for=STANDS_FOR, deleting=True)
    assert evaluate_annotated(facts) == Unjudged("it is being deleted")


SERVED = RemediationAnnotation("", served_by="somebody")
OWNED = RemediationAnnotation("", owner_asked="The MachineSet of the Machine")


@pytest.mark.parametrize(
    ("health", "way", "guarded", "expected"),
    [
        # There is no request.
        (SICK, the_way(None), Allowed(), NoAction()),
        (WELL, the_way(None), Allowed(), NoAction()),
        # Requested, and no remediation exists.
        (SUSPECT, the_way(), Allowed(), NoAction(STANDS_FOR - 5.0)),
        (SICK, the_way(), Allowed(), Create()),
        (SICK, the_way(), STORM, STORM),
        (SICK, the_way(SERVED), Allowed(), Hold(annotation.AnnotationServedByAnother("somebody"))),
        (
            SICK,
            the_way(OWNED),
            Allowed(),
            Hold(guard_holds.OtherRemediation("The MachineSet of the Machine")),
        ),
        (SICK, the_way(other="Other a/b"), Allowed(), Hold(guard_holds.OtherRemediation("Other a/b"))),
        (Unjudged("dark"), the_way(), Allowed(), Hold(CannotRead("the Node", "dark"))),
        # The node is healthy: the annotation is removed once that is certain and writes are allowed.
        (WELL, the_way(), Allowed(), Clear("")),
        (WELL, the_way(RemediationAnnotation("7")), STORM, Clear("7")),
        (WELL, the_way(), DRY, DRY),
        (Healthy(40.0), the_way(), Allowed(), NoAction(20.0)),
        (Healthy(60.0), the_way(), Allowed(), Clear("")),
        (Healthy(None), the_way(), Allowed(), NoAction(ACCEPTED_FOR)),
        # Its remediation exists.
        (SICK, the_way(answer=a_remediation()), STORM, NoAction()),
        (
            SICK,
            the_way(answer=a_remediation(failed=True)),
            Allowed(),
            Hold(remediation_request.RemediesExhausted(1)),
        ),
        (SICK, the_way(answer=a_remediation(committed=True)), Allowed(), NoAction()),
        (WELL, the_way(answer=a_remediation(committed=True)), Allowed(), NoAction()),
        (WELL, the_way(answer=a_remediation()), DRY, Clear("")),
        (WELL, the_way(answer=a_remediation(committed=True, finished=True)), DRY, Clear("")),
        # A remediation that healed one boot does not heal the next.
        (SICK, the_way(answer=a_remediation(committed=True, finished=True)), Allowed(), DeleteRemediation()),
        (Unjudged("dark"), the_way(answer=a_remediation()), Allowed(), NoAction()),
    ],
)
def test_the_table(
    health: NodeHealth, way: ByAnnotation, guarded: Allowed | Hold, expected: AnnotationRequest
) -> None:
    assert decide_annotated(health, way, guarded) == expected


def test_another_request_is_not_cleared_by_the_answer_to_the_previous_one() -> None:
    way = the_way(RemediationAnnotation("second"), a_remediation(finished=True), to="first")
    assert decide_annotated(WELL, way, Allowed()) == DeleteRemediation()


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("health", [SICK, SUSPECT, WELL, Unjudged("dark")])
def test_a_removed_annotation_withdraws_the_request_unless_something_was_released(
    health: NodeHealth, *, committed: bool, finished: bool
) -> None:
    way = the_way(None, a_remediation(committed=committed, finished=finished))
    expected = NoAction() if committed and not finished else DeleteRemediation()
    assert decide_annotated(health, way, STORM) == expected


@pytest.mark.parametrize("health", [SICK, SUSPECT, WELL, Healthy(None), Unjudged("dark")])
@pytest.mark.parametrize("asking", [ASKED, SERVED, OWNED])
@pytest.mark.parametrize("answer", [None, a_remediation(), a_remediation(failed=True)])
@pytest.mark.parametrize("other", ["", "Other a/b"])
def test_a_closed_guard_starts_nothing_regardless_of_the_annotation(
    health: NodeHealth, asking: RemediationAnnotation, answer: ExistingRemediation | None, other: str
) -> None:
    assert decide_annotated(health, the_way(asking, answer, other=other), STORM) != Create()
