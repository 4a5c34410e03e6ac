"""The steps that remediations of several kinds have in common. Each is at most one write."""

from dataclasses import dataclass

from nodemend.api.evidence import Evidence
from nodemend.decide.facts import NodeFacts
from nodemend.decide.holds import HoldReason
from nodemend.decide.release_gate import ReleaseTicket


@dataclass(frozen=True, slots=True)
class Left:
    """What a release still waits for."""

    pods: int
    attachments: int


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    pass


@dataclass(frozen=True, slots=True)
class Stamp:
    """Write our epoch, so that the API server refuses all earlier leaders from here on.

    `forgets` what was gathered towards evidence in a leadership that this process does not remember.
    """

    forgets: bool = False


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """`name` is the node's, where the remediation may have another."""

    node_uid: str
    boot_id: str
    name: str = ""
    hardware_id: str = ""


@dataclass(frozen=True, slots=True)
class TakeLock:
    pass


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Release:
    ticket: ReleaseTicket


@dataclass(frozen=True, slots=True)
class ReportLeft:
    left: Left


@dataclass(frozen=True, slots=True)
class MarkReleased:
    """`taint_stays` is another's out-of-service taint, which is not ours to remove; empty where is none.

    `contradicted` when the boot that was vouched for ran on after the release had begun.
    """

    taint_stays: str = ""
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class Untaint:
    """Take our taint off. `contradicted` when the boot that was vouched for is alive.

    `mark` voids the evidence on the Node in the same write, as VoidOnNode does; empty where it need not be.
    """

    node: NodeFacts
    contradicted: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ForgetTaint:
    pass


@dataclass(frozen=True, slots=True)
class VoidOnNode:
    node: NodeFacts
    mark: str


@dataclass(frozen=True, slots=True)
class ForgetEvidence:
    """`why` it no longer stands; None when the remediation is ending and needs none.

    `contradicted` when a release had begun on it, and the boot that was vouched for was alive.
    """

    why: HoldReason | None
    contradicted: bool = False


@dataclass(frozen=True, slots=True)
class ClearVoidMark:
    """The mark has done its work when it was written."""

    node: NodeFacts


@dataclass(frozen=True, slots=True)
class Close:
    node_gone: bool


@dataclass(frozen=True, slots=True)
class DropLock:
    pass


@dataclass(frozen=True, slots=True)
class DropFinalizer:
    """The end. `still_off` names a host that had not come back on by then, `lost` what a Node that was
    deleted had and no other got back."""

    still_off: str = ""
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    pass
