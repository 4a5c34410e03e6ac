"""Hosts in a power cycle are shown beside the nodes that wait for a person."""

from dataclasses import replace

from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationPhase
from nodemend.cli.listing import Listing, MachineListing
from nodemend.cli.status.view import NodeRow, StatusView, render, status_view
from nodemend.remediation.metal3.holds import NoMachineReplacement, WaitingForPowerOff
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.sound_facts import leader
from tests.unit.cli.node_cases import HOST, NODE, a_power_cycle, at, by_hand

WAITING = a_power_cycle(
    Metal3RemediationPhase.POWER_OFF, message=str(WaitingForPowerOff(str(HOST), 300.0).explain())
)
FAILED = a_power_cycle(
    Metal3RemediationPhase.FAILED,
    message=str(NoMachineReplacement("nobody owns it").explain()),
    retry_count=4,
)


def view_of(listing: Listing) -> StatusView:
    leaders = (leader("checker"), leader("remediator"))
    return status_view(Absent(), leaders, Present([]), listing, MachineListing(), at(391.0))


def shown(*cycles: Metal3Remediation) -> StatusView:
    return view_of(Listing(power=Present(list(cycles))))


def test_a_power_cycle_has_its_phase_its_host_and_its_age() -> None:
    assert shown(WAITING).nodes == (
        NodeRow(
            node=NODE,
            state="power-off",
            for_seconds=41.0,
            check="workers",
            why=f"Waiting at most 300 s until metal3 reports {HOST} as off.",
            host=str(HOST),
        ),
    )
    [row] = [line for line in render(shown(WAITING)) if line.startswith(NODE)]
    assert row == (
        f"{NODE}   power-off   41s   workers   "
        f"host {HOST}: Waiting at most 300 s until metal3 reports {HOST} as off."
    )


def test_it_is_shown_under_its_node_also_where_it_is_named_like_a_machine() -> None:
    named = WAITING.but(metadata=WAITING.metadata.but(name="workers-7xk2p"))
    unknown_yet = named.but(status=named.status.but(node_name="", host=None))

    assert [row.node for row in shown(named).nodes] == [NODE]
    assert [(row.node, row.host) for row in shown(unknown_yet).nodes] == [("workers-7xk2p", "")]


def test_a_failed_remediation_shows_what_an_operator_must_do_and_comes_first() -> None:
    other = a_power_cycle(Metal3RemediationPhase.POWER_ON).but(metadata=ObjectMeta(name="a"))
    view = shown(other.but(status=other.status.but(node_name="a-healthier-one")), FAILED)
    [row] = [line for line in render(view) if line.startswith(NODE)]

    assert "Repair the machine by hand; delete this remediation, so that Nodemend tries again." in row
    assert list(render(view))[-1] == f"Next: kubectl mend explain {NODE}"


def test_an_ended_remediation_is_hidden_and_an_ending_one_is_shown() -> None:
    over = a_power_cycle(Metal3RemediationPhase.SUCCEEDED)
    ending = over.but(metadata=over.metadata.but(deletion_timestamp="2026-01-31T12:06:00Z"))

    assert shown(over).nodes == ()
    assert [row.state for row in shown(ending).nodes] == ["Ending"]


def test_manual_remediations_are_shown_even_if_power_cycles_are_hidden_or_not_installed() -> None:
    waits = Present([by_hand(ManualPhase.WAITING_FOR_CONFIRMATION)])
    hidden = view_of(Listing(waits, Unreadable("forbidden")))
    absent = view_of(Listing(waits))

    assert hidden.nodes == absent.nodes
    assert (hidden.unread, absent.unread) == (("Metal3Remediations cannot be read: forbidden.",), ())
    assert replace(hidden, unread=()) == absent
