"""The result of a simulation: its view, built from the log, and its text. Times count from the start."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from textwrap import wrap
from typing import ClassVar, Final

from nodemend.api.quantities import duration_seconds
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.cli.simulate.input import Snapshot
from nodemend.cli.simulate.log import (
    TURN,
    TURN_REASONS,
    HoldKind,
    HoldPeriod,
    LogStep,
    RemediationAttempt,
    RunLog,
    StepKind,
)
from nodemend.cli.simulate.scenario import SILENT, Plan
from nodemend.cli.text import (
    NextStep,
    align,
    spell_list,
    spell_moment,
    spell_names,
    spell_seconds,
    split_step,
    step_lines,
)
from nodemend.health.node.targets import under_remediation
from nodemend.records.live_reads import policy_facts
from nodemend.safety.guard import closes_at, most_at_once
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesView:
    """The limits, in numbers for this cluster. `mode` is empty if there is no policy."""

    mode: str
    paused: str = ""
    """Author and reason of the pause; empty if not paused."""
    max_unhealthy: str = ""
    closes_at: int = 0
    """Number of unhealthy nodes at which a storm of the whole cluster begins."""
    domain_key: str = ""
    domain_max_unhealthy: str = ""
    domain_max_concurrent: int = 0
    most_at_once: int = 0
    min_interval_seconds: float = 0.0
    settle_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenView:
    """The starting point. `watched` is the number of nodes under a check."""

    source: str
    taken_at: datetime
    nodes: int
    watched: int
    checks: tuple[str, ...]
    under_remediation: int
    rules: RulesView


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldNodesView:
    """All nodes that were held for one sort of reason, with the most severe numbers that occurred."""

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
    """Number of distinct nodes."""
    begun: int
    most_at_once: int
    held: int
    still_held: int
    longest_held: int
    """Seconds, over all reasons, of the node that was held longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateView:
    kind: ClassVar[str] = "Simulate"
    given: GivenView
    for_seconds: int
    totals: TotalsView
    steps: tuple[LogStep, ...]
    remediations: tuple[RemediationAttempt, ...]
    held: tuple[HeldNodesView, ...]
    assumed: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""


def given_view(snapshot: Snapshot, watched: int) -> GivenView:
    return GivenView(
        source=snapshot.source,
        taken_at=snapshot.taken_at,
        nodes=len(snapshot.nodes),
        watched=watched,
        checks=tuple(sorted(check.metadata.name for check in snapshot.checks)),
        under_remediation=len(under_remediation(snapshot.remediations)),
        rules=_rules(snapshot.policy, watched, snapshot.taken_at),
    )


def _rules(policy: RemediationPolicy | None, watched: int, now: datetime) -> RulesView:
    if policy is None:
        return RulesView(mode="")
    facts = policy_facts(policy, now)
    domains, pause = facts.domains, facts.pause
    return RulesView(
        mode=facts.mode,
        paused=f"by {pause.by or 'somebody'}: {pause.reason}" if pause is not None else "",
        max_unhealthy=str(facts.max_unhealthy),
        closes_at=closes_at(facts, watched),
        domain_key=domains.key if domains is not None else "",
        domain_max_unhealthy=str(domains.max_unhealthy) if domains is not None else "",
        domain_max_concurrent=domains.max_concurrent if domains is not None else 0,
        most_at_once=most_at_once(facts, watched),
        min_interval_seconds=facts.min_interval,
        settle_seconds=facts.settle_time,
    )


def build_view(snapshot: Snapshot, plan: Plan, story: RunLog) -> SimulateView:
    given = given_view(snapshot, story.watched)
    held = tuple(_hold_views(story, plan.lasts))
    totals = _totals(story, held, plan.lasts)
    step = split_step(_next_step(given, totals, held, plan))
    return SimulateView(
        given=given,
        for_seconds=plan.lasts,
        totals=totals,
        steps=tuple(story.steps),
        remediations=tuple(story.attempts),
        held=held,
        assumed=tuple(_assumed(snapshot, plan, given)),
        advice=step.advice,
        next_step=step.command,
    )


