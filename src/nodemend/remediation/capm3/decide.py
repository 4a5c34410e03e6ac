"""Decides how one of Nodemend's remediations, the delegate, carries out CAPM3's Metal3Remediation.

    AddFinalizer -> CreateDelegate -> WriteCapm3Status, as the delegate progresses
      -> (deleted) -> DeleteDelegate -> DropFinalizer

The delegate is a Metal3Remediation of Nodemend's kind with the same name. CAPM3's kind has no fields for the
evidence of a release, and no rules that bind its writers. So it holds the request, the delegate carries it
out, and the result is reported in CAPM3's fields. While CAPM3 itself is active, or may be, nothing starts; if
it becomes active later, the delegate is deleted.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.metal3_remediation import (
    Capm3Remediation,
    Capm3RemediationStatus,
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationSpec,
)
from nodemend.rules.request import ExternalLease
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.holds import CannotRead, Explanation, Hold, HoldReason
from nodemend.safety.lifecycle import AddFinalizer, DropFinalizer, NothingLeft


@dataclass(frozen=True, slots=True)
class ServedByCapm3(HoldReason):
    """CAPM3 reconciles it, or may do so."""

    reason: ClassVar[str] = "ServedByCapm3"
    because: str

    def explain(self) -> Explanation:
        return Explanation(
            f"CAPM3 serves it: {self.because}.",
            "Two controllers that power-cycle one host would invalidate each other's evidence. Let only one "
            "of them serve it.",
        )


@dataclass(frozen=True, slots=True)
class NameTaken(HoldReason):
    """A Metal3Remediation of Nodemend's kind has the same name and is not its delegate."""

    reason: ClassVar[str] = "NameTaken"
    name: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Another Metal3Remediation {self.name}, of remediation.metal3.io, is there already.",
            "Nodemend continues when that one is gone.",
        )


@dataclass(frozen=True, slots=True)
class StrategyUnknown(HoldReason):
    reason: ClassVar[str] = "StrategyUnknown"
    said: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Its strategy is not supported: {self.said}.", "Correct the template that it was created from."
        )


@dataclass(frozen=True, slots=True)
class NotRequested(HoldReason):
    """It is the delegate of a CAPM3 remediation that no longer exists, or may no longer exist."""

    reason: ClassVar[str] = "NotRequested"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"It is a delegate, and its CAPM3 remediation does not exist any more: {self.why}.",
            "Nothing is powered off. Nodemend deletes the delegate when that is certain.",
        )


REBOOT: Final = "Reboot"
RUNNING, WAITING, DELETING, FAILED = "Running", "Waiting", "Deleting machine", "Failed"
PHASES: Final = {
    Metal3RemediationPhase.PENDING: RUNNING,
    Metal3RemediationPhase.POWER_OFF: RUNNING,
    Metal3RemediationPhase.RELEASE: RUNNING,
    Metal3RemediationPhase.POWER_ON: WAITING,
    Metal3RemediationPhase.CONTRADICTED: WAITING,
    Metal3RemediationPhase.BACKING_OFF: WAITING,
    Metal3RemediationPhase.SUCCEEDED: WAITING,
    Metal3RemediationPhase.DELETING_MACHINE: DELETING,
    Metal3RemediationPhase.FAILED: FAILED,
}
"""Nodemend's phases as CAPM3's. CAPM3 has none for success: the requester observes it, and deletes the
remediation."""
MOST_RETRIES: Final = 100
SHORTEST, LONGEST = 60, 86_400


@dataclass(frozen=True, slots=True)
class Capm3Request:
    """The request of a CAPM3 remediation.

    `timeout` is None if it has none, and a message if it is invalid.
    """

    type: str
    retries: int
    timeout: float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capm3Facts:
    """All from live reads."""

    theirs: Capm3Remediation
    wish: Capm3Request | None
    ours: ReadResult[Metal3Remediation]
    """Any object of Nodemend's kind with its name."""
    leases: ReadResult[tuple[ExternalLease, ...]]
    """The leader election Leases of CAPM3's replicas, in any namespace."""

    @property
    def begun(self) -> bool:
        return well_known.SAFE_END in self.theirs.metadata.finalizers

    @property
    def delegate(self) -> Metal3Remediation | None:
        match self.ours:
            case Present(found) if is_delegate_for(found) == self.theirs.metadata.uid:
                return found
            case _:
                return None


@dataclass(frozen=True, slots=True)
class CreateDelegate:
    step: ClassVar[str] = "CreateDelegate"
    spec: Metal3RemediationSpec


@dataclass(frozen=True, slots=True)
class WriteCapm3Status:
    """Write CAPM3's status; `again` if an attempt starts, because CAPM3 records that time."""

    step: ClassVar[str] = "WriteCapm3Status"
    phase: str
    retries: int
    again: bool


