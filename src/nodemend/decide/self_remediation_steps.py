"""The steps of a SelfRemediation. Each is at most one write."""

from dataclasses import dataclass

from nodemend.api.agent_lease import Marker
from nodemend.api.evidence import Evidence
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_steps import (
    AddFinalizer,
    ClearVoidMark,
    Close,
    Done,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    RecordTarget,
    Release,
    ReportLeft,
    Stamp,
    TakeLock,
    Untaint,
    VoidOnNode,
)
from nodemend.decide.time_proof import Progress


@dataclass(frozen=True, slots=True)
class BeginFencing:
    """From here on others count it, and its marker may be on the Lease."""


@dataclass(frozen=True, slots=True)
class PlaceMarker:
    """On exactly this version of the Lease: a renewal that came first makes it fail."""

    agent: AgentFacts
    marker: Marker


@dataclass(frozen=True, slots=True)
class NoteMarker:
    """The marker was seen on this version. What was counted under another is void."""

    agent: AgentFacts


@dataclass(frozen=True, slots=True)
class NoteProgress:
    progress: Progress


@dataclass(frozen=True, slots=True)
class RecordProof:
    """Time has proven it."""

    progress: Progress
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class TakeMarkerOff:
    agent: AgentFacts


StatusStep = (
    Stamp
    | RecordTarget
    | BeginFencing
    | NoteMarker
    | NoteProgress
    | RecordProof
    | RecordEvidence
    | ReportLeft
    | MarkReleased
    | ForgetTaint
    | ForgetEvidence
    | Close
    | Hold
)
"""Written to the remediation's own status."""

MarkerStep = PlaceMarker | TakeMarkerOff
"""Written to the Lease that the node has with us."""

Step = (
    StatusStep
    | MarkerStep
    | AddFinalizer
    | TakeLock
    | DropLock
    | Release
    | Untaint
    | VoidOnNode
    | ClearVoidMark
    | DropFinalizer
    | Done
)
