"""The text output of `kubectl mend pause` and `resume`."""

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ObjectMeta, Pause
from nodemend.api.self_remediation import SelfRemediationPhase as SelfPhase
from nodemend.cli.pause import PauseChange, paused_view, render_paused, render_resumed, resumed_view
from tests.unit.cli.check.sound_facts import EVIDENCE, remediation
from tests.unit.cli.node_cases import by_itself

SWAP = Pause(reason="switch swap", by="anna")
OPEN = [
    remediation("edge-07"),
    remediation("edge-08", phase=ManualRemediationPhase.RELEASING, evidence=EVIDENCE),
    remediation("edge-09", phase=ManualRemediationPhase.RECOVERING, evidence=EVIDENCE, released=True),
    remediation("edge-10").but(
        metadata=ObjectMeta(name="edge-10", deletion_timestamp="2026-01-31T12:00:00Z")
    ),
]


def test_a_pause_shows_what_continues_and_how_to_end_it() -> None:
    assert "\n".join(render_paused(paused_view(SWAP, PauseChange(None), OPEN, dry_run=False))) == (
        "paused by anna: switch swap\n"
        "No new action begins anywhere in the cluster. The health of nodes is still evaluated.\n"
        "4 remediations are open:\n"
        "  edge-07   WaitingForConfirmation   waits; nothing is released on a confirmation\n"
        "  edge-08   Releasing                finishes a release that has begun, and begins none\n"
        "  edge-09   Recovering               goes on waiting for the node to come back\n"
        "  edge-10   WaitingForConfirmation   goes on ending\n"
        "  end them too:  kubectl mend stop --all\n"
        "  undo:  kubectl mend resume\n"
        "Next: kubectl mend status"
    )


def test_a_pause_that_ends_by_itself_shows_its_end() -> None:
    ending = SWAP.but(until="2026-01-31T14:00:00Z")
    shown = next(iter(render_paused(paused_view(ending, PauseChange(None), [], dry_run=False))))
    assert shown == "paused until 2026-01-31T14:00:00Z by anna: switch swap"


def test_the_previous_pause_is_shown() -> None:
    before = PauseChange(Pause(reason="power test", by=""), created=False)
    shown = list(render_paused(paused_view(SWAP, before, [], dry_run=True)))

    assert shown[:2] == [
        "dry run: paused by anna: switch swap",
        "It was paused already, without an end, by an unknown user: power test",
    ]
    assert "This is what would happen. Nothing was changed." in shown
    made = list(render_paused(paused_view(SWAP, PauseChange(None, created=True), [], dry_run=False)))
    assert "There was no RemediationPolicy; this one is in mode DryRun, as without one." in made


def test_resuming() -> None:
    assert "\n".join(render_resumed(resumed_view(PauseChange(SWAP), dry_run=False))) == (
        "resumed; it was paused by anna: switch swap\n"
        "Remediations begin and go on again, as far as the mode allows.\n"
        '  undo:  kubectl mend pause --reason "switch swap"\n'
        "Next: kubectl mend status"
    )
    assert next(iter(render_resumed(resumed_view(PauseChange(None), dry_run=False)))) == (
        "It is not paused. Nothing was changed."
    )


def test_a_pause_of_one_check_shows_that_started_remediations_continue() -> None:
    paused = paused_view(SWAP, PauseChange(None), OPEN[:1], check="workers", dry_run=False)
    assert "\n".join(render_paused(paused)) == (
        "paused nhc/workers by anna: switch swap\n"
        "Nothing new begins for the nodes of this check. Their health is still evaluated.\n"
        "1 remediation is open:\n"
        "  edge-07   WaitingForConfirmation   goes on\n"
        "  end them too:  kubectl mend stop NODE\n"
        "  undo:  kubectl mend resume --check workers\n"
        "Next: kubectl mend status"
    )
    resumed = list(render_resumed(resumed_view(PauseChange(SWAP), check="workers", dry_run=False)))
    assert resumed[0] == "resumed nhc/workers; it was paused by anna: switch swap"
    assert resumed[-2] == '  undo:  kubectl mend pause --check workers --reason "switch swap"'
    never = list(render_resumed(resumed_view(PauseChange(None), check="workers", dry_run=False)))
    assert never[0] == "nhc/workers is not paused. Nothing was changed."


def test_self_fencing_nodes_get_no_new_request_during_a_pause() -> None:
    open_ = [
        by_itself(SelfPhase.FENCING),
        by_itself(SelfPhase.RELEASING, evidence=EVIDENCE),
        by_itself(SelfPhase.RECOVERING, evidence=EVIDENCE, released=True),
    ]
    going_on = paused_view(SWAP, PauseChange(None), open_, dry_run=False).going_on

    assert [one.meanwhile for one in going_on] == [
        "requests no reset and releases nothing; a reset that was already requested may happen",
        "finishes a release that has begun, and begins none",
        "goes on waiting for the node to come back",
    ]
