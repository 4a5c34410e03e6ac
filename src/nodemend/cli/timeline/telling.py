"""The story of a node, from all that is told and recorded of it. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from nodemend.cli.node_case import PODS, NodeCase, is_ready, open_remediation
from nodemend.cli.timeline.bars import bars_of
from nodemend.cli.timeline.drafts import Draft
from nodemend.cli.timeline.facts import TimelineFacts
from nodemend.cli.timeline.measures import measure
from nodemend.cli.timeline.ordering import ranking
from nodemend.cli.timeline.recorded import recorded
from nodemend.cli.timeline.told import told
from nodemend.cli.timeline.view import Mark, Moment, Release, TimelineView
from nodemend.decide.facts import Absent, Present

SAME_WITHIN: Final = timedelta(seconds=30)
"""An event and a status that tell the same within this time tell of one thing."""
EVENTS_ARE_KEPT: Final = timedelta(hours=1)
"""By an API server that is not told otherwise."""
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
"""By their keys: on what was evidence before, nothing is released after."""
_FORGOTTEN: Final = (
    "Kubernetes keeps events for an hour, unless told otherwise: of what is older, only the objects tell."
)


def timeline_view(facts: TimelineFacts, since: timedelta) -> TimelineView:
    case = facts.case
    known = merge([*told(facts.events), *recorded(case)])
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


def merge(drafts: Sequence[Draft]) -> list[tuple[Moment, Draft]]:
    """One moment for each thing that happened, with the draft that has the words for it. In order of time."""
    merged: list[tuple[Moment, Draft]] = []
    key = ranking(drafts)
    for draft in sorted(drafts, key=key):
        place = _same(merged, draft)
        if place is None:
            merged.append((_moment(draft), draft))
            continue
        moment, before = merged[place]
        words = draft if draft.told else before
        named = (draft.source, *moment.sources) if draft.told else (*moment.sources, draft.source)
        found = draft if draft.evidence else before
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


def _same(merged: Sequence[tuple[Moment, Draft]], draft: Draft) -> int | None:
    """Where the same thing stands already."""
    for place in reversed(range(len(merged))):
        _, other = merged[place]
        if draft.at - other.at > SAME_WITHIN:
            return None
        if draft.key and other.key == draft.key and _tell_of_one(draft, other):
            return place
    return None


def _tell_of_one(draft: Draft, other: Draft) -> bool:
    """Each event tells something new. Two objects tell of one thing only where they say the very same time:
    a kubelet that spoke again a second later has spoken again."""
    if draft.told != other.told:
        return True
    return not draft.told and draft.at == other.at


def _moment(draft: Draft) -> Moment:
    return Moment(
        at=draft.at,
        lane=draft.lane,
        what=draft.what,
        key=draft.key,
        mark=draft.mark,
        evidence=draft.evidence,
        because=draft.because,
        sources=(draft.source,),
        times=draft.times,
        last=draft.last,
    )


def _with_release(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Where nobody tells any more when a release began, it is marked when it was seen done."""
    begun = False
    for one in moments:
        if one.key == "gone":
            yield one if begun else replace(one, mark=Mark.RELEASE)
            begun = False
        else:
            yield one
            begun = begun or one.mark is Mark.RELEASE


def _releases(moments: Iterable[Moment]) -> Iterator[Release]:
    """Each with the evidence before it, if that is of the same attempt and was not taken back."""
    evidence: Moment | None = None
    for one in moments:
        if one.mark is Mark.EVIDENCE:
            evidence = one
        elif one.mark is Mark.RELEASE:
            on = evidence or one
            yield Release(at=one.at, evidence=on.evidence, because=on.because)
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
