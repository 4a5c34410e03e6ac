"""One thing that one source tells, before it is put together with what the others tell."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nodemend.cli.timeline.view import Lane, Mark, State, Tone

OVER: Final = State("", Tone.WELL)
"""What lasted in a lane lasts no longer."""

READY: Final = State("Ready", Tone.WELL)
SILENT: Final = State("silent", Tone.WAITS)
NOT_READY: Final = State("not Ready", Tone.SICK)

SUSPECT: Final = State("suspect", Tone.WAITS)
UNHEALTHY: Final = State("unhealthy", Tone.SICK)
REMEDIATING: Final = State("remediating", Tone.WORKS)

FENCE: Final = State("fence", Tone.WAITS)
RELEASE: Final = State("release", Tone.WORKS)
RECOVER: Final = State("recover", Tone.WELL)
BACK_OFF: Final = State("back off", Tone.WAITS)
HAND_OVER: Final = State("replace", Tone.SICK)
FAILED: Final = State("failed", Tone.SICK)
ENDING: Final = State("ending", Tone.WAITS)
REMEDIATION: Final = State("remediation", Tone.WORKS)
"""Of which only begin and end are known."""

GOING_OFF: Final = State("held off", Tone.WAITS)
OFF: Final = State("off", Tone.DARK)
GOING_ON: Final = State("let on", Tone.WAITS)
ON: Final = State("on", Tone.WELL)

HELD: Final = State("held back", Tone.WAITS)
HELD_AGAIN: Final = State("held back again", Tone.WAITS)
LEAVING: Final = State("leaving", Tone.WORKS)
ELSEWHERE: Final = State("free to run elsewhere", Tone.WELL)

Begin = tuple[Lane, State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """`told` when it is an event: of one thing that an event and a status tell, the event has the words."""

    at: datetime
    lane: Lane
    what: str
    source: str
    key: str = ""
    mark: Mark = Mark.PLAIN
    evidence: str = ""
    because: str = ""
    begins: tuple[Begin, ...] = ()
    told: bool = False
    times: int = 1
    last: datetime | None = None
