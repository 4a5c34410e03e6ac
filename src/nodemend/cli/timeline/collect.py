"""Reads the facts of a timeline, and converts events to entries by a table of event reasons.

The facts are the current objects around a node, and their events. The table gives for each event its lane and
the states that begin with it. A draft is one entry of one source, before those of all sources are merged.
The conversion is pure. Both text and picture are rendered from the view alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final

from nodemend.api.meta import written_moment
from nodemend.api.resources import BARE_METAL_HOST, EVENT
from nodemend.cli.cluster import Cluster
from nodemend.cli.node_report import NodeCase, gather_case
from nodemend.kube.events import EventWire
from nodemend.kube.request import Selection
from nodemend.records.live_reads import value_of
from nodemend.safety.facts import Present, Unreadable
from nodemend.telemetry import event_reasons as ours
from nodemend.telemetry.event_reasons import EVENT_REASONS, REMEDIATION_HELD


@dataclass(frozen=True, slots=True)
class TimelineFacts:
    """The facts of one node. `unread` lists the events that could not be read."""

    case: NodeCase
    events: tuple[EventWire, ...] = ()
    unread: tuple[str, ...] = ()


async def gather(cluster: Cluster, name: str) -> TimelineFacts:
    """Read the facts. Writes nothing. Raises CommandFailure if there is neither a Node nor a remediation."""
    case = await gather_case(cluster, name)
    events: list[EventWire] = []
    unread = []
    for kind, object_name, namespace in _events_of(case):
        # Events of the older API have the same storage, so the newer API returns them as well.
        fields = f"regarding.kind={kind},regarding.name={object_name}"
        found = await cluster.all(EVENT, EventWire, Selection(namespace, fields=fields))
        if isinstance(found, Present):
            events += found.value
        elif isinstance(found, Unreadable):
            unread.append(f"Events of {kind} {object_name} cannot be read: {found.why}.")
    return TimelineFacts(case, tuple(events), tuple(unread))


def _events_of(case: NodeCase) -> list[tuple[str, str, str]]:
    """Return kind, name and namespace of the objects whose events are included."""
    about = [("Node", case.name, "")]
    if isinstance(case.host, Present):
        host = case.host.value.metadata
        about.append(("BareMetalHost", host.name, host.namespace))
    behind = value_of(case.behind)
    if behind is not None:
        machine = behind.machine.metadata
        about.append(("Machine", machine.name, machine.namespace))
    return about


class Lane(StrEnum):
    """The actor of a change, or the object that changes."""

    NODE = "node"
    CHECK = "check"
    REMEDIATION = "remediation"
    HOST = "host"
    WORKLOADS = "workloads"


class Emphasis(StrEnum):
    """Importance of a moment."""

    PLAIN = "plain"
    PROBLEM = "trouble"
    EVIDENCE = "evidence"
    RELEASE = "release"


class Tone(StrEnum):
    """Meaning of a state, shown as its colour."""

    WELL = "well"
    WAITS = "waits"
    SICK = "sick"
    WORKS = "works"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class LaneState:
    """A state that has a duration."""

    label: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One change. `key` is stable, for programs; empty if the change has no key."""

    at: datetime
    lane: Lane
    what: str
    key: str = ""
    mark: Emphasis = Emphasis.PLAIN
    evidence: str = ""
    """E1 to E5, if this evidence was obtained or the change is based on it."""
    because: str = ""
    """Description of the evidence."""
    sources: tuple[str, ...] = ()
    times: int = 1
    """Number of occurrences, the last one at `last`."""
    last: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Duration of a state in its lane; `end` is None if it still lasts."""

    lane: Lane
    state: LaneState
    begin: datetime
    end: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseView:
    """A release of workloads, its time and evidence. `evidence` is empty if it is no longer recorded."""

    at: datetime
    evidence: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Seconds that a phase took; until now if it still lasts."""

    name: str
    seconds: float
    lasts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """`moments` and `bars` are in order of time. `earlier` counts moments before the requested period."""

    kind: ClassVar[str] = "Timeline"
    node: str
    now: datetime
    state: str
    moments: tuple[Moment, ...]
    bars: tuple[Bar, ...]
    releases: tuple[ReleaseView, ...]
    measures: tuple[Measure, ...]
    earlier: int
    since_seconds: float
    unread: tuple[str, ...]
    notes: tuple[str, ...]
    next_step: str


