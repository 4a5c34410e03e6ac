"""The base of all hold reasons, and the hold reasons that every feature shares.

A hold reason states why Nodemend does not act for now. Each feature defines its own reasons beside the
decisions that return them, and no module lists them all. By default an order does not override a reason, and
a held remediation is requeued after the usual interval. The exceptions for orders are the closed list
`OVERRIDABLE` in `guard_holds`; those for the interval are in `_again_in` of remediation/reconciler and in
`again_in` of each driver.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Final

LONGEST_MESSAGE: Final = 1024
"""Maximum length of status.message in the CRDs, in characters."""
MAY_RUN_TWICE: Final = "Its workloads may run twice."
"""A sentence of holds that contradict evidence. Commands recognize it and do not print it twice."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explanation for users: why Nodemend does not act, and what would change that."""

    sentence: str
    next_step: str

    def __str__(self) -> str:
        """Return at most LONGEST_MESSAGE characters.

        The sentence may contain text from other writers, so it is cut before the next step.
        """
        available = max(LONGEST_MESSAGE - len(self.next_step) - 1, 0)
        said = (
            self.sentence if len(self.sentence) <= available else self.sentence[: max(available - 1, 0)] + "…"
        )
        return f"{said} {self.next_step}"[:LONGEST_MESSAGE]


def spell_count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"


def spell_a(kind: str) -> str:
    """Return the name of a kind with its article."""
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"


_CONFIRM_AGAIN: Final = (
    "Withdraw the confirmation with `kubectl mend confirm NODE --withdraw`, check the node again, and "
    "confirm again."
)


class Contradicts(Enum):
    """The times at which a reason means that evidence was wrong, so that released workloads may run twice."""

    NEVER = auto()
    ALWAYS = auto()
    ONCE_RELEASED = auto()
    """Only after the release. Before it, wrong evidence merely does not count."""


class HoldReason(ABC):
    """A reason not to act for now. Each subclass is a frozen dataclass with the values that explain it."""

    __slots__ = ()

    reason: ClassVar[str]
    """The public name in conditions, events, metrics, logs and JSON. Alerts match it, so it never changes."""
    contradicts: ClassVar[Contradicts] = Contradicts.NEVER

    @abstractmethod
    def explain(self) -> Explanation:
        """Return why Nodemend does not act, and what would change that."""


@dataclass(frozen=True, slots=True)
class CacheStale(HoldReason):
    """The watch cache is too old to act on. Ages are in seconds."""

    reason: ClassVar[str] = "CacheStale"
    age: float
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"The watch cache is {self.age:.0f} s old; Nodemend acts only if it is at most "
            f"{self.limit:.0f} s old.",
            "Nodemend continues when the API server answers its watches again.",
        )


@dataclass(frozen=True, slots=True)
class CannotRead(HoldReason):
    reason: ClassVar[str] = "CannotRead"
    what: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Cannot read {self.what}: {self.why}.", "Nodemend continues when the read succeeds."
        )


@dataclass(frozen=True, slots=True)
class LeadershipLost(HoldReason):
    """A later leader term has written to this object, so that leader owns it now.

    Both numbers are epochs of leader terms.
    """

    reason: ClassVar[str] = "LeadershipLost"
    ours: int
    theirs: int

    def explain(self) -> Explanation:
        return Explanation(
            f"The leader of term {self.theirs} has written to it, and this process leads term {self.ours}.",
            "Nothing to do: the leader of the later term continues.",
        )


@dataclass(frozen=True, slots=True)
class KubeletActive(HoldReason):
    """The kubelet's Lease was renewed recently, or has not been observed unchanged for long enough."""

    reason: ClassVar[str] = "KubeletActive"
    silent_for: float
    needed: float

    def explain(self) -> Explanation:
        return Explanation(
            f"The kubelet has not renewed its Lease for {self.silent_for:.0f} s; {self.needed:.0f} s are "
            "needed.",
            "Nodemend continues if the kubelet does not renew it before then.",
        )


@dataclass(frozen=True, slots=True)
class NoKubeletLease(HoldReason):
    """The node has no kubelet Lease, so it is unknown whether the kubelet is silent."""

    reason: ClassVar[str] = "NoKubeletLease"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Node {self.node} has no Lease, so it is unknown whether its kubelet is silent.",
            "Nodemend continues when the kubelet has created its Lease, or when the Node is deleted.",
        )


@dataclass(frozen=True, slots=True)
class WaitingForConfirmation(HoldReason):
    """There is no operator confirmation yet."""

    reason: ClassVar[str] = "WaitingForConfirmation"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Waiting for an operator to confirm that {self.node} is down: powered off, or reset.",
            f"Power it off or reset it, then run `kubectl mend confirm {self.node} --reason ...`.",
        )


@dataclass(frozen=True, slots=True)
class ConfirmationForOther(HoldReason):
    """The operator confirmation names another node or another boot.

    The field `what` is "node" or "boot"; `said` is the ID in the confirmation, `actual` that of the Node.
    """

    reason: ClassVar[str] = "ConfirmationForOther"
    what: str
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The confirmation names {self.what} {self.said}, but this is {self.actual}.", _CONFIRM_AGAIN
        )


@dataclass(frozen=True, slots=True)
class EvidenceForOther(HoldReason):
    """The recorded evidence names a different node or boot than the current one."""

    reason: ClassVar[str] = "EvidenceForOther"
    what: str
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The evidence names {self.what} {self.said}, but this is {self.actual}.",
            "Nodemend collects the evidence again.",
        )


