"""The steps in the life of a Metal3Remediation. Each is at most one write."""

from dataclasses import dataclass

from nodemend.api.node_deletion import NodeBackup
from nodemend.api.power_cycle import HeldHost, OffSighting, PowerOffEvent
from nodemend.decide.facts import NodeFacts
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.host_power import HostFacts
from nodemend.decide.release_gate import ReleaseTicket
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
    Release,
    ReportLeft,
    Stamp,
    TakeLock,
    Untaint,
    VoidOnNode,
)


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """Which node on which boot, on which host. The node is empty where the machine has none."""

    node: str
    node_uid: str
    boot_id: str
    host: HeldHost
    hardware_id: str = ""


@dataclass(frozen=True, slots=True)
class WantOff:
    """Record the version of the host in which it is on, and the PowerOff events that exist.

    The power-off may be requested on that version alone, and only an event that is not among those counts.
    """

    version: str
    events: tuple[PowerOffEvent, ...]


@dataclass(frozen=True, slots=True)
class PlaceHold:
    """The host goes off."""

    host: HostFacts


@dataclass(frozen=True, slots=True)
class NoteOff:
    """It is seen off for the first time: from here on nothing may happen to it, nor its node speak."""

    sighting: OffSighting


@dataclass(frozen=True, slots=True)
class BackUp:
    """Write down what others wrote on the Node, before it is deleted."""

    kept: NodeBackup


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Release by deletion: the collector takes its pods."""

    ticket: ReleaseTicket


@dataclass(frozen=True, slots=True)
class Restore:
    """The new Node gets what the deleted one had and it lacks."""

    node: NodeFacts
    missing: NodeBackup


@dataclass(frozen=True, slots=True)
class ForgetBackup:
    """`refused` is what the API server said, where it does not let the Node have it back."""

    refused: str = ""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Our hold comes off; the host goes on if nobody else holds it."""

    host: HostFacts


@dataclass(frozen=True, slots=True)
class VoidHold:
    """A hold of ours that is still under way cannot land any more: its host gets another version."""

    host: HostFacts


@dataclass(frozen=True, slots=True)
class ClearVoidedHold:
    """What that left on the host comes off."""

    host: HostFacts


@dataclass(frozen=True, slots=True)
class GiveUp:
    """This attempt has failed; `for_good` when it was the last."""

    why: HoldReason
    for_good: bool


@dataclass(frozen=True, slots=True)
class BeginAgain:
    pass


@dataclass(frozen=True, slots=True)
class HandOver:
    """Power cycles did not help: the machine shall be replaced while its host is held off."""


@dataclass(frozen=True, slots=True)
class MarkHost:
    """So that the host is not picked for another machine."""

    host: HostFacts


@dataclass(frozen=True, slots=True)
class AskOwner:
    """The machine's owner is asked to replace it."""


Step = (
    AddFinalizer
    | Stamp
    | RecordTarget
    | TakeLock
    | WantOff
    | PlaceHold
    | NoteOff
    | RecordEvidence
    | Release
    | BackUp
    | DeleteNode
    | Restore
    | ForgetBackup
    | ReportLeft
    | MarkReleased
    | Untaint
    | ForgetTaint
    | VoidOnNode
    | ForgetEvidence
    | ClearVoidMark
    | GiveBack
    | VoidHold
    | ClearVoidedHold
    | GiveUp
    | BeginAgain
    | HandOver
    | MarkHost
    | AskOwner
    | Close
    | DropLock
    | DropFinalizer
    | Done
    | Hold
)