OVER: Final = LaneState("", Tone.WELL)
"""The lane's last state has ended."""

READY: Final = LaneState("Ready", Tone.WELL)
SILENT: Final = LaneState("silent", Tone.WAITS)
NOT_READY: Final = LaneState("not Ready", Tone.SICK)

SUSPECT: Final = LaneState("suspect", Tone.WAITS)
UNHEALTHY: Final = LaneState("unhealthy", Tone.SICK)
REMEDIATING: Final = LaneState("remediating", Tone.WORKS)

FENCE: Final = LaneState("fence", Tone.WAITS)
RELEASE: Final = LaneState("release", Tone.WORKS)
RECOVER: Final = LaneState("recover", Tone.WELL)
BACK_OFF: Final = LaneState("back off", Tone.WAITS)
REPLACEMENT: Final = LaneState("replace", Tone.SICK)
FAILED: Final = LaneState("failed", Tone.SICK)
ENDING: Final = LaneState("ending", Tone.WAITS)
REMEDIATION: Final = LaneState("remediation", Tone.WORKS)
"""A remediation of which only start and end are known."""

GOING_OFF: Final = LaneState("held off", Tone.WAITS)
OFF: Final = LaneState("off", Tone.DARK)
GOING_ON: Final = LaneState("let on", Tone.WAITS)
ON: Final = LaneState("on", Tone.WELL)

HELD: Final = LaneState("held back", Tone.WAITS)
HELD_AGAIN: Final = LaneState("held back again", Tone.WAITS)
LEAVING: Final = LaneState("leaving", Tone.WORKS)
ELSEWHERE: Final = LaneState("free to run elsewhere", Tone.WELL)

LaneStart = tuple[Lane, LaneState]


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentDraft(Moment):
    """A moment with one source, before it is merged with those of the other sources.

    Entries of events are flagged: if an event and a status describe the same change, the event's text is
    shown.
    """

    begins: tuple[LaneStart, ...] = ()
    from_event: bool = False


_NODE, _CHECK, _REMEDIATION, _HOST, _WORKLOADS = Lane


@dataclass(frozen=True, slots=True)
class ChangeMeaning:
    """Meaning of an event or of a recorded state. `key` is set if both may report the same change."""

    lane: Lane
    begins: tuple[LaneStart, ...] = ()
    key: str = ""
    mark: Emphasis = Emphasis.PLAIN
    evidence: str = ""
    means: str = ""
    """Text before the event's message, if the message alone could be misunderstood as more than it means."""

    def draft(self, at: datetime, what: str, source: str, because: str = "") -> MomentDraft:
        return MomentDraft(
            at=at,
            lane=self.lane,
            what=what,
            sources=(source,),
            key=self.key,
            mark=self.mark,
            evidence=self.evidence,
            because=because,
            begins=self.begins,
        )


def problem_meaning(lane: Lane, begins: tuple[LaneStart, ...] = (), key: str = "") -> ChangeMeaning:
    return ChangeMeaning(lane, begins, key, Emphasis.PROBLEM)


def evidence_meaning(class_: str, *begins: LaneStart) -> ChangeMeaning:
    """The release begins with evidence of any class."""
    start = ((_REMEDIATION, RELEASE), *begins)
    return ChangeMeaning(_REMEDIATION, start, "evidence", Emphasis.EVIDENCE, class_)


