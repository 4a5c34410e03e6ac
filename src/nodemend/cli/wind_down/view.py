"""The view of `kubectl mend wind-down` at its end.

Text output of `kubectl mend wind-down`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from nodemend.cli.text import spell_names, split_step, step_lines
from nodemend.cli.wind_down.explanations import explain
from nodemend.cli.wind_down.leftovers import Leftover, is_in_the_way
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftView:
    """One leftover. `in_the_way` is True if Nodemend must not be uninstalled because of it."""

    kind: str
    what: str
    because: str
    next_step: str
    in_the_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindDownView:
    kind: ClassVar[str] = "WindDown"
    done: bool
    """True if nothing of Nodemend is left on any node or host."""
    pause_reason: str
    """Reason of the pause; empty if there is no RemediationPolicy to pause."""
    ended: tuple[str, ...]
    """Nodes whose remediations have ended."""
    left: tuple[LeftView, ...]


def wind_down_view(
    pause_reason: str, ended: tuple[str, ...], leftovers: tuple[Leftover, ...], system_namespace: str
) -> WindDownView:
    return WindDownView(
        done=not any(map(is_in_the_way, leftovers)),
        pause_reason=pause_reason,
        ended=ended,
        left=tuple(_left(one, system_namespace) for one in leftovers),
    )


def _left(leftover: Leftover, system_namespace: str) -> LeftView:
    said = explain(leftover, system_namespace)
    return LeftView(
        kind=leftover.kind,
        what=said.what,
        because=said.because,
        next_step=said.next_step,
        in_the_way=is_in_the_way(leftover),
    )


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
    """Return the note of an interrupted run. `paused_for` is None if the pause is unknown."""
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
