"""The text output of `kubectl mend confirm`."""

from dataclasses import replace
from datetime import UTC, datetime

from nodemend.cli.confirm import (
    ConfirmationWithdrawnView,
    ConfirmedView,
    ConfirmView,
    render_confirmed,
    render_preview,
    render_withdrawn,
)

CONFIRMATION = ConfirmView(
    node="edge-07",
    namespace="nodemend-system",
    check="workers",
    by="anna@example.com",
    reason="unplugged it",
    node_uid="uid-1",
    boot_id="0d9a7c52",
    ready="Unknown",
    last_renew_time="2026-01-31T12:00:00.000000Z",
    last_heartbeat=datetime(2026, 1, 31, 12, 0, tzinfo=UTC),
    silent_for=422.0,
    silence_needed=40.0,
    instructions="Pull both plugs.",
    pods=("default/db-0", "default/db-1"),
    volumes=("pvc-1",),
    cautions=(),
)


def test_the_text_shows_all_facts_needed_before_a_confirmation() -> None:
    assert "\n".join(render_preview(CONFIRMATION, UTC)) == (
        "The remediation nodemend-system/edge-07, requested by nhc/workers, waits for an operator's"
        " confirmation.\n"
        "\n"
        "  node             edge-07, Ready=Unknown\n"
        "  boot             0d9a7c52\n"
        "  last heartbeat   2026-01-31 12:00:00 UTC, 7m02s ago by the API server's clock\n"
        "  instructions     Pull both plugs.\n"
        "\n"
        "  2 pods will be released:\n"
        "    default/db-0\n"
        "    default/db-1\n"
        "  1 volume will be detached:\n"
        "    pvc-1\n"
        "\n"
        "You confirm, as anna@example.com, that this boot of edge-07 can no longer run anything:\n"
        "it has no power, or it was reset. Do not confirm because you cannot reach it.\n"
        "If it still runs, its workloads will run twice and may destroy their data.\n"
        "The confirmation is valid for 10m. You can withdraw it until the release begins."
    )


def test_missing_and_hidden_objects_are_reported() -> None:
    bare = replace(
        CONFIRMATION,
        check="",
        last_heartbeat=None,
        instructions="",
        pods=(),
        volumes=None,
        cautions=("Nothing would be released.",),
    )
    shown = "\n".join(render_preview(bare, UTC))

    assert "The remediation nodemend-system/edge-07 waits for an operator's confirmation." in shown
    assert "last heartbeat   none is known" in shown
    assert "No pod will be released." in shown
    assert "You may not see which volumes will be detached." in shown
    assert shown.endswith("Warning: Nothing would be released.")


def test_a_long_list_of_pods_is_cut() -> None:
    many = replace(CONFIRMATION, pods=tuple(f"default/web-{number:03d}" for number in range(45)))

    assert "    and 5 more" in list(render_preview(many, UTC))


def test_a_written_confirmation_shows_how_to_undo_it() -> None:
    assert "\n".join(render_confirmed(ConfirmedView(confirmation=CONFIRMATION, dry_run=False))) == (
        "recorded: anna@example.com confirms that edge-07 is down: unplugged it\n"
        "The remediator compares it with the node's current state, and then releases the workloads.\n"
        "  undo, until the release begins:  kubectl mend confirm edge-07 --withdraw\n"
        "Next: kubectl mend explain edge-07"
    )


def test_a_dry_run_changes_nothing_and_reports_it() -> None:
    assert (
        list(render_confirmed(ConfirmedView(confirmation=CONFIRMATION, dry_run=True)))[1]
        == "Nothing was changed."
    )
    withdrawn = ConfirmationWithdrawnView(node="edge-07", namespace="n", by="anna", reason="x", dry_run=True)
    assert list(render_withdrawn(withdrawn))[1] == "Nothing was changed."


def test_a_withdrawn_confirmation() -> None:
    withdrawn = ConfirmationWithdrawnView(node="edge-07", namespace="n", by="anna", reason="x", dry_run=False)

    assert "\n".join(render_withdrawn(withdrawn)) == (
        "withdrawn: the confirmation of anna that edge-07 is down. It released nothing.\n"
        "  undo:  kubectl mend confirm edge-07 --reason ...\n"
        "Next: kubectl mend explain edge-07"
    )
