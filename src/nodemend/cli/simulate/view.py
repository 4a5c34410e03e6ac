"""What `kubectl mend simulate` says. Times are seconds after the beginning."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesView:
    """What the cluster allows, in the numbers of this one. `mode` is empty when there is no policy."""

    mode: str
    paused: str = ""
    """By whom and why; empty for no pause."""
    max_unhealthy: str = ""
    closes_at: int = 0
    """So many unhealthy are a storm of the whole cluster."""
    domain_key: str = ""
    domain_max_unhealthy: str = ""
    domain_max_concurrent: int = 0
    most_at_once: int = 0
    min_interval_seconds: float = 0.0
    settle_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenView:
    """What it started from. `watched` are the nodes under a check."""

    source: str
    taken_at: datetime
    nodes: int
    watched: int
    checks: tuple[str, ...]
    under_remediation: int
    rules: RulesView


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """`reason` is the word for a hold that conditions, events and metrics use, `scope` where too many are."""

    at: float
    what: str
    nodes: tuple[str, ...]
    reason: str
    scope: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemediationView:
    """In the order in which they begin. `over_at` is null while it is under way at the end.

    `waited` is for how long the guard let it wait, not what came before: a remedy may follow another.
    """

    node: str
    check: str
    remedy: str
    number: int
    unhealthy_at: float
    waited: float
    begins_at: float
    over_at: float | None
    ending: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldView:
    """Everybody who was held for one sort of reason, with the gravest numbers that it had."""

    reason: str
    sentence: str
    next_step: str
    nodes: tuple[str, ...]
    longest: float
    still: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsView:
    failed: int
    unhealthy: int
    remediated: int
    """Nodes, however often each was."""
    begun: int
    most_at_once: int
    held: int
    still_held: int
    longest_held: int
    """Seconds in all, for whatever reasons, of whoever was held for longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateView:
    given: GivenView
    for_seconds: int
    totals: TotalsView
    steps: tuple[StepView, ...]
    remediations: tuple[RemediationView, ...]
    held: tuple[HeldView, ...]
    assumed: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""
