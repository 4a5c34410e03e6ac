"""One pass of the operator over one host: its findings, its changes, and its possible outcomes."""

from dataclasses import dataclass, field

from nodemend.api.resources import BARE_METAL_HOST
from nodemend.kube.ports import Runtime
from simulation.metal3.host import ErrorType, Host, Operational, State
from simulation.metal3.host_api import HostApi
from simulation.metal3.provisioner import Provisioner


@dataclass(frozen=True, slots=True)
class Again:
    """Requeue after this many seconds, or at the next change of the host."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ImmediateOutcome:
    """Requeue immediately, with a growing delay if this outcome repeats."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Wait for the next change of the host."""


Outcome = Again | ImmediateOutcome | Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """Requeue delays in seconds by outcome, as in v0.13. Later versions poll every 3 s."""

    poll: float = 10.0
    steady: float = 60.0
    without_secret: float = 10.0
    provisioner_not_ready: float = 30.0
    detached: float = 600.0
    first_back_off: float = 60.0
    most_doublings: int = 8
    power_off_tries: int = 4
    """Failures to power off after which a deletion continues regardless."""

    def back_off(self, errors: int, chance: float) -> float:
        """Return the delay after the n-th error: 2^(n-1) to 2^n minutes."""
        shortest = self.first_back_off * 2.0 ** min(max(errors, 1) - 1, self.most_doublings)
        return shortest * (1.0 + chance)

    def after(self, seconds: float | None) -> Again | ImmediateOutcome:
        """Return the requeue outcome for a delay that the provisioner returned."""
        if seconds is None:
            return Again(self.poll)
        return Again(seconds) if seconds > 0.0 else ImmediateOutcome()


@dataclass(frozen=True, slots=True)
class Tools:
    """Dependencies of a pass."""

    api: HostApi
    provisioner: Provisioner
    runtime: Runtime
    settings: OperatorSettings


@dataclass(slots=True)
class Look:
    """The state of one pass. Changes of the status are collected here and saved in one write at the end."""

    host: Host
    dirty: bool = False
    """True if the status must be saved."""
    bmc_lost: bool = False
    events: list[tuple[str, str]] = field(default_factory=list)
    """Events to publish: reason and note."""

    def tell(self, reason: str, note: str) -> None:
        self.events.append((reason, note))

    def set_state(self, state: State) -> None:
        self.host.state = state
        self.dirty = True

    def complete(self, state: State) -> ImmediateOutcome:
        """Finish the work of the current state. This resets the error count; `clear_error` does not."""
        self.host.status["errorCount"] = 0
        self.set_state(state)
        return ImmediateOutcome()

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
        """Remove the error, but keep the error count."""
        status = self.host.status
        if self.host.operational is Operational.OK and not self.error_type and not status.get("errorMessage"):
            return
        self.host.operational = Operational.OK
        status.pop("errorType", None)
        status["errorMessage"] = ""
        self.dirty = True

    async def remove_annotation(self, api: HostApi, name: str) -> None:
        """Remove an annotation in a separate, immediate write, as it is not status. Raises TroubleError."""
        change = {"metadata": {"annotations": {name: None}}}
        changed = await api.change(BARE_METAL_HOST, self.host.document, change)
        self.host.moved_on(changed)
