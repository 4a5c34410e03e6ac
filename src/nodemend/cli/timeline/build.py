"""Builds the timeline of a node from its events and the recorded state. Pure.

The entries come from several clocks, some of which have whole seconds only, so an entry without a fraction
comes after its causes in the same second. A bar begins when its state begins. The duration of a phase is that
of its last occurrence.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Final

from nodemend.cli.node_report import PODS, NodeCase, is_ready, open_remediation
from nodemend.cli.timeline.collect import (
    HELD,
    OVER,
    REMEDIATION,
    Bar,
    Emphasis,
    Lane,
    LaneStart,
    LaneState,
    Measure,
    Moment,
    MomentDraft,
    ReleaseView,
    TimelineFacts,
    TimelineView,
    from_events,
)
from nodemend.cli.timeline.recorded import recorded
from nodemend.safety.facts import Absent, Present


def bars_of(turns: Iterable[tuple[datetime, tuple[LaneStart, ...]]]) -> tuple[Bar, ...]:
    """Return the bars. A lane has one state at a time, and a bar without an end still lasts.

    `turns` are in causal order, which may differ from the order of their times.
    """
    lasting: dict[Lane, tuple[LaneState, datetime]] = {}
    bars: list[Bar] = []
    for at, begins in turns:
        for lane, state in begins:
            before = lasting.get(lane)
            if before is not None and not _ends(before[0], state):
                continue
            if before is not None:
                bars.append(Bar(lane=lane, state=before[0], begin=before[1], end=max(before[1], at)))
                del lasting[lane]
            if state != OVER:
                lasting[lane] = (state, at)
    bars += [Bar(lane=lane, state=state, begin=at, end=None) for lane, (state, at) in lasting.items()]
    return tuple(sorted((bar for bar in bars if bar.begin != bar.end), key=lambda bar: (bar.begin, bar.lane)))


def _ends(before: LaneState, state: LaneState) -> bool:
    """Return whether `state` ends `before`.

    HELD does not: leaving workloads are not held again by an absent node. REMEDIATION does not: it has less
    information than a state with known steps.
    """
    return state not in (before, HELD, REMEDIATION)


_CUT_SHORT: Final = ("failed", "stopped", "ended", "withdrawn", "voided", "attempt-failed")
_PARTS: Final = (
    ("silent", "last-life", "ready", ()),
    ("to fence", "started", "evidence", (*_CUT_SHORT, "gone")),
    ("to release", "evidence", "gone", _CUT_SHORT),
    ("to recover", "gone", "succeeded", _CUT_SHORT),
)
"""Name, key of the start, key of the end, and keys that cut the phase short."""


def measure(moments: Sequence[Moment], now: datetime) -> Iterator[Measure]:
    stands = [one for place, one in enumerate(moments) if not _is_revoked(moments[place:])]
    for name, first, last, cut_short in _PARTS:
        begins = [one.at for one in stands if one.key == first]
        if not begins:
            continue
        after = [one for one in stands if one.at >= begins[-1]]
        ends = [one.at for one in after if one.key == last]
        if ends:
            yield Measure(name=name, seconds=(ends[0] - begins[-1]).total_seconds())
        elif not any(one.key in cut_short for one in after):
            yield Measure(name=name, seconds=(now - begins[-1]).total_seconds(), lasts=True)


def _is_revoked(moments: Sequence[Moment]) -> bool:
    """Return whether the first moment is evidence that was revoked before there was other evidence."""
    first, *later = moments
    if first.key != "evidence":
        return False
    return next((one.key for one in later if one.key in ("evidence", "voided", "gone")), "") == "voided"


CAUSES: Final = (
    "last-life",
    "not-ready",
    "unhealthy",
    "started",
    "asked-to-end",
    "held-off",
    "off",
    "evidence",
    "release",
    "gone",
    "marker-off",
    "let-on",
    "on",
    "rebooted",
    "ready",
    "succeeded",
    "withdrawn",
    "ended",
    "healthy",
)
"""Keys in causal order: each one follows from earlier ones."""


def ranking(drafts: Iterable[MomentDraft]) -> Callable[[MomentDraft], tuple[datetime, int]]:
    """Return a sort key. Within one second, an entry without a fraction comes after its causes."""
    finely: defaultdict[datetime, list[MomentDraft]] = defaultdict(list)
    for draft in drafts:
        if draft.at.microsecond and draft.key in CAUSES:
            finely[draft.at.replace(microsecond=0)].append(draft)

    def key(draft: MomentDraft) -> tuple[datetime, int]:
        rank = _rank(draft)
        if draft.at.microsecond or draft.key not in CAUSES:
            return draft.at, rank
        causes = (other.at for other in finely[draft.at] if _rank(other) < rank)
        return max(causes, default=draft.at), rank

    return key


def _rank(draft: MomentDraft) -> int:
    return CAUSES.index(draft.key) if draft.key in CAUSES else len(CAUSES)


SAME_WITHIN: Final = timedelta(seconds=30)
"""An event and a status with the same key within this time describe the same change."""
EVENTS_ARE_KEPT: Final = timedelta(hours=1)
"""Retention time of events in an API server with default settings."""
_ENDS_EVIDENCE: Final = (
    "started",
    "voided",
    "gone",
    "attempt-failed",
    "failed",
    "succeeded",
    "stopped",
    "ended",
)
"""Keys after which no release is based on earlier evidence."""
_FORGOTTEN: Final = (
    "Kubernetes keeps events for an hour by default: older changes are known only from the state of objects."
)


def timeline_view(facts: TimelineFacts, since: timedelta) -> TimelineView:
    case = facts.case
    known = merge([*from_events(facts.events), *recorded(case)])
    kept = [one for one in known if one[0].at >= case.now - since]
    moments = tuple(_with_release(moment for moment, _ in kept))
    old = bool(moments) and moments[0].at < case.now - EVENTS_ARE_KEPT
    return TimelineView(
        node=case.name,
        now=case.now,
        state=_state(case),
        moments=moments,
        bars=bars_of([(moment.at, draft.begins) for moment, draft in kept]),
        releases=tuple(_releases(moments)),
        measures=tuple(measure(moments, case.now)),
        earlier=len(known) - len(kept),
        since_seconds=since.total_seconds(),
        unread=(*case.spell_unread(PODS), *facts.unread),
        notes=(_FORGOTTEN,) if old else (),
        next_step=_next_step(case),
    )


def merge(drafts: Sequence[MomentDraft]) -> list[tuple[Moment, MomentDraft]]:
    """Merge drafts into one moment per change, each with the draft whose text is shown. In order of time."""
    merged: list[tuple[Moment, MomentDraft]] = []
    key = ranking(drafts)
    for draft in sorted(drafts, key=key):
        place = _same(merged, draft)
        if place is None:
            merged.append((_moment(draft), draft))
            continue
        moment, before = merged[place]
        words = draft if draft.from_event else before
        named = [*draft.sources, *moment.sources] if draft.from_event else [*moment.sources, *draft.sources]
        found = draft if draft.evidence else moment
        merged[place] = (
            replace(
                _moment(words),
                sources=tuple(dict.fromkeys(named)),
                evidence=found.evidence,
                because=found.because,
            ),
            words,
        )
    return sorted(merged, key=lambda one: key(one[1]))


def _same(merged: Sequence[tuple[Moment, MomentDraft]], draft: MomentDraft) -> int | None:
    """Return the index of the entry for the same change; None if the change is new."""
    for place in reversed(range(len(merged))):
        _, other = merged[place]
        if draft.at - other.at > SAME_WITHIN:
            return None
        if draft.key and other.key == draft.key and _tell_of_one(draft, other):
            return place
    return None


def _tell_of_one(draft: MomentDraft, other: MomentDraft) -> bool:
    """Return whether two drafts with the same key describe the same change.

    Two events never do. Two objects do only if their times are equal: a kubelet that renews one second later
    has renewed again.
    """
    if draft.from_event != other.from_event:
        return True
    return not draft.from_event and draft.at == other.at


def _moment(draft: MomentDraft) -> Moment:
    return Moment(**{field.name: getattr(draft, field.name) for field in fields(Moment)})


def _with_release(moments: Iterable[Moment]) -> Iterator[Moment]:
    """If the start of a release is no longer recorded, mark its completion as the release."""
    begun = False
    for one in moments:
        if one.key == "gone":
            yield one if begun else replace(one, mark=Emphasis.RELEASE)
            begun = False
        else:
            yield one
            begun = begun or one.mark is Emphasis.RELEASE


def _releases(moments: Iterable[Moment]) -> Iterator[ReleaseView]:
    """Yield each release with the evidence before it, if this is of the same attempt and was not revoked."""
    evidence: Moment | None = None
    for one in moments:
        if one.mark is Emphasis.EVIDENCE:
            evidence = one
        elif one.mark is Emphasis.RELEASE:
            on = evidence or one
            yield ReleaseView(at=one.at, evidence=on.evidence, because=on.because)
        if one.key in _ENDS_EVIDENCE:
            evidence = None


def _state(case: NodeCase) -> str:
    match case.node:
        case Present(node):
            return f"Ready={node.ready}"
        case Absent():
            return "gone"
        case _:
            return "unknown"


def _next_step(case: NodeCase) -> str:
    if open_remediation(case) is not None:
        return f"kubectl mend tree {case.name}"
    return "nothing" if is_ready(case) else f"kubectl mend explain {case.name}"
