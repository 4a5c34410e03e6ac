"""All that the life of a Metal3Remediation is decided on."""

from dataclasses import dataclass

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_deletion import NodeBackup
from nodemend.api.power_cycle import Metal3Remediation, PowerOffEvent
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.fence_evidence import SeenOff, Watched, weigh_off
from nodemend.decide.holds import CannotRead, NoKubeletLease, NotBackYet
from nodemend.decide.host_identity import Identity
from nodemend.decide.host_power import HostFacts, Power, power_of
from nodemend.decide.power_cycle import PowerState
from nodemend.decide.remediation_life import HeldBy
from nodemend.decide.remediation_steps import Left
from nodemend.decide.switch_guard import SwitchFacts


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """The Machine behind the node, as far as it can be replaced. `why_not` is empty when it can."""

    name: str
    why_not: str = ""
    asked: bool = False
    """Its owner was asked to replace it."""
    deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerFacts:
    """All from fresh reads, but for the two times, which are measured by our own clock."""

    remediation: Metal3Remediation
    epoch: int
    remembers_from: int
    node: Seen[NodeFacts]
    void_mark: str = ""
    belongings: NodeBackup | None = None
    """What others have written on the Node, where there is one."""
    lease: Seen[LeaseFacts]
    lock: Seen[HeldBy]
    policy: Seen[PolicyFacts]
    switch: Seen[SwitchFacts]
    """Asked only as long as its host may have to be held."""
    left: Seen[Left]
    host: Seen[HostFacts]
    host_missing: str = ""
    """Why there is no host, where none was found."""
    identity: Identity
    machine: Seen[MachineFacts] = Absent()  # noqa: RUF009 - frozen
    in_phase_for: float = 0.0
    """How long this attempt has been in this phase, as far as we saw."""
    host_unchanged_for: float = 0.0
    power_offs: Seen[tuple[PowerOffEvent, ...]] = Unreadable("not asked")  # noqa: RUF009 - frozen
    """The PowerOff events of the host. Read before the request, and then until the host is seen off."""
    unasked: str = ""
    """Why nobody asks for it, where it stands in for one of CAPM3's."""
    may_delete_nodes: bool = False
    """Whoever installed us allowed it."""
    deletion_refused: str = ""
    """What the API server said when it would not let the Node be deleted."""
    restore_refused: str = ""
    """What it said when it would not let the new one have what the old one had."""

    @property
    def target(self) -> NodeFacts | None:
        """The Node that is remediated: the very one, if it was there before."""
        match self.node:
            case Present(node) if self.remediation.status.node_uid in ("", node.uid):
                return node
            case _:
                return None

    @property
    def held(self) -> HostFacts | None:
        """The host, where our hold is on it."""
        match self.host:
            case Present(host) if host.held_by_us:
                return host
            case _:
                return None

    @property
    def is_held_off(self) -> bool:
        """Our hold is on it, and it is off as far as anybody can see."""
        return self.held is not None and self.power is Power.OFF

    @property
    def power(self) -> Power:
        return power_of(self.host.value) if isinstance(self.host, Present) else Power.UNKNOWN

    @property
    def power_off_within(self) -> float:
        return float(self.remediation.spec.power_off_timeout_seconds)

    @property
    def power_on_within(self) -> float:
        return float(self.remediation.spec.power_on_timeout_seconds)

    @property
    def is_back(self) -> bool:
        """The node, or another in its place, is Ready on another boot than the one that had to end."""
        match self.node:
            case Present(node) if node.ready is ConditionStatus.TRUE:
                return node.boot_id not in ("", self.remediation.status.boot_id)
            case _:
                return False

    @property
    def not_back(self) -> NotBackYet:
        return NotBackYet(self.remediation.status.node_name, gone=isinstance(self.node, Absent))

    def state(self, *, need: bool) -> PowerState:
        """Its place in the power table."""
        status = self.remediation.status
        return PowerState(
            node=self.target is not None,
            need=need,
            power=self.power,
            hold=self.held is not None,
            cycled=status.released,
            dated=status.seen_on_version != "",
        )

    def watched(self, host: HostFacts) -> Watched:
        status = self.remediation.status
        return Watched(
            host, self.host_unchanged_for, status.seen_off, status.power_off_events, self.power_offs
        )


def is_contradicted(facts: PowerFacts, node: NodeFacts) -> bool:
    """Whether what a release rests on turns out to be wrong while it goes on. Not knowing is not that."""
    if not isinstance(facts.host, Present):
        return True
    recorded = facts.remediation.status.evidence
    proof = weigh_off(facts.watched(facts.host.value), node, facts.lease, recorded)
    return not isinstance(proof, SeenOff | CannotRead | NoKubeletLease)