def _hold_views(story: RunLog, lasts: int) -> Iterator[HeldNodesView]:
    """Yield the holds by sort, in the order in which each sort first occurred."""
    hold_periods: defaultdict[HoldKind, list[HoldPeriod]] = defaultdict(list)
    for spell in sorted(story.hold_periods.all(), key=lambda one: (one.since, one.node)):
        hold_periods[spell.sort].append(spell)
    for sort, of_sort in hold_periods.items():
        reason = story.hold_periods.reason(sort)
        explanation = reason.explain()
        yield HeldNodesView(
            reason=reason.reason,
            sentence=explanation.sentence,
            next_step=explanation.next_step,
            nodes=tuple(sorted({spell.node for spell in of_sort})),
            longest=max(spell.lasted(lasts) for spell in of_sort),
            still=tuple(sorted(spell.node for spell in of_sort if spell.until is None)),
        )


def _totals(story: RunLog, held: tuple[HeldNodesView, ...], lasts: int) -> TotalsView:
    held_for: Counter[str] = Counter()
    for spell in story.hold_periods.all():
        held_for[spell.node] += int(spell.lasted(lasts))
    return TotalsView(
        failed=len(_nodes_that(story, StepKind.FAIL)),
        unhealthy=len(_nodes_that(story, StepKind.UNHEALTHY)),
        remediated=len({one.node for one in story.attempts}),
        begun=len(story.attempts),
        most_at_once=story.most_at_once,
        held=len({node for one in held for node in one.nodes}),
        still_held=len({node for one in held for node in one.still}),
        longest_held=max(held_for.values(), default=0),
    )


def _nodes_that(story: RunLog, what: StepKind) -> set[str]:
    return {node for step in story.steps if step.what is what for node in step.nodes}


def _assumed(snapshot: Snapshot, plan: Plan, given: GivenView) -> Iterator[str]:
    takes = spell_seconds(plan.remediation_takes)
    sick = " ".join(choice.written for choice in plan.stays_unhealthy)
    but = f", except for {sick}" if sick else ""
    yield f"A remediation takes {takes}, and then the node is back{but}."
    if any(0 < limit < plan.remediation_takes for limit in _timeouts(snapshot)):
        yield "A remedy whose timeout is shorter is given up before."
    if any(check.spec.recovery is not None for check in snapshot.checks):
        yield "Recoveries succeed at once."
    if given.under_remediation:
        yield f"So do those that are under way ({given.under_remediation}): their progress is unknown."
    if plan.fails and plan.symptom == SILENT:
        yield (
            f"A failing node is {plan.symptom} at once; in a real cluster this takes about 50s from its last"
            " heartbeat."
        )
    elif plan.fails:
        yield f"A failing node shows {plan.symptom} at once."
    if snapshot.machine_checks:
        left_out = spell_count(snapshot.machine_checks, "MachineHealthCheck is", "MachineHealthChecks are")
        yield f"{left_out} left out: only NodeHealthChecks act here."
    yield from snapshot.unread
    yield (
        "The API server always answers, and the checker evaluates at once; in a real cluster it evaluates"
        " held nodes in turns, some seconds later."
    )


def _timeouts(snapshot: Snapshot) -> Iterator[float]:
    for check in snapshot.checks:
        for remedy in check.spec.remedies:
            if remedy.timeout is not None:
                yield duration_seconds(remedy.timeout)


def _next_step(given: GivenView, totals: TotalsView, held: tuple[HeldNodesView, ...], plan: Plan) -> str:
    if totals.failed and not totals.unhealthy:
        return f"no check treats {plan.symptom} as unhealthy within that time; see --symptom and --for."
    if given.rules.mode != Mode.ACT or given.rules.paused:
        return "to see what would be done in mode Act, add --act"
    if still := [one for one in held if one.still]:
        most = max(still, key=lambda one: len(one.still))
        return f"{spell_count(len(most.still), 'node is', 'nodes are')} still held. {most.next_step}"
    if not plan.fails:
        return "simulate a failure: kubectl mend simulate --fail '*:30%@2m'"
    return "compare with another policy: --diff FILE."


