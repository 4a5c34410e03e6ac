"""Reasons why a power cycle waits, or gives up."""

from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.safety.holds import Contradicts, Explanation, HoldReason, spell_count
from nodemend.safety.host_power import PowerUncertainty


@dataclass(frozen=True, slots=True)
class HostMissing(HoldReason):
    """No host was found for the node or its machine."""

    reason: ClassVar[str] = "HostMissing"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"No BareMetalHost was found for it: {self.why}.",
            "Mend what names its host, or choose another remedy for it.",
        )


@dataclass(frozen=True, slots=True)
class HostGone(HoldReason):
    """The host with Nodemend's power-off request no longer exists. The host operator left the machine off."""

    reason: ClassVar[str] = "HostGone"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The BareMetalHost {self.host} is gone; its operator leaves the machine off.",
            "Enrol the host again, or switch the machine on by hand once its node may run.",
        )


@dataclass(frozen=True, slots=True)
class WrongHost(HoldReason):
    """Two identity facts that must name the same machine differ.

    Nodemend might power off the machine of another node. `what` is the fact, `said` and `actual` are its two
    values.
    """

    reason: ClassVar[str] = "WrongHost"
    what: str
    said: str
    actual: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.what[0].upper()}{self.what[1:]} is given as {_short(self.said)}, but it is "
            f"{_short(self.actual)}. Another machine than the node's might be switched off.",
            "Find out which of them is right, and mend the other.",
        )


@dataclass(frozen=True, slots=True)
class HostUnproven(HoldReason):
    reason: ClassVar[str] = "HostUnproven"
    host: str
    missing: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Nothing shows that {self.host} is the node's machine: {_short(self.missing, 400)}.",
            "Let the Node, its Machine and the host name one another; for a host without a Machine set "
            "the annotation nodemend.io/system-uuid on the host.",
        )


@dataclass(frozen=True, slots=True)
class NodeNotInCluster(HoldReason):
    """The Machine's Node is not in this cluster: its workloads could not be released from here."""

    reason: ClassVar[str] = "NodeNotInCluster"
    machine: str
    node: str
    """Empty if the Machine names no Node."""

    def explain(self) -> Explanation:
        if not self.node:
            return Explanation(
                f"The Machine {self.machine} names no Node, so it is not known to be a machine of this "
                "cluster.",
                "Repair it by hand, or wait until its Node has joined.",
            )
        return Explanation(
            f"The Machine {self.machine} names the Node {_short(self.node)}, which is not in this cluster.",
            "Nodes of workload clusters are not power-cycled: repair it by hand. A Node that was deleted "
            "here comes back when its kubelet restarts.",
        )


@dataclass(frozen=True, slots=True)
class NodesShareIdentity(HoldReason):
    """Several Nodes state the same provider ID, host or system UUID."""

    reason: ClassVar[str] = "NodesShareIdentity"
    host: str
    nodes: tuple[str, ...]

    def explain(self) -> Explanation:
        said = _short(", ".join(self.nodes), 400)
        return Explanation(
            f"More than one Node claims the machine {self.host}, by the host in its provider ID, by the "
            f"whole provider ID or by its system UUID: {said}.",
            "Find out which Node runs on it, and delete or re-register the others.",
        )


@dataclass(frozen=True, slots=True)
class HostDoubtful(HoldReason):
    """The power state that the host reports cannot be trusted."""

    reason: ClassVar[str] = "HostDoubtful"
    host: str
    problem: PowerUncertainty

    def explain(self) -> Explanation:
        return self.problem.explain(self.host)


@dataclass(frozen=True, slots=True)
class OffByOthers(HoldReason):
    """The host is off, but not by Nodemend's request, so it is unknown since when."""

    reason: ClassVar[str] = "OffByOthers"
    host: str
    owner: bool
    """Its owner requests it off: spec.online is false."""
    holders: tuple[str, ...]
    """Other requesters of power off."""

    def explain(self) -> Explanation:
        by = [*(["its owner (spec.online is false)"] if self.owner else []), *self.holders]
        said = f" by {', '.join(by)}" if by else ""
        return Explanation(
            f"{self.host} is off{said}, and not by us: nothing tells since when, or whether it still is.",
            "It goes on once the host is on. Or have somebody look, and let a ManualRemediation "
            "release the node on their word.",
        )


@dataclass(frozen=True, slots=True)
class AwaitingOff(HoldReason):
    """The host is not off yet. `limit` is the time that an attempt allows for it, in seconds."""

    reason: ClassVar[str] = "AwaitingOff"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"Waiting for {self.host} to be seen off; there are {self.limit:.0f} s for that.",
            "It goes on when its operator reports it off.",
        )


