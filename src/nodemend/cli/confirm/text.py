"""`kubectl mend confirm` for a person."""

from collections.abc import Iterator
from datetime import tzinfo

from nodemend.cli.confirm.view import ConfirmedView, ConfirmView, WithdrawnView
from nodemend.cli.words import quoted, spell_moment, spell_seconds
from nodemend.decide.explanation import spell_count

_MOST_NAMES = 40


def render_preview(view: ConfirmView, zone: tzinfo | None) -> Iterator[str]:
    """All that a person should know before they vouch."""
    asked = f", asked for by nhc/{view.check}," if view.check else ""
    yield f"The remediation {view.namespace}/{view.node}{asked} waits for a person's word."
    yield ""
    yield f"  node             {view.node}, Ready={view.ready or 'Unknown'}"
    yield f"  boot             {view.boot_id}"
    yield f"  last heartbeat   {_heartbeat(view, zone)}"
    if view.instructions:
        yield f"  instructions     {view.instructions}"
    yield ""
    yield from _names(view.pods, "pod", "released")
    yield from _names(view.volumes, "volume", "detached")
    yield ""
    yield f"You vouch, as {view.by}, that this boot of {view.node} can run nothing any more:"
    yield "it has no power, or it was reset. That you cannot reach it is no reason to vouch."
    yield "If it still runs, its workloads will run twice and may destroy their data."
    good_for = spell_seconds(view.good_for)
    yield f"Your word is good for {good_for}, and can be taken back until the release begins."
    for caution in view.cautions:
        yield f"Warning: {caution}"


def render_confirmed(view: ConfirmedView) -> Iterator[str]:
    word = view.word
    if view.dry_run:
        yield f"dry run: the API server would take the word of {word.by} that {word.node} is down."
        yield "Nothing was changed."
        yield f"Next: kubectl mend confirm {word.node} --reason {quoted(word.reason)}"
        return
    yield f"recorded: {word.by} vouches that {word.node} is down: {word.reason}"
    yield "The remediator weighs it against the node's last sign of life, and then releases the workloads."
    yield f"  undo, until the release begins:  kubectl mend confirm {word.node} --withdraw"
    yield f"Next: kubectl mend explain {word.node}"


def render_withdrawn(view: WithdrawnView) -> Iterator[str]:
    if view.dry_run:
        yield f"dry run: the API server would take back the word of {view.by} that {view.node} is down."
        yield "Nothing was changed."
        yield f"Next: kubectl mend confirm {view.node} --withdraw"
        return
    yield f"withdrawn: the word of {view.by} that {view.node} is down. Nothing was released on it."
    yield f"  undo:  kubectl mend confirm {view.node} --reason ..."
    yield f"Next: kubectl mend explain {view.node}"


def _heartbeat(view: ConfirmView, zone: tzinfo | None) -> str:
    if view.last_heartbeat is None:
        return "none is known"
    moment, ago = spell_moment(view.last_heartbeat, zone), spell_seconds(view.silent_for)
    return f"{moment}, {ago} ago by the API server's clock"


def _names(names: tuple[str, ...] | None, thing: str, becomes: str) -> Iterator[str]:
    if names is None:
        yield f"  You may not see which {thing}s will be {becomes}."
    elif not names:
        yield f"  No {thing} will be {becomes}."
    else:
        yield f"  {spell_count(len(names), thing)} will be {becomes}:"
        yield from (f"    {name}" for name in names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            yield f"    and {len(names) - _MOST_NAMES} more"
