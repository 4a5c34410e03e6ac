"""One look of the operator at one host: what it finds out and changes, and how it can end."""

from dataclasses import dataclass, field

from nodemend.api.group_versions import BARE_METAL_HOST
from nodemend.kube.ports import Runtime
from nodemend.testing.metal3.host import Host
from nodemend.testing.metal3.host_api import HostApi
from nodemend.testing.metal3.names import ErrorType, Operational, State
from nodemend.testing.metal3.provisioner import Provisioner


@dataclass(frozen=True, slots=True)
class Again:
    """Look again in so many seconds, or when something happens to the host."""

    seconds: float


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Look again now; but each time that this comes in a row a little later."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Look again when something happens to the host."""


Outcome = Again | AtOnce | Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """Seconds between two looks, by what the first one found. As v0.13 has them; later ones poll each 3 s."""

    poll: float = 10.0
    steady: float = 60.0
    without_secret: float = 10.0
    provisioner_not_ready: float = 30.0
    detached: float = 600.0
    first_back_off: float = 60.0
    most_doublings: int = 8
    power_off_tries: int = 4
    """Failures to power off after which a deletion goes on all the same."""

    def back_off(self, errors: int, chance: float) -> float:
        """After the n-th error 2^(n-1) to 2^n minutes."""
        shortest = self.first_back_off * 2.0 ** min(max(errors, 1) - 1, self.most_doublings)
        return shortest * (1.0 + chance)

    def after(self, seconds: float | None) -> Again | AtOnce:
        """When to ask the provisioner again that has said so much."""
        if seconds is None:
            return Again(self.poll)
        return Again(seconds) if seconds > 0.0 else AtOnce()


@dataclass(frozen=True, slots=True)
class Tools:
    """What a look works with."""

    api: HostApi
    provisioner: Provisioner
    runtime: Runtime
    settings: OperatorSettings


@dataclass(slots=True)
class Look:
    """Changes to the status are made here, and saved at the end in one write."""

    host: Host
    dirty: bool = False
    """The status is to be saved."""
    bmc_lost: bool = False
    told: list[tuple[str, str]] = field(default_factory=list)
    """Events to publish: reason and note."""

    def tell(self, reason: str, note: str) -> None:
        self.told.append((reason, note))

    def enter(self, state: State) -> None:
        self.host.state = state
        self.dirty = True

    def complete(self, state: State) -> AtOnce:
        """The work of the state so far is done. That resets the count of errors; clearing one does not."""
        self.host.status["errorCount"] = 0
        self.enter(state)
        return AtOnce()

    @property
    def error_type(self) -> str:
        found: str = self.host.status.get("errorType", "")
        return found

    @property
    def errors(self) -> int:
        found: int = self.host.status.get("errorCount", 0)
        return found

    @property
    def in_power_error(self) -> bool:
        return self.error_type == ErrorType.POWER_MANAGEMENT

    def fail(self, kind: ErrorType, why: str) -> None:
        self.host.operational = Operational.ERROR
        self.host.status |= {"errorType": str(kind), "errorMessage": why, "errorCount": self.errors + 1}
        self.dirty = True

    def clear_error(self) -> None:
        """Forget it, but not how many there were."""
        status = self.host.status
        if self.host.operational is Operational.OK and not self.error_type and not status.get("errorMessage"):
            return
        self.host.operational = Operational.OK
        status.pop("errorType", None)
        status["errorMessage"] = ""
        self.dirty = True

    async def remove_annotation(self, api: HostApi, name: str) -> None:
        """At once, in a write of its own: annotations are not status. Raises TroubleError."""
        change = {"metadata": {"annotations": {name: None}}}
        changed = await api.change(BARE_METAL_HOST, self.host.document, change)
        self.host.moved_on(changed)
