"""`kubectl mend wind-down` for a person."""

from collections.abc import Iterator

from nodemend.cli.next_steps import split_step, step_lines
from nodemend.cli.wind_down.view import LeftView, WindDownView
from nodemend.cli.words import spell_names
from nodemend.decide.explanation import spell_count


def render(view: WindDownView) -> Iterator[str]:
    if view.pause_reason:
        yield f"paused: {view.pause_reason}"
    else:
        yield "There is no RemediationPolicy, so nothing new begins."
    if view.ended:
        yield f"ended {spell_count(len(view.ended), 'remediation')}: {spell_names(view.ended)}"
    in_the_way = [left for left in view.left if left.in_the_way]
    others = [left for left in view.left if not left.in_the_way]
    if view.done:
        yield "Nothing of ours is left on any node or host."
    else:
        yield f"NOT wound down; {spell_count(len(in_the_way), 'thing is', 'things are')} in the way:"
        yield from _list(in_the_way)
    if others:
        yield "Not in the way, but look at it:"
        yield from _list(others)
    if view.pause_reason:
        yield "  undo:  kubectl mend resume; then what is still unhealthy is remediated anew"
    yield from step_lines(split_step(_next_step(view)))


def render_broken_off(paused_for: str | None, ending: int) -> str:
    """What whoever breaks it off leaves behind. `paused_for` is None when that is not known."""
    match paused_for:
        case None:
            paused = "Whether the cluster is paused now: kubectl mend status"
        case "":
            paused = "There is no RemediationPolicy, so nothing new begins"
        case reason:
            paused = f"The cluster stays paused ({reason}; undo: kubectl mend resume)"
    still = f"; {spell_count(ending, 'remediation goes', 'remediations go')} on ending" if ending else ""
    return f"Not wound down. {paused}{still}. It can be run again at any time: kubectl mend wind-down"


def _list(left: list[LeftView]) -> Iterator[str]:
    for one in left:
        yield f"  {one.what}"
        yield f"    because: {one.because}"
        yield f"    to do:   {one.next_step}"


def _next_step(view: WindDownView) -> str:
    if view.done:
        return "nothing; Nodemend can be uninstalled now (helm uninstall)"
    return "see to what is listed above, and then: kubectl mend wind-down"
