"""Why a power cycle waits, or gives up. Each reason carries its numbers; host_explanations has the words."""

from dataclasses import dataclass

from nodemend.decide.host_power import Doubt


@dataclass(frozen=True, slots=True)
class HostMissing:
    """No host was found for the node or its machine."""

    why: str


@dataclass(frozen=True, slots=True)
class HostGone:
    """The host that we held is no longer there. Its operator left the machine off."""

    host: str


@dataclass(frozen=True, slots=True)
class WrongHost:
    """Two that should name the same machine do not: we would switch off somebody else's."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class HostUnproven:
    host: str
    missing: str


@dataclass(frozen=True, slots=True)
class NodeNotInCluster:
    """The Machine's Node is not in this cluster: its workloads could not be released from here."""

    machine: str
    node: str
    """Empty where the Machine names none."""


@dataclass(frozen=True, slots=True)
class NodesShareIdentity:
    """Several Nodes state the same provider ID, host or system UUID."""

    host: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostDoubtful:
    """What the host says about its power is not to be believed."""

    host: str
    doubt: Doubt


@dataclass(frozen=True, slots=True)
class OffByOthers:
    """It is off, and not by us: since when cannot be told."""

    host: str
    owner: bool
    """Its owner wants it off."""
    holders: tuple[str, ...]
    """Others who hold it off."""


@dataclass(frozen=True, slots=True)
class AwaitingOff:
    """`limit` is how long an attempt may take for it."""

    host: str
    limit: float


@dataclass(frozen=True, slots=True)
class NeverSeenOff:
    """An attempt has failed: it was not seen off in time. Its node may still run."""

    host: str
    limit: float


@dataclass(frozen=True, slots=True)
class NeverSeenOn:
    """An attempt has failed: it was not seen on again in time."""

    host: str
    limit: float


@dataclass(frozen=True, slots=True)
class CalledOff:
    """Whoever asked for it allows it no more time."""


@dataclass(frozen=True, slots=True)
class HostOn:
    """It is on, although it was seen off under our hold."""

    host: str


@dataclass(frozen=True, slots=True)
class OffTooFresh:
    """It was seen off only just now; it is looked at twice."""

    host: str


@dataclass(frozen=True, slots=True)
class OrderUntold:
    """It is off, and metal3 published no PowerOff event since our request: it may have been off before."""

    host: str


@dataclass(frozen=True, slots=True)
class TooManyPowerOffEvents:
    """There are more PowerOff events of the host than we record: a new one could not be told from them."""

    host: str
    found: int
    most: int


@dataclass(frozen=True, slots=True)
class OffUndated:
    """It is off, and its operator has written since we saw it go off: it may have been on in between."""

    host: str


@dataclass(frozen=True, slots=True)
class SpokeAfterOff:
    """The kubelet spoke after its host was seen off: it runs on another machine."""

    host: str
    said: str


@dataclass(frozen=True, slots=True)
class SpokeAfterRelease:
    """The node spoke after its Node was deleted: it runs, and its pods are removed by force."""

    host: str
    by: str


@dataclass(frozen=True, slots=True)
class NodeDeletionOff:
    """It is asked to delete the Node, and nobody has allowed us to."""


@dataclass(frozen=True, slots=True)
class NodeDeletionRefused:
    """The API server does not let us delete the Node."""

    why: str


@dataclass(frozen=True, slots=True)
class TooMuchOnNode:
    """What others wrote on the Node is more than is kept while it is gone."""

    size: int
    limit: int


@dataclass(frozen=True, slots=True)
class HoldLost:
    """Our hold is no longer on the host: somebody took it off."""

    host: str


@dataclass(frozen=True, slots=True)
class AwaitingOn:
    """`limit` is how long an attempt, or the end, may take for it."""

    host: str
    limit: float


@dataclass(frozen=True, slots=True)
class BackingOff:
    """An attempt has failed; the next one comes later."""

    remaining: float
    failed: int


@dataclass(frozen=True, slots=True)
class BootOutlived:
    """The boot that was switched off spoke again: another machine was switched off than it runs on."""

    host: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class OwnerReplacing:
    """Power cycles did not help. The machine's owner was asked to replace it."""

    machine: str


@dataclass(frozen=True, slots=True)
class NobodyReplaces:
    """Power cycles did not help, and nobody would replace the machine."""

    why: str


HostHold = (
    HostMissing
    | HostGone
    | WrongHost
    | HostUnproven
    | NodeNotInCluster
    | NodesShareIdentity
    | HostDoubtful
    | OffByOthers
    | AwaitingOff
    | NeverSeenOff
    | NeverSeenOn
    | CalledOff
    | HostOn
    | OffTooFresh
    | OrderUntold
    | TooManyPowerOffEvents
    | OffUndated
    | SpokeAfterOff
    | SpokeAfterRelease
    | NodeDeletionOff
    | NodeDeletionRefused
    | TooMuchOnNode
    | HoldLost
    | AwaitingOn
    | BackingOff
    | BootOutlived
    | OwnerReplacing
    | NobodyReplaces
)