MOST_LINES: Final = 45
_MINUTE: Final = 60
SLICES: Final = tuple(minutes * _MINUTE for minutes in (1, 5, 15, 60, 360, 1440))
"""Seconds. Steps within one slice that have one cause become one line."""
_FEW: Final = 2
_MOST_NAMES: Final = 5
_TEXT_WIDTH: Final = 60
"""Characters for names."""
_WORDS: Final[dict[str, str]] = {
    StepKind.HOLD: "HOLD",
    StepKind.STILL_UNHEALTHY: "still unhealthy",
    StepKind.GIVE_UP: "give up",
    StepKind.COOLING_DOWN: "cooldown",
    StepKind.NO_STORM: "no storm",
}


@dataclass(slots=True)
class Line:
    """One line of output. `at` is the time of its first step."""

    at: float
    what: str
    why: str
    nodes: list[str] = field(default_factory=list)


def fold(steps: Sequence[LogStep]) -> tuple[int, list[Line]]:
    """Return the lines and the seconds that each covers: the shortest slice that needs at most MOST_LINES."""
    for slice_ in SLICES:
        lines = _folded(steps, slice_)
        if len(lines) <= MOST_LINES:
            return slice_, lines
    return SLICES[-1], _folded(steps, SLICES[-1])


def spell_what(line: Line) -> str:
    return _WORDS.get(line.what, line.what.lower())


def spell_line(line: Line) -> str:
    """Return the nodes or the reason, depending on which is more informative."""
    if not line.nodes:
        return line.why
    names = _names(line.nodes)
    if line.what == StepKind.BEGIN and line.why:
        return f"{names} ({line.why})"
    if not line.why:
        return names
    return f"{names}: {line.why}" if len(line.nodes) <= _FEW else line.why


def _names(nodes: Sequence[str]) -> str:
    """Return as many names as fit, at least one."""
    fit = 1
    while fit < min(len(nodes), _MOST_NAMES) and sum(map(len, nodes[: fit + 1])) <= _TEXT_WIDTH:
        fit += 1
    return spell_names(nodes, fit)


