"""The view of `kubectl mend explain` and its text, with verdicts and next steps as parts of sentences."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, assert_never

from nodemend.cli.text import NextStep, align, fold, spell_seconds, step_lines
from nodemend.remediation.manual.decide import ReportSilence, Step
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.safety import lifecycle as steps
from nodemend.safety.holds import Hold, spell_count


def spell_state(health: NodeHealth) -> str:
    """Return the verdict as the beginning of a sentence."""
    match health:
        case Healthy():
            return "meets no threshold"
        case Suspect():
            return "is suspect"
        case Unhealthy():
            return "is unhealthy"
        case Unjudged():
            return "cannot be judged"
        case _:
            assert_never(health)


def spell_health(health: NodeHealth) -> str:
    """Return the verdict as a complete sentence."""
    match health:
        case Healthy():
            return "is healthy."
        case Suspect(match):
            return f"is suspect. It counts as unhealthy in {spell_seconds(match.remaining)}."
        case Unhealthy():
            return "is unhealthy."
        case Unjudged(why):
            return f"cannot be judged: {why}."
        case _:
            assert_never(health)


def spell_step(step: Step) -> str:
    """Return text that completes "the remediator ...". A hold is explained elsewhere."""
    match step:
        case steps.AddFinalizer() | steps.RecordEpoch() | steps.RecordTarget() | steps.TakeLock():
            return _begin(step)
        case ReportSilence() | steps.ReportRemaining() | steps.MarkReleased():
            return _report(step)
        case steps.RecordEvidence(evidence):
            return f"records the confirmation of {evidence.by} as evidence, and then releases the workloads"
        case steps.Release():
            return "marks the node out of service, so that its pods and volumes are released"
        case steps.RemoveTaint(contradicted=True):
            return "removes the out-of-service taint, because the node runs: its workloads may run twice"
        case steps.RemoveTaint() | steps.ForgetTaint():
            return "removes the out-of-service taint from the node"
        case steps.RevokeRelease() | steps.ForgetEvidence() | steps.ClearRevocation():
            return "revokes the evidence, which is no longer valid"
        case steps.Close() | steps.DropLock() | steps.DropFinalizer() | steps.NothingLeft():
            return _finish(step)
        case Hold():
            return "holds"
        case _:
            assert_never(step)


def spell_left(left: steps.RemainingWorkloads) -> str:
    return f"{spell_count(left.pods, 'pod')} and {spell_count(left.attachments, 'volume')}"


def _begin(step: steps.AddFinalizer | steps.RecordEpoch | steps.RecordTarget | steps.TakeLock) -> str:
    match step:
        case steps.AddFinalizer() | steps.RecordEpoch():
            return "starts the remediation"
        case steps.RecordTarget(boot_id=boot_id):
            return f"records that boot {boot_id} must end"
        case steps.TakeLock():
            return "locks the node against other remediations"


def _report(step: ReportSilence | steps.ReportRemaining | steps.MarkReleased) -> str:
    match step:
        case ReportSilence(""):
            return "reports that the kubelet renews its Lease"
        case ReportSilence(renew_time):
            return (
                f"reports that the kubelet has been silent since {renew_time}; then an operator can confirm"
            )
        case steps.ReportRemaining(left):
            return f"reports that it still waits for {spell_left(left)} to leave the node"
        case steps.MarkReleased():
            return "records that the workloads have left the node"


def _finish(step: steps.Close | steps.DropLock | steps.DropFinalizer | steps.NothingLeft) -> str:
    match step:
        case steps.Close(node_gone=True):
            return "closes the remediation, since the Node is gone"
        case steps.Close():
            return "closes the remediation, since the node is back on a new boot"
        case steps.DropLock():
            return "unlocks the node"
        case steps.DropFinalizer():
            return "removes its finalizer from the remediation"
        case steps.NothingLeft():
            return "has nothing left to do here"


class ExplainAnswer(StrEnum):
    YES = "yes"
    NO = "no"
    HOLD = "HOLD"
    OPEN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainQuestion:
    """One precondition of the questions after it. `key` is stable, for programs."""

    key: str
    asked: str
    answer: ExplainAnswer
    because: str = ""


_ASKED: Final = {
    "watched": "watched by a check",
    "unhealthy": "unhealthy for long enough",
    "told": "reported on the Machine",
    "ordered": "ordered by a person",
    "allowed": "allowed by the cluster",
    "remediating": "under remediation",
    "locked": "lock held",
    "silent": "kubelet silent",
    "vouched": "confirmed to be down",
    "marked": "asked to reset itself",
    "proven": "its boot is over",
    "released": "workloads have left",
    "back": "back on a new boot",
}
"""The questions by their keys."""


def question(key: str, answer: ExplainAnswer, because: str = "") -> ExplainQuestion:
    return ExplainQuestion(key=key, asked=_ASKED[key], answer=answer, because=because)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldView:
    """A hold. `reason` is the same string as in conditions, events and metrics."""

    reason: str
    sentence: str
    next_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainView:
    """Explanation of a node or a Machine. `node` is empty for a Machine without a node."""

    kind: ClassVar[str] = "Explain"
    node: str
    health: str
    headline: str
    questions: tuple[ExplainQuestion, ...]
    held: HoldView | None
    notes: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""
    """Anything else to do or to wait for, as a sentence."""
    unread: tuple[str, ...] = ()
    """Objects that could not be read, as sentences. The answer does not include them."""
    machine: str = ""
    """Namespace and name of the explained Machine; empty for a node."""
    machines: "tuple[ExplainView, ...]" = ()
    """The Machines of an explained node."""


_WIDEST: Final = 100


def render(view: ExplainView, width: int = _WIDEST) -> Iterator[str]:
    available = min(width, _WIDEST)
    yield view.headline
    yield ""
    rows = [("#", "QUESTION", "ANSWER", "BECAUSE")]
    for number, question in enumerate(view.questions, 1):
        rows.append((str(number), question.asked, question.answer, question.because))
    yield from align(rows)
    yield ""
    for note in view.notes:
        yield from fold(note, available)
    for unread in view.unread:
        yield from fold(f"Warning: {unread}", available)
    yield from step_lines(NextStep(view.advice, view.next_step))
    for machine in view.machines:
        yield ""
        yield from render(machine, width)