@dataclass(frozen=True, slots=True)
class NeverSeenOff(HoldReason):
    """An attempt failed: the host was not observed off in time. Its node may still be running."""

    reason: ClassVar[str] = "NeverSeenOff"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} was not seen off within {self.limit:.0f} s. "
            "Its node may still run, so nothing is released.",
            "Look at the errors of the host and at its BMC. Where you see to it yourself that it is off, "
            "a ManualRemediation releases the node on your word.",
        )


@dataclass(frozen=True, slots=True)
class NeverSeenOn(HoldReason):
    """An attempt failed: the host was not observed on again in time."""

    reason: ClassVar[str] = "NeverSeenOn"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} was not seen on again within {self.limit:.0f} s. What it ran is released.",
            "Look at the errors of the host and at its BMC, and switch it on.",
        )


@dataclass(frozen=True, slots=True)
class PowerOffCancelled(HoldReason):
    """The requester's time limit for this remediation is over."""

    reason: ClassVar[str] = "CalledOff"

    def explain(self) -> Explanation:
        return Explanation(
            "The check that asked for it allows it no more time.",
            "Another remedy may be at work on the node: look at the check.",
        )


@dataclass(frozen=True, slots=True)
class HostOn(HoldReason):
    """The host reports on although it has Nodemend's power-off request."""

    reason: ClassVar[str] = "HostOn"
    host: str

    def explain(self) -> Explanation:
        return Explanation(f"{self.host} is on again, although we hold it off.", "It is switched off anew.")


@dataclass(frozen=True, slots=True)
class OffTooFresh(HoldReason):
    """The host has been observed off too briefly; it must be observed off a second time."""

    reason: ClassVar[str] = "OffTooFresh"
    host: str

    def explain(self) -> Explanation:
        return Explanation(f"{self.host} was seen off just now.", "It is looked at once more.")


@dataclass(frozen=True, slots=True)
class PowerOffUnreported(HoldReason):
    """The host is off, but metal3 has emitted no PowerOff event since the power-off request.

    metal3 may report an older state: the machine may have been off before, and be on by now.
    """

    reason: ClassVar[str] = "OrderUntold"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} is off, but metal3 has published no PowerOff event since our request: it may have "
            "been off before, and be on by now.",
            "It goes on when there is a new PowerOff event; else the host is let on, and the power-off "
            "is requested again.",
        )


@dataclass(frozen=True, slots=True)
class TooManyPowerOffEvents(HoldReason):
    """The host has more PowerOff events than are recorded, so a new one could not be distinguished."""

    reason: ClassVar[str] = "TooManyPowerOffEvents"
    host: str
    found: int
    most: int

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} has {self.found} PowerOff events, and we record at most {self.most}: a new one "
            f"could not be told from them.",
            "It goes on when old events have expired, or when they are deleted.",
        )


@dataclass(frozen=True, slots=True)
class OffUndated(HoldReason):
    """The host is off, but its operator has written its status since the first observation of power off.

    It may have been on in between.
    """

    reason: ClassVar[str] = "OffUndated"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.host} is off, but it may have been on since we saw it go off.",
            "It is let on, and switched off once more.",
        )


@dataclass(frozen=True, slots=True)
class KubeletActiveAfterOff(HoldReason):
    """The kubelet renewed its Lease after the host was observed off, so it runs on another machine.

    `said` is the renew time.
    """

    reason: ClassVar[str] = "SpokeAfterOff"
    host: str
    said: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The kubelet renewed its Lease at {self.said}, after {self.host} was seen off: it runs on "
            "another.",
            "Nothing is released. Find out which machine the node runs on.",
        )


@dataclass(frozen=True, slots=True)
class KubeletActiveAfterRelease(HoldReason):
    """The node was alive after its Node was deleted. It runs, while its pods are removed by force.

    `by` is what shows it: a new Node with the old boot, or the renewed Lease.
    """

    reason: ClassVar[str] = "SpokeAfterRelease"
    contradicts: ClassVar[Contradicts] = Contradicts.ALWAYS
    host: str
    by: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node speaks ({self.by}) although {self.host} was seen off, and its pods are being removed: "
            "its workloads may run twice.",
            "Switch the node off now; then find out which machine it runs on.",
        )


