"""Compares a recorded scenario with the run of the simulated operator: every difference, as text.

Compared are, step by step: the writes to the host with exactly the fields that each changed, in order, and no
others; the commands that reached the BMC, in order; and the times of both. Over the whole scenario: how often
each event was published. Events have times in whole seconds, so the step of an event is unknown.

Times: the simulation runs with the smallest and with the largest random delays, and the recorded time must
lie between the two results, or outside by no more than a tolerance.

Status writes that change only `lastUpdated`: this field has whole seconds, and a write without a change
creates no event. So a watcher sees such a write only if the second has changed since the write before it,
and:
- each recorded one must be matched, in its place, by a simulated one;
- each simulated one must be matched, or follow another write within a second, which can hide it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Generic, TypeVar

from tests.campaigns.host_conformance.recorded_states import Sighting
from tests.campaigns.host_conformance.recordings import Change, Scenario, Step
from tests.campaigns.host_conformance.replay import Played, PlayedStep
from tests.campaigns.host_conformance.tolerances import Tolerance, tolerance

VISIBLE_AFTER: Final = 1.0


@dataclass(frozen=True, slots=True)
class Aligned:
    """The simulated sighting of each recorded change, and the differences."""

    pairs: list[tuple[Change, Sighting]]
    differences: list[str]


def compare(scenario: Scenario, least: Played, most: Played) -> list[str]:
    found = [*least.failures, *most.failures]
    both = zip(scenario.steps, least.steps, most.steps, strict=True)
    for number, (step, one, other) in enumerate(both, start=1):
        allowed = tolerance(scenario.name, number)
        of_step = [*_compare_changes(step, one, other, allowed), *_compare_orders(step, one, other, allowed)]
        found += [f"step {number} ({step.verb}): {difference}" for difference in of_step]
    recorded = sum((step.events for step in scenario.steps), type(least.events)())
    for played in (least, most):
        found += [
            f"event {reason}: recorded {recorded[reason]} times, ours {played.events[reason]}"
            for reason in sorted(recorded | played.events)
            if recorded[reason] != played.events[reason]
        ]
    return list(dict.fromkeys(found))


def _compare_changes(step: Step, least: PlayedStep, most: PlayedStep, allowed: Tolerance) -> list[str]:
    one, other = align(step, least), align(step, most)
    if one.differences or other.differences:
        return [*one.differences, *other.differences]
    return [
        wrong
        for (change, early), (_, late) in zip(one.pairs, other.pairs, strict=True)
        for wrong in _evaluate_time(_shown(change), change.after, (early.at, late.at), allowed)
    ]


def _compare_orders(step: Step, least: PlayedStep, most: PlayedStep, allowed: Tolerance) -> list[str]:
    recorded = [one.order for one in step.orders]
    for played in (least, most):
        ours = [one.order for one in played.orders]
        if ours != recorded:
            return [f"orders to the BMC: recorded {recorded}, ours {ours}"]
    return [
        wrong
        for order, one, other in zip(step.orders, least.orders, most.orders, strict=True)
        for wrong in _evaluate_time(order.order, order.after, (one.after, other.after), allowed)
    ]


def _evaluate_time(what: str, recorded: float, ours: tuple[float, float], allowed: Tolerance) -> list[str]:
    first, last = min(ours), max(ours)
    if first - allowed.early <= recorded <= last + allowed.late:
        return []
    return [f"{what} at {recorded} s, ours at {first:.2f} to {last:.2f} s"]


def align(step: Step, played: PlayedStep) -> Aligned:
    """Pair changes of fields in order; between two of them, the writes that changed nothing else."""
    recorded = [change for change in step.changes if change.set]
    ours = [one for one in played.recorded if one.set]
    if [change.set for change in recorded] != [one.set for one in ours]:
        return Aligned([], [_first_difference(recorded, ours)])
    pairs: list[tuple[Change, Sighting]] = []
    found: list[str] = []
    saved_at = played.saved_before
    for gap, between in zip(_gaps(step.changes), _gaps(played.recorded), strict=True):
        chosen = _nearest(gap.bare, between.bare)
        if chosen is None:
            found.append(
                f"{len(gap.bare)} bare saves recorded, {len(between.bare)} of ours before {_shown(gap.end)}"
            )
            continue
        pairs += zip(gap.bare, chosen, strict=True)
        for save in between.bare:
            if save not in chosen and save.at - saved_at >= VISIBLE_AFTER:
                found.append(f"a save at {save.at:.2f} s that was not recorded")
            saved_at = save.at
        if gap.end is not None and between.end is not None:
            pairs.append((gap.end, between.end))
            found += _evaluate_moved(gap.end, between.end, saved_at)
            saved_at = between.end.at if between.end.saved else saved_at
    return Aligned(pairs, found)


def _evaluate_moved(change: Change, ours: Sighting, saved_at: float) -> list[str]:
    """Check whether the recorded time of the write can have moved, or not, with a write like the simulated
    one.
    """
    if change.moved and not ours.saved:
        return [f"{_shown(change)} was a save, ours is not"]
    if ours.saved and not change.moved and ours.at - saved_at >= VISIBLE_AFTER:
        return [f"{_shown(change)} followed another save at once, ours does not"]
    return []


T = TypeVar("T", Change, Sighting)


@dataclass(slots=True)
class _Gap(Generic[T]):
    """Writes without other changes, and the change of fields that ends them; None at the end of the step."""

    bare: list[T]
    end: T | None = None


def _gaps(writes: Sequence[T]) -> list[_Gap[T]]:
    gaps: list[_Gap[T]] = [_Gap([])]
    for one in writes:
        if one.set:
            gaps[-1].end = one
            gaps.append(_Gap([]))
        else:
            gaps[-1].bare.append(one)
    return gaps


def _nearest(recorded: list[Change], ours: list[Sighting]) -> list[Sighting] | None:
    """As many simulated ones as were recorded, in order, with the nearest times. None: there are too few."""
    if len(ours) < len(recorded):
        return None

    def apart(chosen: Iterable[Sighting]) -> float:
        return sum(abs(one.at - change.after) for change, one in zip(recorded, chosen, strict=True))

    return list(min(combinations(ours, len(recorded)), key=apart))


def _first_difference(recorded: list[Change], ours: list[Sighting]) -> str:
    for change, one in zip(recorded, ours, strict=False):
        if change.set != one.set:
            return f"recorded {_shown(change)}, ours {one.set} at {one.at:.2f} s"
    if len(recorded) > len(ours):
        return f"recorded {_shown(recorded[len(ours)])}, ours nothing"
    extra = ours[len(recorded)]
    return f"recorded nothing more, ours {extra.set} at {extra.at:.2f} s"


def _shown(change: Change | None) -> str:
    if change is None:
        return "the end"
    return str(change.set) if change.set else "a save"
