"""What `kubectl mend wind-down` says in the end."""

from dataclasses import dataclass

from nodemend.cli.wind_down.explanations import explain
from nodemend.cli.wind_down.leftovers import Leftover, is_in_the_way


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftView:
    """One thing that is left. `in_the_way` when Nodemend must not be uninstalled for it."""

    kind: str
    what: str
    because: str
    next_step: str
    in_the_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindDownView:
    done: bool
    """Nothing of ours is left on any node or host."""
    pause_reason: str
    """Empty where there is no RemediationPolicy, and so nothing that could be paused."""
    ended: tuple[str, ...]
    """The nodes whose remediations have ended."""
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
        kind=type(leftover).__name__,
        what=said.what,
        because=said.because,
        next_step=said.next_step,
        in_the_way=is_in_the_way(leftover),
    )
