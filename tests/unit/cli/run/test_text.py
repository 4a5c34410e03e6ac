"""The text output of `kubectl mend run` and `override`."""

from dataclasses import replace

from nodemend.cli.run import (
    OrderedView,
    OrderView,
    OrderWithdrawnView,
    render_order_withdrawn,
    render_ordered,
    render_preview,
)

SUSPECT = OrderView(
    node="edge-07",
    node_uid="uid-7",
    check="workers",
    by="anna",
    reason="its disk is failing",
    past_guard=False,
    state="is suspect: Ready=Unknown for 2m05s; unhealthy in 2m55s",
    held=(),
    passed=(),
    before_by="",
    before_reason="",
)
STORM = "Too many targets are unhealthy in the cluster: 8 of 20; with the limit 40% the guard closes at 8."
PAST = replace(
    SUSPECT, past_guard=True, passed=(STORM, "A storm has just ended, and the cooldown after it is not over.")
)


def lines(*rendered: str) -> str:
    return "\n".join(rendered)


def test_before_it_is_ordered() -> None:
    state = "edge-07 is suspect: Ready=Unknown for 2m05s; unhealthy in 2m55s, by nhc/workers."
    assert lines(*render_preview(SUSPECT)) == state
    assert lines(*render_preview(replace(SUSPECT, held=(STORM, "and more")))) == (
        f"{state}\nIt would be held for now. {STORM}"
    )
    assert lines(*render_preview(replace(SUSPECT, before_by="berta", before_reason="me first"))) == (
        f"{state}\nIts remediation is ordered already, by berta: me first\nYour order would replace it."
    )
    assert lines(*render_preview(PAST)) == (
        f"{state}\n"
        "It would override these limits of the guard:\n"
        f"  {STORM}\n"
        "  A storm has just ended, and the cooldown after it is not over.\n"
        "The guard holds it because the failures may have one common cause. Look for that first."
    )


def test_what_was_ordered_and_how_to_undo_it() -> None:
    assert lines(*render_ordered(OrderedView(order=SUSPECT, dry_run=False))) == (
        "ordered by anna: the remediation of edge-07, now: its disk is failing\n"
        "The checker verifies everything once more, and then begins.\n"
        "The order is valid for 15m, and ends when its remediation is created.\n"
        "  undo, until then:  kubectl mend run edge-07 --withdraw\n"
        "Next: kubectl mend explain edge-07"
    )
    held = list(render_ordered(OrderedView(order=replace(SUSPECT, held=(STORM,)), dry_run=False)))
    assert held[1] == f"It is held for now. {STORM}"
    past = list(render_ordered(OrderedView(order=PAST, dry_run=False)))
    assert past[0] == "ordered by anna: the remediation of edge-07, now, past the guard: its disk is failing"
    assert past[3] == "  undo, until then:  kubectl mend override edge-07 --withdraw"


def test_a_dry_run_reports_that_nothing_was_changed() -> None:
    assert lines(*render_ordered(OrderedView(order=SUSPECT, dry_run=True))) == (
        "dry run: the API server would accept the order of anna to remediate edge-07 now.\n"
        "Nothing was changed.\n"
        'Next: kubectl mend run edge-07 --reason "its disk is failing"'
    )


def test_withdrawing_an_order() -> None:
    taken = OrderWithdrawnView(
        node="edge-07", by="anna", reason="its disk is failing", past_guard=False, dry_run=False
    )
    assert lines(*render_order_withdrawn(taken)) == (
        "withdrawn: the order of anna to remediate edge-07: its disk is failing\n"
        "If its remediation has already begun, that continues; kubectl mend stop ends it.\n"
        "  undo:  kubectl mend run edge-07 --reason ...\n"
        "Next: kubectl mend explain edge-07"
    )
    assert next(iter(render_order_withdrawn(replace(taken, dry_run=True)))) == (
        "dry run: the API server would withdraw the order of anna to remediate edge-07."
    )
