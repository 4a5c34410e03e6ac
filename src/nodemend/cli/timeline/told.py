"""What events tell, as drafts. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from nodemend.api.timestamps import written_moment
from nodemend.cli.timeline.drafts import Draft
from nodemend.cli.timeline.story import ELSE, STORIES, Story
from nodemend.cli.timeline.view import Lane, Mark
from nodemend.kube.event_record import EventWire
from nodemend.telemetry.event_reasons import EVENT_REASONS, REMEDIATION_HELD

_OURS: Final = frozenset(one.word for one in EVENT_REASONS)
_CHECKER: Final = "checker"


def told(events: Iterable[EventWire]) -> Iterator[Draft]:
    for event in events:
        at = written_moment(event.first_time)
        if at is None:
            continue
        story = STORIES.get(event.reason) or ELSE.get(event.regarding.kind) or Story(Lane.NODE)
        last = written_moment(event.last_time)
        by = f" by {event.reporter}" if event.reporter and event.reason not in _OURS else ""
        yield Draft(
            at=at,
            lane=_lane(event, story),
            what=_what(event, story),
            source=f"event {event.reason}{by}",
            key=story.key,
            mark=_mark(event, story),
            evidence=story.evidence,
            because=event.note if story.evidence else "",
            begins=story.begins,
            told=True,
            times=event.count,
            last=last if event.count > 1 else None,
        )


def _what(event: EventWire, story: Story) -> str:
    said = event.note or f"{event.reason}."
    before = story.evidence or story.means
    return f"{before}: {said}" if before else said


def _lane(event: EventWire, story: Story) -> Lane:
    """A hold is told by whoever holds: the checker before there is a remediation, the remediator after."""
    held_early = event.reason == REMEDIATION_HELD.word and _CHECKER in event.reporter
    return Lane.CHECK if held_early else story.lane


def _mark(event: EventWire, story: Story) -> Mark:
    """A warning that nobody has heard of is trouble; of the others, the table says what is."""
    unheard_of = event.reason not in STORIES and event.type == "Warning"
    return Mark.TROUBLE if unheard_of else story.mark