STORIES: Final[dict[str, ChangeMeaning]] = {
    ours.NODE_SUSPECT.name: ChangeMeaning(_CHECK, ((_CHECK, SUSPECT),)),
    ours.NODE_UNHEALTHY.name: ChangeMeaning(_CHECK, ((_CHECK, UNHEALTHY),), "unhealthy"),
    ours.NODE_HEALTHY.name: ChangeMeaning(_CHECK, ((_CHECK, OVER),), "healthy"),
    ours.MACHINE_UNHEALTHY.name: ChangeMeaning(_CHECK, ((_CHECK, UNHEALTHY),), "unhealthy"),
    ours.MACHINE_HEALTHY.name: ChangeMeaning(_CHECK, ((_CHECK, OVER),), "healthy"),
    ours.CHECK_OVERLAPPED.name: problem_meaning(_CHECK),
    ours.CHECK_STALLED.name: problem_meaning(_CHECK),
    ours.REMEDIATION_UNSERVED.name: problem_meaning(_CHECK),
    ours.REMEDIATION_ORDERED.name: ChangeMeaning(_CHECK),
    ours.OVERRIDE_USED.name: problem_meaning(_CHECK),
    ours.ORDER_EXPIRED.name: ChangeMeaning(_CHECK),
    ours.POLICY_NOT_PROVEN.name: problem_meaning(_REMEDIATION),
    ours.REMEDIATION_STARTED.name: ChangeMeaning(
        _CHECK, ((_CHECK, REMEDIATING), (_REMEDIATION, FENCE)), "started"
    ),
    ours.REMEDIATION_WITHDRAWN.name: ChangeMeaning(_CHECK, ((_CHECK, OVER),), "withdrawn"),
    ours.REMEDIATION_ESCALATED.name: problem_meaning(_CHECK, ((_CHECK, UNHEALTHY),)),
    ours.DELEGATE_CREATED.name: ChangeMeaning(_REMEDIATION),
    ours.DELEGATE_DELETED.name: ChangeMeaning(_REMEDIATION),
    ours.REMEDIATION_ANNOTATION_CLEARED.name: ChangeMeaning(_CHECK),
    ours.REMEDIATION_ANNOTATION_IGNORED.name: problem_meaning(_CHECK),
    ours.REMEDIATION_HELD.name: ChangeMeaning(_REMEDIATION),
    ours.STILL_HELD.name: ChangeMeaning(_CHECK),
    ours.RECOVERY_STARTED.name: ChangeMeaning(_CHECK),
    ours.RECOVERY_SUCCEEDED.name: ChangeMeaning(_CHECK),
    ours.RECOVERY_FAILED.name: problem_meaning(_CHECK),
    ours.RECOVERY_WITHDRAWN.name: ChangeMeaning(_CHECK),
    ours.OPERATOR_CONFIRMED_OFF.name: evidence_meaning("E5"),
    ours.POWER_OFF_REQUESTED.name: ChangeMeaning(
        _REMEDIATION, ((_REMEDIATION, FENCE), (_HOST, GOING_OFF)), "held-off"
    ),
    ours.POWER_OFF_CONFIRMED.name: evidence_meaning("E1", (_HOST, OFF)),
    ours.POWER_ON_REQUESTED.name: ChangeMeaning(_HOST, ((_HOST, GOING_ON),), "let-on"),
    ours.POWER_NOT_RESTORED.name: problem_meaning(_HOST, ((_REMEDIATION, OVER),)),
    ours.POWER_OFF_REQUEST_LEFT_BEHIND.name: problem_meaning(_HOST),
    ours.POWER_CYCLE_FAILED.name: problem_meaning(
        _REMEDIATION, ((_REMEDIATION, BACK_OFF),), "attempt-failed"
    ),
    ours.REMEDIATION_FAILED.name: problem_meaning(_REMEDIATION, ((_REMEDIATION, FAILED),), "failed"),
    ours.HOST_MARKED_UNHEALTHY.name: problem_meaning(_HOST),
    ours.MACHINE_REPLACEMENT_REQUESTED.name: problem_meaning(
        _REMEDIATION, ((_REMEDIATION, REPLACEMENT),), "handed-over"
    ),
    # This event may be repeated after there is evidence, so no phase begins with it.
    ours.SELF_FENCING_REQUESTED.name: ChangeMeaning(_REMEDIATION, key="asked-to-end"),
    ours.BOOT_END_PROVEN.name: evidence_meaning("E4"),
    ours.NEW_BOOT_OBSERVED.name: evidence_meaning("E2"),
    ours.MARKER_REMOVED.name: ChangeMeaning(_REMEDIATION, key="marker-off"),
    ours.EVIDENCE_REVOKED.name: problem_meaning(
        _REMEDIATION, ((_REMEDIATION, FENCE), (_WORKLOADS, HELD_AGAIN)), "voided"
    ),
    ours.RELEASE_STARTED.name: ChangeMeaning(
        _WORKLOADS, ((_WORKLOADS, LEAVING),), "release", Emphasis.RELEASE
    ),
    ours.WORKLOADS_RELEASED.name: ChangeMeaning(
        _WORKLOADS, ((_WORKLOADS, ELSEWHERE), (_REMEDIATION, RECOVER)), "gone"
    ),
    ours.OUT_OF_SERVICE_TAINT_REMOVED.name: ChangeMeaning(_WORKLOADS),
    ours.NODE_RESTORED.name: ChangeMeaning(_NODE),
    ours.NODE_NOT_RESTORED.name: problem_meaning(_NODE),
    ours.NODE_CONTRADICTED_EVIDENCE.name: problem_meaning(_NODE, key="contradicted"),
    ours.REMEDIATION_SUCCEEDED.name: ChangeMeaning(
        _REMEDIATION, ((_REMEDIATION, OVER), (_HOST, OVER)), "succeeded"
    ),
    ours.REMEDIATION_STOPPED.name: ChangeMeaning(
        _REMEDIATION, ((_REMEDIATION, OVER), (_HOST, OVER)), "stopped"
    ),
    # Events of the kubelet and of Kubernetes' own controllers.
    "NodeNotReady": ChangeMeaning(_NODE, ((_NODE, NOT_READY), (_WORKLOADS, HELD)), "not-ready"),
    "NodeReady": ChangeMeaning(_NODE, ((_NODE, READY), (_WORKLOADS, OVER)), "ready"),
    "Rebooted": ChangeMeaning(_NODE, key="rebooted"),
    # Events of metal3's operator about an accepted request, not about actual power, so no state begins.
    "PowerOff": ChangeMeaning(_HOST, means="metal3 requested power off"),
    "PowerOn": ChangeMeaning(_HOST, means="metal3 requested power on"),
    "PowerManagementError": problem_meaning(_HOST),
    "BMCCredentialError": problem_meaning(_HOST),
}
"""Meanings by event reason. A status that reports the same change has the same meaning."""

