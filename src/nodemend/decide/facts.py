"""What was observed. That something could not be read is a fact of its own, and never means absent."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from nodemend.api.conditions import ConditionStatus
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import Mode
from nodemend.decide.guard_holds import PolicyNotInForce, PolicyNotProven
from nodemend.decide.limits import Gate, Reading

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Present(Generic[T]):
    """Read just now, from the API server itself and not from a cache."""

    value: T


@dataclass(frozen=True, slots=True)
class Absent:
    """The API server says that there is none."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Nobody knows."""

    why: str


Seen = Present[T] | Absent | Unreadable


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One Node object in one version."""

    name: str
    uid: str
    version: str
    boot_id: str
    ready: ConditionStatus
    taints: tuple[Taint, ...] = ()
    hardware_id: str = ""
    """Which machine reports it; empty where it does not state that."""


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """The kubelet's Lease, and for how long we ourselves have seen it unchanged."""

    renew_time: str
    lasts: float
    unchanged_for: float

    @property
    def silent(self) -> bool:
        """By our own clock alone: the kubelet's may be wrong, and a wrong one would make it look dead."""
        return self.unchanged_for >= self.lasts


@dataclass(frozen=True, slots=True)
class DomainLimits:
    """What the cluster allows in one failure domain, and by which label domains are told apart."""

    key: str
    max_unhealthy: Gate
    min_nodes: int
    max_concurrent: int


@dataclass(frozen=True, slots=True)
class MachineWishes:
    """What the cluster wants of MachineHealthChecks."""

    reading: Reading
    delete: bool
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What the cluster allows. Times are in seconds."""

    mode: Mode
    pause: Pause | None
    max_concurrent: int
    max_concurrent_percent: int
    max_unhealthy: Gate
    domains: DomainLimits | None
    settle_time: float
    min_interval: float
    machines: MachineWishes
    doubt: PolicyNotInForce | PolicyNotProven | None = None
    """About an admission policy that all of this rests on."""
    count_released: bool = False
    """Whether nodes whose workloads are released take a place until they are back."""
