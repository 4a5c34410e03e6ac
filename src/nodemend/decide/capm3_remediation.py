"""CAPM3's Metal3Remediation is carried out by one of ours, of the same name: its stand-in.

    AddFinalizer -> Ask -> Tell, as the stand-in goes on -> (deleted) -> Withdraw -> DropFinalizer

CAPM3's kind has no room for what a release rests on, and no rules that hold a writer to it. So it says what
is wanted, the stand-in does it, and what became of it is told in CAPM3's words. Where CAPM3 itself is at
work, or may be, nothing is begun; where it turns up later, the stand-in is taken back.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api import keys
from nodemend.api.capm3_remediation import Capm3Remediation, Capm3RemediationStatus
from nodemend.api.power_cycle import Metal3Remediation, Metal3RemediationSpec, Phase
from nodemend.decide.capm3_holds import NameTaken, ServedByCapm3, StrategyUnknown
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, Hold, HoldReason
from nodemend.decide.neighbour_lease import NeighbourLease
from nodemend.decide.remediation_steps import AddFinalizer, Done, DropFinalizer

REBOOT: Final = "Reboot"
RUNNING, WAITING, DELETING, FAILED = "Running", "Waiting", "Deleting machine", "Failed"
PHASES: Final = {
    Phase.PENDING: RUNNING,
    Phase.POWER_OFF: RUNNING,
    Phase.RELEASE: RUNNING,
    Phase.POWER_ON: WAITING,
    Phase.CONTRADICTED: WAITING,
    Phase.BACKING_OFF: WAITING,
    Phase.SUCCEEDED: WAITING,
    Phase.DELETING_MACHINE: DELETING,
    Phase.FAILED: FAILED,
}
"""Ours in CAPM3's words. Success is not one of them: whoever asked sees it, and deletes the remediation."""
MOST_RETRIES: Final = 100
SHORTEST, LONGEST = 60, 86_400


@dataclass(frozen=True, slots=True)
class Wish:
    """What one of CAPM3's asks for. `timeout` is None where it says nothing, and words where it is none."""

    type: str
    retries: int
    timeout: float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capm3Facts:
    """All from fresh reads."""

    theirs: Capm3Remediation
    wish: Wish | None
    ours: Seen[Metal3Remediation]
    """Whatever of our kind has its name."""
    leases: Seen[tuple[NeighbourLease, ...]]
    """By which CAPM3's replicas agree who of them leads, wherever it is installed."""

    @property
    def begun(self) -> bool:
        return keys.SAFE_END in self.theirs.metadata.finalizers

    @property
    def stand_in(self) -> Metal3Remediation | None:
        match self.ours:
            case Present(found) if stands_in_for(found) == self.theirs.metadata.uid:
                return found
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Ask:
    """Make the stand-in."""

    spec: Metal3RemediationSpec


@dataclass(frozen=True, slots=True)
class Tell:
    """Write CAPM3's status; `again` when an attempt begins, which CAPM3 dates."""

    phase: str
    retries: int
    again: bool


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take the stand-in back: it comes to its safe end."""

    stand_in: Metal3Remediation


Step = AddFinalizer | Ask | Tell | Withdraw | DropFinalizer | Done | Hold


def stands_in_for(remediation: Metal3Remediation) -> str:
    """The UID of CAPM3's; empty for one that stands for itself."""
    return remediation.metadata.annotations.get(keys.STAND_IN_FOR, "")


def decide(facts: Capm3Facts) -> Step:
    if isinstance(facts.ours, Unreadable):
        return Hold(CannotRead("the Metal3Remediation that stands in for it", facts.ours.why))
    rival = who_else(facts)
    if facts.theirs.metadata.deleting or (facts.begun and isinstance(rival, ServedByCapm3)):
        return _end(facts)
    if not facts.begun:
        return Hold(rival) if rival else _begin(facts)
    if facts.stand_in is not None:
        return _tell(facts, facts.stand_in)
    return _without_stand_in(facts, rival)