_OURS: Final = frozenset(one.name for one in EVENT_REASONS)
_CHECKER: Final = "checker"


def from_events(events: Iterable[EventWire]) -> Iterator[MomentDraft]:
    for event in events:
        at = written_moment(event.first_time)
        if at is None:
            continue
        meaning = _meaning(event)
        by = f" by {event.reporter}" if event.reporter and event.reason not in _OURS else ""
        because = event.note if meaning.evidence else ""
        draft = meaning.draft(at, _what(event, meaning), f"event {event.reason}{by}", because)
        last = written_moment(event.last_time) if event.count > 1 else None
        yield replace(draft, from_event=True, times=event.count, last=last)


def _meaning(event: EventWire) -> ChangeMeaning:
    """Return the meaning by the table. An unknown event concerns its object; a warning is a problem."""
    known = STORIES.get(event.reason)
    if known is None:
        lane = _HOST if event.regarding.kind == BARE_METAL_HOST.kind else _NODE
        return problem_meaning(lane) if event.type == "Warning" else ChangeMeaning(lane)
    if event.reason == REMEDIATION_HELD.name and _CHECKER in event.reporter:
        # The component that holds emits the event: the checker before the remediation exists, the remediator
        # afterwards.
        return replace(known, lane=_CHECK)
    return known


def _what(event: EventWire, meaning: ChangeMeaning) -> str:
    said = event.note or f"{event.reason}."
    before = meaning.evidence or meaning.means
    return f"{before}: {said}" if before else said
