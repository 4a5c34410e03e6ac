"""Types of observed facts. That something could not be read is a separate fact, and never means absent."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from nodemend.api.meta import ConditionStatus, Pause
from nodemend.api.remediation_policy import Mode
from nodemend.safety.guard_holds import PolicyProblem
from nodemend.safety.limits import LimitComparison, LimitSemantics

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Present(Generic[T]):
    """A value read just now, from the API server itself and not from a cache."""

    value: T


@dataclass(frozen=True, slots=True)
class Absent:
    """The API server reports that the object does not exist."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Unknown: the read failed, with the reason."""

    why: str


ReadResult = Present[T] | Absent | Unreadable


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """Return the taint in the form that kubectl uses."""
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
    """An ID of the machine that reports the Node; empty if the Node has none."""


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """The kubelet's Lease, and for how many seconds this process has observed it unchanged."""

    renew_time: str
    lasts: float
    unchanged_for: float

    @property
    def silent(self) -> bool:
        """True if the Lease has expired, by this process's own clock alone.

        The kubelet's clock may be wrong, and would then make a live kubelet look dead.
        """
        return self.unchanged_for >= self.lasts


@dataclass(frozen=True, slots=True)
class DomainLimits:
    """Limits of the policy for one failure domain, and the label `key` that defines domains."""

    key: str
    max_unhealthy: LimitComparison
    min_nodes: int
    max_concurrent: int


@dataclass(frozen=True, slots=True)
class MachinePolicyFacts:
    """Settings of the policy for MachineHealthChecks."""

    reading: LimitSemantics
    delete: bool
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """The limits of the RemediationPolicy. Times are in seconds."""

    mode: Mode
    pause: Pause | None
    max_concurrent: int
    max_concurrent_percent: int
    max_unhealthy: LimitComparison
    domains: DomainLimits | None
    settle_time: float
    min_interval: float
    machines: MachinePolicyFacts
    problem: PolicyProblem | None = None
    """Why an admission policy that all of this depends on may not be in force; None if it is."""
    count_released: bool = False
    """True if nodes with released workloads count towards the limit until they are back."""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration as a pod declares it; an empty key or effect matches any."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(_matches(toleration, taint) for toleration in tolerations)


def _matches(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key == "":
        return toleration.operator == "Exists"
    if toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value