def who_else(facts: Capm3Facts) -> HoldReason | None:
    """Why it may be CAPM3's to serve. What cannot be read may be anybody's."""
    metadata, status = facts.theirs.metadata, facts.theirs.status
    if keys.CAPM3_FINALIZER in metadata.finalizers:
        return ServedByCapm3("its finalizer is on it")
    if status.phase and not facts.begun:
        return ServedByCapm3(f"somebody has written its phase, {status.phase}")
    match facts.leases:
        case Present(found):
            held = next((one for one in found if one.holder and not one.is_over), None)
            return ServedByCapm3(f"{held.holder} holds the Lease {held.name}") if held else None
        case Unreadable(why):
            return CannotRead("the Leases by which CAPM3 elects a leader", why)
        case Absent():
            return None


def _begin(facts: Capm3Facts) -> AddFinalizer | Hold:
    if isinstance(facts.ours, Present) and facts.stand_in is None:
        return Hold(NameTaken(facts.theirs.metadata.name))
    spec = translate(facts.wish)
    return AddFinalizer() if isinstance(spec, Metal3RemediationSpec) else Hold(spec)


def _without_stand_in(facts: Capm3Facts, rival: HoldReason | None) -> Ask | Tell | Done | Hold:
    if facts.theirs.status.phase:
        # It was there, and somebody stopped it. To make it anew would be to argue with them.
        said_so = facts.theirs.status.phase == FAILED
        return Done() if said_so else Tell(FAILED, facts.theirs.status.retry_count, again=False)
    if rival is not None:
        return Hold(rival)
    if isinstance(facts.ours, Present):
        return Hold(NameTaken(facts.theirs.metadata.name))
    spec = translate(facts.wish)
    return Ask(spec) if isinstance(spec, Metal3RemediationSpec) else Hold(spec)


def _tell(facts: Capm3Facts, stand_in: Metal3Remediation) -> Tell | Done:
    said, status = facts.theirs.status, stand_in.status
    phase, retries = PHASES[status.phase], status.retry_count
    if (said.phase, said.retry_count) == (phase, retries):
        return Done()
    return Tell(phase, retries, again=phase == RUNNING and said.phase != RUNNING)


def _end(facts: Capm3Facts) -> Withdraw | DropFinalizer | Done:
    if not facts.begun:
        return Done()
    if facts.stand_in is None:
        return DropFinalizer()
    return Done() if facts.stand_in.metadata.deleting else Withdraw(facts.stand_in)


def translate(wish: Wish | None) -> Metal3RemediationSpec | StrategyUnknown:
    """CAPM3 gives up after 1 + retryLimit power cycles, and so do we after 1 + deleteAfterRetries.

    Its timeout is how long a node may take to be well again, from the power-off on. Ours begins when power
    comes back; how long a power-off may take is limited beside it, which CAPM3 does not.
    """
    if wish is None:
        return StrategyUnknown("spec.strategy is missing")
    if wish.type != REBOOT:
        return StrategyUnknown(f"spec.strategy.type is {wish.type or 'missing'}, and Reboot is the only one")
    if isinstance(wish.timeout, str):
        return StrategyUnknown(wish.timeout)
    usual = Metal3RemediationSpec()
    seconds = usual.power_on_timeout_seconds if not wish.timeout else int(wish.timeout)
    return Metal3RemediationSpec(
        delete_after_retries=min(max(wish.retries, 1), MOST_RETRIES),
        power_on_timeout_seconds=min(max(seconds, SHORTEST), LONGEST),
    )


def told(status: Capm3RemediationStatus, step: Tell, now: str) -> Capm3RemediationStatus:
    """The status that makes `step` true."""
    when = now if step.again else status.last_remediated
    return Capm3RemediationStatus(phase=step.phase, retry_count=step.retries, last_remediated=when)
