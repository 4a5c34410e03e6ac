"""A node that is to reset itself is shown beside the others; one that never gets on alone comes first."""

from nodemend.api.meta import ObjectMeta
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase
from nodemend.cli.listing import Listing, MachineListing
from nodemend.cli.status.view import NodeRow, StatusView, render, status_view
from nodemend.remediation.self_fencing.decide import AccumulatingProof
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import HoldReason
from nodemend.safety.time_proof import NoTimeProof
from tests.unit.cli.check.sound_facts import leader
from tests.unit.cli.node_cases import NODE, at, by_itself, condition


def view_of(listing: Listing) -> StatusView:
    leaders = (leader("checker"), leader("remediator"))
    return status_view(Absent(), leaders, Present([]), listing, MachineListing(), at(391.0))


def held(reason: HoldReason) -> SelfRemediation:
    said = condition("Processing", "True", 352.0, reason.reason)
    return by_itself(SelfRemediationPhase.FENCING, message=str(reason.explain()), conditions=(said,))


ACCUMULATING_PROOF = held(AccumulatingProof(31, 72, 3, 4))
STUCK = held(NoTimeProof("no boot gate holds its kubelet back when it returns", "Install one."))


def test_it_has_its_phase_its_age_and_how_much_is_proven() -> None:
    assert view_of(Listing(by_itself=Present([ACCUMULATING_PROOF]))).nodes == (
        NodeRow(
            node=NODE,
            state="Fencing",
            for_seconds=41.0,
            check="workers",
            why="The node must reset itself: 31 s of 72 s are proven; 3 of its 4 peers are proven "
            "not to have kept it alive.",
        ),
    )


def test_a_remediation_that_only_a_new_boot_can_release_shows_all_and_comes_first() -> None:
    other = ACCUMULATING_PROOF.but(metadata=ObjectMeta(name="a-healthier-one"))
    view = view_of(Listing(by_itself=Present([other, STUCK])))
    [row] = [line for line in render(view) if line.startswith(NODE)]

    assert row.endswith(
        "The node must reset itself, and only a new boot can prove that it has: no boot gate holds its "
        "kubelet back when it returns. Install one. Nodemend continues when the node reports a new boot."
    )
    assert list(render(view))[-1] == f"Next: kubectl mend explain {NODE}"


def test_unreadable_kinds_are_reported_and_kinds_that_are_not_installed_are_not() -> None:
    hidden = view_of(Listing(by_itself=Unreadable("forbidden")))

    assert hidden.unread == ("SelfRemediations cannot be read: forbidden.",)
    assert view_of(Listing()).unread == ()