def _folded(steps: Sequence[LogStep], slice_: int) -> list[Line]:
    lines: dict[tuple[int, str, str], Line] = {}
    for step in steps:
        if step.what == StepKind.CLOSE:
            # It always follows the step Back or Heal and adds nothing to it.
            continue
        key = int(step.at // slice_), step.what, _cause(step)
        line = lines.setdefault(key, Line(step.at, step.what, step.why))
        line.why = step.why
        line.nodes += step.nodes
    return list(lines.values())


def _cause(step: LogStep) -> str:
    """Return the grouping key.

    Holds of one sort differ only in their numbers, so the last one represents all.
    """
    if step.reason in TURN_REASONS:
        return TURN[0]
    return f"{step.reason} {step.scope}" if step.reason else step.why


_WIDTH: Final = 100
_MOST_REMEDIATIONS: Final = 10
_MODES: Final = {
    "": "DryRun, as there is no RemediationPolicy: nothing is remediated, only reported",
    Mode.DRY_RUN: "DryRun: nothing is remediated, only reported",
    Mode.ACT: "Act",
}


def render(view: SimulateView, zone: tzinfo | None = None) -> Iterator[str]:
    yield from wrap(_headline(view), _WIDTH)
    yield ""
    yield from _given(view.given, zone)
    yield ""
    yield from _timeline(view)
    if view.remediations:
        yield ""
        yield from _remediations(view)
    if view.held:
        yield ""
        yield from _held(view.held)
    yield ""
    yield from render_assumed(view.assumed)
    yield from step_lines(NextStep(view.advice, view.next_step))


def render_assumed(assumed: Iterable[str]) -> Iterator[str]:
    lines = [line for said in assumed for line in wrap(said, _WIDTH - 10)]
    for number, line in enumerate(lines):
        yield f"{'Assumed' if number == 0 else '':<10}{line}"


def clock(at: float, lasts: float) -> str:
    """Format a time after the start as MM:SS, or as H:MM:SS if the simulation is longer than one hour."""
    minutes, seconds = divmod(int(at), 60)
    if lasts <= 3600:
        return f"{minutes:02}:{seconds:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _headline(view: SimulateView) -> str:
    totals, within = view.totals, spell_seconds(view.for_seconds)
    nodes = spell_count(totals.remediated, "node") if totals.remediated else "No node"
    said = f"{nodes} of {view.given.nodes} would be remediated in {within}"
    said += f", at most {totals.most_at_once} at once." if totals.remediated > 1 else "."
    said += _spell_held(totals)
    return f"{said} Nothing was changed."


def _spell_held(totals: TotalsView) -> str:
    longest = spell_seconds(totals.longest_held)
    match totals.held, totals.still_held:
        case 0, _:
            return ""
        case 1, still:
            return f" 1 would be held, for {longest}{', and still is at the end' if still else ''}."
        case held, still:
            rest = {0: "none", held: "all"}.get(still, str(still))
            return f" {held} would be held, the longest for {longest}; {rest} still held at the end."


def _given(given: GivenView, zone: tzinfo | None) -> Iterator[str]:
    when = spell_moment(given.taken_at, zone)
    checks = spell_list([f"nhc/{name}" for name in given.checks])
    yield f"Given     {spell_count(given.nodes, 'node')} of {given.source} at {when}"
    unwatched = given.nodes - given.watched
    yield f"Watched   {given.watched} by {checks}" + (f"; {unwatched} by none" if unwatched else "")
    rules = given.rules
    if rules.paused:
        yield f"Paused    {rules.paused}"
    yield f"Mode      {_MODES[rules.mode]}"
    if rules.mode:
        yield f"Pace      {_pace(rules)}"
        yield f"Guard     {_guard(rules)}"


def _pace(rules: RulesView) -> str:
    here = f" ({rules.domain_max_concurrent} in one domain)" if rules.domain_key else ""
    return f"at most {rules.most_at_once} at once{here}, {spell_seconds(rules.min_interval_seconds)} apart"


def _guard(rules: RulesView) -> str:
    said = f"closes at {rules.closes_at} unhealthy ({rules.max_unhealthy})"
    if rules.domain_key:
        said += f", in one {rules.domain_key} at {rules.domain_max_unhealthy}"
    return f"{said}; cooldown {spell_seconds(rules.settle_seconds)}"


def _timeline(view: SimulateView) -> Iterator[str]:
    if not view.steps:
        yield "Nothing happens."
        return
    slice_, lines = fold(view.steps)
    rows = [("TIME", "WHAT", "NODES", "WHICH-AND-WHY")]
    for line in lines:
        number = str(len(line.nodes)) if line.nodes else "-"
        rows.append((clock(line.at, view.for_seconds), spell_what(line), number, spell_line(line)))
    yield from align(rows)
    if slice_ > SLICES[0]:
        yield f"Each line stands for {spell_seconds(slice_)}; -o json has every step."


def _remediations(view: SimulateView) -> Iterator[str]:
    lasts = view.for_seconds
    rows = [("#", "NODE", "UNHEALTHY", "BEGINS", "WAITS", "OVER", "ENDING", "REMEDY")]
    for number, one in enumerate(view.remediations[:_MOST_REMEDIATIONS], 1):
        times = (clock(one.unhealthy_at, lasts), clock(one.begins_at, lasts))
        over = clock(one.over_at, lasts) if one.over_at is not None else "-"
        waits = spell_seconds(one.waited)
        rows.append((str(number), one.node, *times, waits, over, one.ending, f"{one.number}: {one.remedy}"))
    yield from align(rows)
    more = len(view.remediations) - _MOST_REMEDIATIONS
    if more > 0:
        yield f"And {more} more; -o json has them all."


def _held(held: tuple[HeldNodesView, ...]) -> Iterator[str]:
    rows = [("HELD", "LONGEST", "STILL", "WHY")]
    for one in held:
        counts = (str(len(one.nodes)), spell_seconds(one.longest), str(len(one.still) or "-"))
        rows.append((*counts, one.sentence))
    yield from align(rows)
