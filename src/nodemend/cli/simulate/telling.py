"""From a story to what is said of it."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from nodemend.api.quantities import parse_duration
from nodemend.api.remediation_policy import Mode
from nodemend.cli.next_steps import split_step
from nodemend.cli.simulate.given import given_view
from nodemend.cli.simulate.invention import SILENT
from nodemend.cli.simulate.plan import Plan
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.cli.simulate.spells import Sort, Spell
from nodemend.cli.simulate.story import Story, What
from nodemend.cli.simulate.view import (
    GivenView,
    HeldView,
    RemediationView,
    SimulateView,
    StepView,
    TotalsView,
)
from nodemend.cli.words import spell_seconds
from nodemend.decide.explanation import spell_count
from nodemend.decide.hold_explanations import explain


def tell(snapshot: Snapshot, plan: Plan, story: Story) -> SimulateView:
    given = given_view(snapshot, story.watched)
    held = tuple(_held(story, plan.lasts))
    totals = _totals(story, held, plan.lasts)
    step = split_step(_next_step(given, totals, held, plan))
    return SimulateView(
        given=given,
        for_seconds=plan.lasts,
        totals=totals,
        steps=tuple(
            StepView(
                at=one.at,
                what=one.what,
                nodes=tuple(one.nodes),
                reason=one.reason,
                scope=one.sort[1] if one.sort is not None else "",
                why=one.why,
            )
            for one in story.steps
        ),
        remediations=tuple(_remediations(story)),
        held=held,
        assumed=tuple(_assumed(snapshot, plan, given)),
        advice=step.advice,
        next_step=step.command,
    )


def _remediations(story: Story) -> Iterator[RemediationView]:
    for one in story.attempts:
        yield RemediationView(
            node=one.node,
            check=one.check,
            remedy=one.remedy,
            number=one.number,
            unhealthy_at=one.unhealthy_at,
            waited=one.waited,
            begins_at=one.begun_at,
            over_at=one.over_at,
            ending=one.ending,
        )


def _held(story: Story, lasts: int) -> Iterator[HeldView]:
    """In the order in which each sort first held somebody."""
    spells: defaultdict[Sort, list[Spell]] = defaultdict(list)
    for spell in sorted(story.spells.all(), key=lambda one: (one.since, one.node)):
        spells[spell.sort].append(spell)
    for sort, of_sort in spells.items():
        reason = story.spells.reason(sort)
        explanation = explain(reason)
        yield HeldView(
            reason=type(reason).__name__,
            sentence=explanation.sentence,
            next_step=explanation.next_step,
            nodes=tuple(sorted({spell.node for spell in of_sort})),
            longest=max(spell.lasted(lasts) for spell in of_sort),
            still=tuple(sorted(spell.node for spell in of_sort if spell.until is None)),
        )


def _totals(story: Story, held: tuple[HeldView, ...], lasts: int) -> TotalsView:
    held_for: Counter[str] = Counter()
    for spell in story.spells.all():
        held_for[spell.node] += int(spell.lasted(lasts))
    return TotalsView(
        failed=len(_nodes_that(story, What.FAIL)),
        unhealthy=len(_nodes_that(story, What.UNHEALTHY)),
        remediated=len({one.node for one in story.attempts}),
        begun=len(story.attempts),
        most_at_once=story.most_at_once,
        held=len({node for one in held for node in one.nodes}),
        still_held=len({node for one in held for node in one.still}),
        longest_held=max(held_for.values(), default=0),
    )


def _nodes_that(story: Story, what: What) -> set[str]:
    return {node for step in story.steps if step.what is what for node in step.nodes}


def _assumed(snapshot: Snapshot, plan: Plan, given: GivenView) -> Iterator[str]:
    takes = spell_seconds(plan.remediation_takes)
    sick = " ".join(choice.written for choice in plan.stays_sick)
    but = f", but for {sick}" if sick else ""
    yield f"A remediation takes {takes}, and then the node is back{but}."
    if any(0 < limit < plan.remediation_takes for limit in _timeouts(snapshot)):
        yield "A remedy whose timeout is shorter is given up before."
    if any(check.spec.recovery is not None for check in snapshot.checks):
        yield "Recoveries succeed at once."
    if given.under_remediation:
        yield f"So do those that are under way ({given.under_remediation}): how far they are cannot be seen."
    if plan.fails and plan.symptom == SILENT:
        yield (
            f"Whoever fails is {plan.symptom} at once; in a cluster that comes about 50s after a node fell"
            " silent."
        )
    elif plan.fails:
        yield f"Whoever fails shows {plan.symptom} at once."
    if snapshot.machine_checks:
        left_out = spell_count(snapshot.machine_checks, "MachineHealthCheck is", "MachineHealthChecks are")
        yield f"{left_out} left out: only NodeHealthChecks act here."
    yield from snapshot.unread
    yield (
        "The API server always answers, and the checker looks at once; in a cluster those who are held are"
        " looked at in turns, some seconds later."
    )


def _timeouts(snapshot: Snapshot) -> Iterator[float]:
    for check in snapshot.checks:
        for remedy in check.spec.remedies:
            if remedy.timeout is not None:
                yield parse_duration(remedy.timeout).total_seconds()


def _next_step(given: GivenView, totals: TotalsView, held: tuple[HeldView, ...], plan: Plan) -> str:
    if totals.failed and not totals.unhealthy:
        return f"no check calls {plan.symptom} unhealthy within that time; see --symptom and --for."
    if given.rules.mode != Mode.ACT or given.rules.paused:
        return "to see what would be done in earnest, add --act"
    if still := [one for one in held if one.still]:
        most = max(still, key=lambda one: len(one.still))
        return f"{spell_count(len(most.still), 'node is', 'nodes are')} still held. {most.next_step}"
    if not plan.fails:
        return "invent a failure: kubectl mend simulate --fail '*:30%@2m'"
    return "compare with another policy: --diff FILE."