@dataclass(frozen=True, slots=True)
class DeleteDelegate:
    """Delete the delegate: it ends at its safe point."""

    step: ClassVar[str] = "DeleteDelegate"
    delegate: Metal3Remediation


Step = AddFinalizer | CreateDelegate | WriteCapm3Status | DeleteDelegate | DropFinalizer | NothingLeft | Hold


def is_delegate_for(remediation: Metal3Remediation) -> str:
    """Return the UID of the CAPM3 remediation that it serves; empty if it is not a delegate."""
    return remediation.metadata.annotations.get(well_known.DELEGATE_OF, "")


def decide(facts: Capm3Facts) -> Step:
    if isinstance(facts.ours, Unreadable):
        return Hold(CannotRead("its delegate, the Metal3Remediation", facts.ours.why))
    conflict = find_conflict(facts)
    if facts.theirs.metadata.deleting or (facts.begun and isinstance(conflict, ServedByCapm3)):
        return _end(facts)
    if not facts.begun:
        return Hold(conflict) if conflict else _begin(facts)
    if facts.delegate is not None:
        return _tell(facts, facts.delegate)
    return _without_delegate(facts, conflict)


def find_conflict(facts: Capm3Facts) -> HoldReason | None:
    """Return why CAPM3 may serve it. State that cannot be read may be CAPM3's."""
    metadata, status = facts.theirs.metadata, facts.theirs.status
    if well_known.CAPM3_FINALIZER in metadata.finalizers:
        return ServedByCapm3("its finalizer is on it")
    if status.phase and not facts.begun:
        return ServedByCapm3(f"another controller has written its phase, {status.phase}")
    match facts.leases:
        case Present(found):
            held = next((one for one in found if one.holder and not one.is_over), None)
            return ServedByCapm3(f"{held.holder} holds the Lease {held.name}") if held else None
        case Unreadable(why):
            return CannotRead("the Leases by which CAPM3 elects a leader", why)
        case Absent():
            return None


def _begin(facts: Capm3Facts) -> AddFinalizer | Hold:
    spec = _spec_of_delegate(facts)
    return spec if isinstance(spec, Hold) else AddFinalizer()


def _spec_of_delegate(facts: Capm3Facts) -> Metal3RemediationSpec | Hold:
    if isinstance(facts.ours, Present) and facts.delegate is None:
        return Hold(NameTaken(facts.theirs.metadata.name))
    spec = translate(facts.wish)
    return spec if isinstance(spec, Metal3RemediationSpec) else Hold(spec)


def _without_delegate(
    facts: Capm3Facts, conflict: HoldReason | None
) -> CreateDelegate | WriteCapm3Status | NothingLeft | Hold:
    if facts.theirs.status.phase:
        # The delegate existed, and was deleted. Creating it again would contradict the user or controller
        # that deleted it.
        if facts.theirs.status.phase == FAILED:
            return NothingLeft()
        return WriteCapm3Status(FAILED, facts.theirs.status.retry_count, again=False)
    if conflict is not None:
        return Hold(conflict)
    spec = _spec_of_delegate(facts)
    return spec if isinstance(spec, Hold) else CreateDelegate(spec)


def _tell(facts: Capm3Facts, delegate: Metal3Remediation) -> WriteCapm3Status | NothingLeft:
    said, status = facts.theirs.status, delegate.status
    phase, retries = PHASES[status.phase], status.retry_count
    if (said.phase, said.retry_count) == (phase, retries):
        return NothingLeft()
    return WriteCapm3Status(phase, retries, again=phase == RUNNING and said.phase != RUNNING)


def _end(facts: Capm3Facts) -> DeleteDelegate | DropFinalizer | NothingLeft:
    if not facts.begun:
        return NothingLeft()
    if facts.delegate is None:
        return DropFinalizer()
    return NothingLeft() if facts.delegate.metadata.deleting else DeleteDelegate(facts.delegate)


def translate(wish: Capm3Request | None) -> Metal3RemediationSpec | StrategyUnknown:
    """Return the delegate's spec. CAPM3 gives up after 1 + retryLimit power cycles, as Nodemend does.

    Nodemend's setting is deleteAfterRetries. CAPM3's timeout is how long a node may take to be healthy again,
    from power off on. Nodemend's counts from power on; it has a separate limit for the power-off, which CAPM3
    has not.
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


def with_status(status: Capm3RemediationStatus, step: WriteCapm3Status, now: str) -> Capm3RemediationStatus:
    """Return the status that makes `step` true."""
    when = now if step.again else status.last_remediated
    return Capm3RemediationStatus(phase=step.phase, retry_count=step.retries, last_remediated=when)
