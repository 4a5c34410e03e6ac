"""Why a remediation by self-fencing waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoNode:
    """There is no Node that could end itself."""

    remediation: str


@dataclass(frozen=True, slots=True)
class NoAgent:
    """The node has no Lease with us: no agent of ours has ever run there."""

    node: str


@dataclass(frozen=True, slots=True)
class AgentUnread:
    """Its Lease says nothing that can be read."""

    node: str
    why: str


@dataclass(frozen=True, slots=True)
class AgentElsewhere:
    """The Lease is about another node of that name, or another boot, than the Node is."""

    what: str
    said: str
    actual: str


@dataclass(frozen=True, slots=True)
class NothingResets:
    """No watchdog would ever end this boot: to ask for its end would only stop its agent."""

    node: str
    why: str


@dataclass(frozen=True, slots=True)
class NoTimeProof:
    """Only a new boot can be evidence: time proves nothing for this node."""

    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Proving:
    """The marker is on. So many seconds are proven, of so many."""

    proven: float
    needed: float
    covered: int
    """Peers that cannot have kept it alive so far."""
    peers: int


@dataclass(frozen=True, slots=True)
class GateUnheard:
    """A new boot waited at its boot gate once, and has not told this leader that it still does."""

    node: str


@dataclass(frozen=True, slots=True)
class ProofContradicted:
    """The boot that was proven to be over spoke again."""

    boot_id: str


FencingHold = (
    NoNode
    | NoAgent
    | AgentUnread
    | AgentElsewhere
    | NothingResets
    | NoTimeProof
    | Proving
    | GateUnheard
    | ProofContradicted
)