@dataclass(frozen=True, slots=True)
class NodeDeletionOff(HoldReason):
    """The remediation requests deletion of the Node, and the installation does not allow that."""

    reason: ClassVar[str] = "NodeDeletionOff"

    def explain(self) -> Explanation:
        return Explanation(
            "It is asked to release by deleting the Node, and that is not allowed here.",
            "Set powerCycle.mayDeleteNodes in the chart, or spec.releaseBy to out-of-service-taint.",
        )


@dataclass(frozen=True, slots=True)
class NodeDeletionRefused(HoldReason):
    """The API server refuses the deletion of the Node."""

    reason: ClassVar[str] = "NodeDeletionRefused"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The API server does not let us delete the Node: {self.why}.",
            "Look at the role and the policies of the remediator's account.",
        )


@dataclass(frozen=True, slots=True)
class TooMuchOnNode(HoldReason):
    """The Node's labels and annotations are too large for the backup that is kept while it is deleted.

    Sizes are in bytes.
    """

    reason: ClassVar[str] = "TooMuchOnNode"
    size: int
    limit: int

    def explain(self) -> Explanation:
        return Explanation(
            f"What is written on the Node ({self.size} bytes of labels and annotations) is more than is kept "
            f"while it is gone (at most {self.limit}, and 512 of each).",
            "Remove what nobody needs, or choose another remedy for it.",
        )


@dataclass(frozen=True, slots=True)
class PowerOffRequestLost(HoldReason):
    """The power-off request is no longer on the host: another writer removed it."""

    reason: ClassVar[str] = "HoldLost"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Our hold is no longer on {self.host}: somebody took it off.", "It is placed again."
        )


@dataclass(frozen=True, slots=True)
class AwaitingOn(HoldReason):
    """The host is not on again yet. `limit` is the time that an attempt, or the end, allows, in seconds."""

    reason: ClassVar[str] = "AwaitingOn"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"Waiting for {self.host} to be on again; there are {self.limit:.0f} s for that.",
            "It goes on when its operator reports it on.",
        )


@dataclass(frozen=True, slots=True)
class BackingOff(HoldReason):
    """An attempt failed. The next one starts in `remaining` seconds."""

    reason: ClassVar[str] = "BackingOff"
    remaining: float
    failed: int

    def explain(self) -> Explanation:
        return Explanation(
            f"{spell_count(self.failed, 'attempt')} failed; the next begins in {self.remaining:.0f} s.",
            "Nothing to do, unless its BMC or its hardware needs a hand.",
        )


@dataclass(frozen=True, slots=True)
class BootOutlived(HoldReason):
    """The boot that the power-off must have ended is alive, so it runs on another machine."""

    reason: ClassVar[str] = "BootOutlived"
    contradicts: ClassVar[Contradicts] = Contradicts.ALWAYS
    host: str
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id} speaks again, although {self.host} was seen off. Its workloads may run "
            "twice.",
            "Switch the node off now; then find out which machine it runs on.",
        )


@dataclass(frozen=True, slots=True)
class OwnerReplacing(HoldReason):
    """Power cycles did not help, and Nodemend has requested a replacement from the machine's owner."""

    reason: ClassVar[str] = "OwnerReplacing"
    machine: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Power cycles did not help; the owner of {self.machine} was asked to replace it.",
            "The host stays off until the Machine is gone. Look at its hardware before it is used again.",
        )


@dataclass(frozen=True, slots=True)
class NoReplacement(HoldReason):
    """Power cycles did not help, and no owner would replace the machine."""

    reason: ClassVar[str] = "NobodyReplaces"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Power cycles did not help, and the machine cannot be replaced: {self.why}.",
            "Repair the machine by hand; delete this remediation to have it tried again.",
        )


def _short(text: str, length: int = 160) -> str:
    """Cut a value. A Node may state values of any length, and the API server refuses a long message."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


HOST_HOLDS: Final[tuple[type[HoldReason], ...]] = (
    HostMissing,
    HostGone,
    WrongHost,
    HostUnproven,
    NodeNotInCluster,
    NodesShareIdentity,
    HostDoubtful,
    OffByOthers,
    AwaitingOff,
    NeverSeenOff,
    NeverSeenOn,
    PowerOffCancelled,
    HostOn,
    OffTooFresh,
    PowerOffUnreported,
    TooManyPowerOffEvents,
    OffUndated,
    KubeletActiveAfterOff,
    KubeletActiveAfterRelease,
    NodeDeletionOff,
    NodeDeletionRefused,
    TooMuchOnNode,
    PowerOffRequestLost,
    AwaitingOn,
    BackingOff,
    BootOutlived,
    OwnerReplacing,
    NoReplacement,
)
"""All hold reasons of this module, for metrics that start at zero and for registries of the CLI."""
