"""`kubectl mend pause` and `resume` for a person."""

from collections.abc import Iterator

from nodemend.cli.pause.view import PausedView, ResumedView
from nodemend.cli.words import align, quoted
from nodemend.decide.explanation import spell_count


def render_paused(view: PausedView) -> Iterator[str]:
    until = f" until {view.until}" if view.until else ""
    what = f" nhc/{view.check}" if view.check else ""
    yield f"{'dry run: ' if view.dry_run else ''}paused{what}{until} by {view.by}: {view.reason}"
    if view.before_reason:
        ended = f"until {view.before_until}" if view.before_until else "without an end"
        yield f"It was paused already, {ended}, by {view.before_by or 'somebody'}: {view.before_reason}"
        if view.before_reason in view.reason:
            yield "There is one pause: it ends at the later end, and resume ends it for both."
        else:
            yield "That pause is replaced."
    if view.created_policy:
        yield "There was no RemediationPolicy; this one is in mode DryRun, as without one."
    if view.check:
        yield "Nothing new begins for the nodes of this check. They are still judged."
    else:
        yield "No new action begins anywhere in the cluster. Nodes are still judged."
    if view.going_on:
        yield f"{spell_count(len(view.going_on), 'remediation is', 'remediations are')} open:"
        yield from (f"  {line}" for line in align([(r.node, r.phase, r.meanwhile) for r in view.going_on]))
        yield f"  end them too:  kubectl mend stop {'NODE' if view.check else '--all'}"
    yield from _nothing_changed(dry_run=view.dry_run)
    yield f"  undo:  kubectl mend resume{_flag(view.check)}"
    yield "Next: kubectl mend status"


def render_resumed(view: ResumedView) -> Iterator[str]:
    if not view.was_paused:
        yield f"{f'nhc/{view.check}' if view.check else 'It'} is not paused. Nothing was changed."
        yield "Next: kubectl mend status"
        return
    what = f" nhc/{view.check}" if view.check else ""
    paused = f"was paused by {view.by or 'somebody'}: {view.reason}"
    yield f"{'dry run: ' if view.dry_run else ''}resumed{what}; it {paused}"
    yield "Remediations begin and go on again, as far as the mode allows."
    yield from _nothing_changed(dry_run=view.dry_run)
    yield f"  undo:  kubectl mend pause{_flag(view.check)} --reason {quoted(view.reason)}"
    yield "Next: kubectl mend status"


def _flag(check: str) -> str:
    return f" --check {check}" if check else ""


def _nothing_changed(*, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield "That is what would be. Nothing was changed."