@dataclass(frozen=True, slots=True)
class EvidencePredatesLeader(HoldReason):
    """The evidence was recorded before this leader's process started to watch.

    etcd may have been restored from a backup in between. Both numbers are epochs of leader terms.
    """

    reason: ClassVar[str] = "EvidencePredatesLeader"
    epoch: int
    remembered: int

    def explain(self) -> Explanation:
        return Explanation(
            f"The evidence was recorded in leader term {self.epoch}, and this remediator has watched since "
            f"term {self.remembered}: etcd may have been restored from a backup in between.",
            "Nodemend collects the evidence again.",
        )


@dataclass(frozen=True, slots=True)
class ConfirmationPredatesLeader(HoldReason):
    """The operator confirmation is older than this leader's process has watched.

    etcd may have been restored from a backup in between. Both numbers are ages in seconds.
    """

    reason: ClassVar[str] = "ConfirmationPredatesLeader"
    age: float
    remembered: float

    def explain(self) -> Explanation:
        return Explanation(
            f"The confirmation is {self.age:.0f} s old, and this remediator has watched for only "
            f"{self.remembered:.0f} s: etcd may have been restored from a backup since the confirmation.",
            _CONFIRM_AGAIN,
        )


@dataclass(frozen=True, slots=True)
class ConfirmationOutdated(HoldReason):
    """The kubelet renewed its Lease after the operator checked the node.

    `said` is the renew time in the confirmation, `actual` that of the Lease.
    """

    reason: ClassVar[str] = "ConfirmationOutdated"
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The kubelet renewed its Lease at {self.actual}; the last renewal before the confirmation was "
            f"at {self.said}. The kubelet is alive.",
            _CONFIRM_AGAIN,
        )


@dataclass(frozen=True, slots=True)
class ConfirmationExpired(HoldReason):
    reason: ClassVar[str] = "ConfirmationExpired"
    age: float
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"The confirmation is {self.age:.0f} s old; it is valid for {self.limit:.0f} s.", _CONFIRM_AGAIN
        )


@dataclass(frozen=True, slots=True)
class ConfirmationTimeUnknown(HoldReason):
    """The time of the operator confirmation is unknown, so it is unknown whether it has expired."""

    reason: ClassVar[str] = "ConfirmationTimeUnknown"

    def explain(self) -> Explanation:
        return Explanation("The API server does not report the time of the confirmation.", _CONFIRM_AGAIN)


@dataclass(frozen=True, slots=True)
class ConfirmationDisproved(HoldReason):
    """The node was alive after this operator confirmation was accepted.

    The confirmation stays invalid, even if the node has been silent since then.
    """

    reason: ClassVar[str] = "ConfirmationDisproved"

    def explain(self) -> Explanation:
        return Explanation(
            "The node was alive after Nodemend had accepted this confirmation, so it is no longer valid.",
            _CONFIRM_AGAIN,
        )


@dataclass(frozen=True, slots=True)
class NodeReady(HoldReason):
    """The Node reports Ready, so its kubelet is running, regardless of any confirmation or request."""

    reason: ClassVar[str] = "NodeReady"
    node: str

    def explain(self) -> Explanation:
        return Explanation(f"Node {self.node} reports Ready: its kubelet is running.", "Nothing is released.")


@dataclass(frozen=True, slots=True)
class NewBootUnproven(HoldReason):
    """The Node reports a new boot, but not from the machine that was recorded.

    The old boot may still be running on the recorded machine.
    """

    reason: ClassVar[str] = "NewBootUnproven"
    node: str
    before: str
    """The machine that was recorded; empty if the Node did not state it."""
    now: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Node {self.node} reports a new boot as {self.now or 'a machine that it does not name'}; it was "
            f"recorded as {self.before or 'a machine that it did not name'}. The old boot may still run "
            "there.",
            "The new boot releases nothing. Make sure that only one machine runs as this Node, then delete "
            "this remediation.",
        )


@dataclass(frozen=True, slots=True)
class WorkloadsLeaving(HoldReason):
    reason: ClassVar[str] = "WorkloadsLeaving"
    pods: int
    attachments: int

    def explain(self) -> Explanation:
        return Explanation(
            f"Still on the node: {spell_count(self.pods, 'pod')} and "
            f"{spell_count(self.attachments, 'volume')}.",
            "Nodemend continues when they are gone.",
        )


@dataclass(frozen=True, slots=True)
class TaintedByAnother(HoldReason):
    """Another writer's out-of-service taint is on the Node, in the place of Nodemend's.

    The workloads leave because of that taint. Nodemend does not remove it.
    """

    reason: ClassVar[str] = "TaintedByAnother"
    node: str
    taint: str
    pods: int
    attachments: int

    def explain(self) -> Explanation:
        return Explanation(
            f"Node {self.node} has the taint {self.taint} from another writer, so Nodemend cannot add its "
            f"own. Still on the node: {spell_count(self.pods, 'pod')} and "
            f"{spell_count(self.attachments, 'volume')}.",
            "Nodemend continues when they are gone. The taint stays until its owner removes it.",
        )


@dataclass(frozen=True, slots=True)
class Hold:
    """The decision not to act for now."""

    step: ClassVar[str] = "Hold"
    reason: HoldReason
