"""`kubectl mend stop` for a person."""

from collections.abc import Iterator

from nodemend.cli.stop.view import StopView
from nodemend.cli.words import align, spell_list
from nodemend.decide.explanation import spell_count

_ANEW = "what is still unhealthy is remediated anew"


def render(view: StopView) -> Iterator[str]:
    dry = "dry run: " if view.dry_run else ""
    if view.paused:
        yield f"{dry}paused: {view.pause_reason}"
    if view.stopped:
        yield f"{dry}stopped {spell_count(len(view.stopped), 'remediation')}:"
        yield from (f"  {line}" for line in align([(s.node, s.phase, s.ends) for s in view.stopped]))
    elif not view.failed:
        yield "No remediation is open."
    yield from (f"NOT stopped: {failed.node}: {failed.why}" for failed in view.failed)
    if view.dry_run:
        yield "That is what would be. Nothing was changed."
    checks = sorted({f"nhc/{stopped.check}" for stopped in view.stopped if stopped.check})
    if checks and not view.paused:
        yield f"{spell_list(checks)} will ask again for nodes that stay unhealthy. To prevent that:"
        yield "  kubectl mend pause --reason ..."
    yield f"  undo:  {'kubectl mend resume; then' if view.paused else 'none;'} {_ANEW}"
    yield f"Next: kubectl mend {'check' if view.failed else 'status'}"
