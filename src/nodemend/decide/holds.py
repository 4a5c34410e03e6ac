"""Why we refuse for now. Each reason carries its numbers; hold_explanations says them in words."""

from dataclasses import dataclass

from nodemend.decide.capm3_holds import Capm3Hold
from nodemend.decide.fencing_holds import FencingHold
from nodemend.decide.guard_holds import GuardHold
from nodemend.decide.host_holds import HostHold


@dataclass(frozen=True, slots=True)
class ViewStale:
    """Our own picture of the cluster is too old to act on."""

    age: float
    limit: float


@dataclass(frozen=True, slots=True)
class CannotRead:
    what: str
    why: str


@dataclass(frozen=True, slots=True)
class CreationRefused:
    """The API server refuses what we would create: a right is missing, or a template is wrong."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Deposed:
    """A later leadership has written here: it is at work, not we."""

    ours: int
    theirs: int


@dataclass(frozen=True, slots=True)
class BootUnknown:
    """The Node reports no boot ID, so no evidence could name the boot that must end."""

    node: str


@dataclass(frozen=True, slots=True)
class KubeletSpeaks:
    """Its Lease is fresh, or has not yet been seen silent for long enough."""

    silent_for: float
    needed: float


@dataclass(frozen=True, slots=True)
class NoKubeletLease:
    """Without its Lease nothing tells whether the kubelet is silent."""

    node: str


@dataclass(frozen=True, slots=True)
class NoWord:
    """Nobody has vouched yet."""

    node: str


@dataclass(frozen=True, slots=True)
class WordForOther:
    """The word names another node or another boot."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class EvidenceForOther:
    """What was recorded names another node or another boot than there is now."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class EvidenceFromBefore:
    """It was recorded before this leader's process began to watch: etcd may have been restored since."""

    epoch: int
    remembered: int


@dataclass(frozen=True, slots=True)
class WordFromBefore:
    """It was given before this leader's process began to watch: etcd may have been restored since."""

    age: float
    remembered: float


@dataclass(frozen=True, slots=True)
class WordOutlived:
    """The kubelet renewed its Lease after the person looked."""

    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class WordExpired:
    age: float
    limit: float


@dataclass(frozen=True, slots=True)
class WordUndated:
    """When it was given cannot be told, so neither can whether it is still good."""


@dataclass(frozen=True, slots=True)
class WordDisproved:
    """The node gave a sign of life after this word was believed. Silence since then does not make it true."""


@dataclass(frozen=True, slots=True)
class NodeReady:
    """The Node reports Ready: whatever was said, its kubelet is at work."""

    node: str


@dataclass(frozen=True, slots=True)
class WordContradicted:
    """The very boot that was vouched for spoke again after its workloads had been released."""

    by: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class NewBootUnproven:
    """The Node reports a new boot, and not that the same machine has made it: the old boot may go on."""

    node: str
    before: str
    """The machine that was recorded; empty where it was not stated."""
    now: str


@dataclass(frozen=True, slots=True)
class WorkloadsLeaving:
    pods: int
    attachments: int


@dataclass(frozen=True, slots=True)
class TaintedByAnother:
    """Another's out-of-service taint is where ours would be. Its workloads leave by that one."""

    node: str
    taint: str
    pods: int
    attachments: int


@dataclass(frozen=True, slots=True)
class NotBackYet:
    node: str
    gone: bool = False
    """There is no Node of that name either."""


HoldReason = (
    GuardHold
    | HostHold
    | Capm3Hold
    | FencingHold
    | ViewStale
    | CannotRead
    | CreationRefused
    | Deposed
    | BootUnknown
    | KubeletSpeaks
    | NoKubeletLease
    | NoWord
    | WordForOther
    | EvidenceForOther
    | EvidenceFromBefore
    | WordFromBefore
    | WordOutlived
    | WordExpired
    | WordUndated
    | WordDisproved
    | NodeReady
    | WordContradicted
    | NewBootUnproven
    | WorkloadsLeaving
    | TaintedByAnother
    | NotBackYet
)


@dataclass(frozen=True, slots=True)
class Hold:
    """Refuse for now."""

    reason: HoldReason
