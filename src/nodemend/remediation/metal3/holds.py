"""Reasons why a power cycle waits, or gives up.

The reasons that the proof of power off returns are in safety/host_power.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.safety.holds import MAY_RUN_TWICE, Contradicts, Explanation, HoldReason, spell_count
from nodemend.safety.host_power import (
    ActiveAfterPowerOff,
    HostOn,
    HostPowerUncertain,
    OffTimeUncertain,
    OffTooRecent,
    PowerOffRequestLost,
    PowerOffUnreported,
)


@dataclass(frozen=True, slots=True)
class HostMissing(HoldReason):
    reason: ClassVar[str] = "HostMissing"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"No BareMetalHost was found for this node: {self.why}.",
            "Correct the reference to its host, or choose another remedy for the node.",
        )


@dataclass(frozen=True, slots=True)
class HostGone(HoldReason):
    """The host with Nodemend's power-off request no longer exists. The host operator left the machine off."""

    reason: ClassVar[str] = "HostGone"
    host: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The BareMetalHost {self.host} is gone; metal3 leaves the machine off.",
            "Enrol the host again, or power the machine on by hand once its node may run.",
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
            f"Two sources disagree on {self.what}: {_short(self.said)} and {_short(self.actual)}. "
            "A power-off could hit another node's machine.",
            "Find out which of them is right, and correct the other.",
        )


@dataclass(frozen=True, slots=True)
class HostIdentityUnproven(HoldReason):
    reason: ClassVar[str] = "HostIdentityUnproven"
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
class OffByOthers(HoldReason):
    """The host is off, but not by Nodemend's request, so it is unknown since when."""

    reason: ClassVar[str] = "OffByOthers"
    host: str
    owner: bool
    """Its owner requests it off: spec.online is false."""
    holders: tuple[str, ...]
    """Other requesters of power off."""

    def explain(self) -> Explanation:
        by = [*(["spec.online: false"] if self.owner else []), *self.holders]
        said = f" (requested by {', '.join(by)})" if by else ""
        return Explanation(
            f"metal3 reports {self.host} as off, but not by Nodemend's request{said}. It is unknown "
            "since when it has been off, and whether it still is.",
            "Nodemend continues when the host is on. Or make sure that the machine is down, and confirm "
            "that on a ManualRemediation, which releases the node.",
        )


@dataclass(frozen=True, slots=True)
class WaitingForPowerOff(HoldReason):
    """The host is not off yet. `limit` is the time that an attempt allows for it, in seconds."""

    reason: ClassVar[str] = "WaitingForPowerOff"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"Waiting at most {self.limit:.0f} s until metal3 reports {self.host} as off.",
            "Nodemend continues when metal3 reports the host as off.",
        )


@dataclass(frozen=True, slots=True)
class NeverObservedOff(HoldReason):
    """An attempt failed: the host was not observed off in time. Its node may still be running."""

    reason: ClassVar[str] = "NeverObservedOff"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"metal3 did not report {self.host} as off within {self.limit:.0f} s. "
            "Its node may still run, so nothing is released.",
            "Check the errors of the host and its BMC. If you power it off yourself, a ManualRemediation "
            "releases the node after your confirmation.",
        )


@dataclass(frozen=True, slots=True)
class NeverObservedOn(HoldReason):
    """An attempt failed: the host was not observed on again in time."""

    reason: ClassVar[str] = "NeverObservedOn"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"metal3 did not report {self.host} as on again within {self.limit:.0f} s. The node's workloads "
            "are released.",
            "Check the errors of the host and its BMC, and power it on.",
        )


@dataclass(frozen=True, slots=True)
class TimedOutByCheck(HoldReason):
    reason: ClassVar[str] = "TimedOutByCheck"

    def explain(self) -> Explanation:
        return Explanation(
            "The time that the check allows for this remediation is over.",
            "Another remedy may be active on the node: see the status of the check.",
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
            f"{self.host} has {self.found} PowerOff events, and Nodemend records at most {self.most}: it "
            "could not distinguish a new one from them.",
            "Nodemend continues when old events have expired, or when they are deleted.",
        )


@dataclass(frozen=True, slots=True)
class ActiveAfterRelease(HoldReason):
    """The node was alive after its Node was deleted. It runs, while its pods are removed by force.

    `by` is what shows it: a new Node with the old boot, or the renewed Lease.
    """

    reason: ClassVar[str] = "ActiveAfterRelease"
    contradicts: ClassVar[Contradicts] = Contradicts.ALWAYS
    host: str
    by: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node is alive ({self.by}) although {self.host} was observed off, and its pods are being "
            "removed: "
            "its workloads may run twice.",
            "Power the node off now; then find out which machine it runs on.",
        )


@dataclass(frozen=True, slots=True)
class NodeDeletionNotAllowed(HoldReason):
    reason: ClassVar[str] = "NodeDeletionNotAllowed"

    def explain(self) -> Explanation:
        return Explanation(
            "spec.releaseBy requests the deletion of the Node, and this installation does not allow that.",
            "Set powerCycle.mayDeleteNodes in the chart, or spec.releaseBy to out-of-service-taint.",
        )


@dataclass(frozen=True, slots=True)
class NodeDeletionRefused(HoldReason):
    reason: ClassVar[str] = "NodeDeletionRefused"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The API server refuses the deletion of the Node: {self.why}.",
            "Check the ClusterRole of the remediator's account, and the admission policies.",
        )


@dataclass(frozen=True, slots=True)
class NodeBackupTooLarge(HoldReason):
    """The Node's labels and annotations are too large for the backup that is kept while it is deleted.

    Sizes are in bytes.
    """

    reason: ClassVar[str] = "NodeBackupTooLarge"
    size: int
    limit: int

    def explain(self) -> Explanation:
        return Explanation(
            f"The Node's labels and annotations ({self.size} bytes) or its taints exceed the backup that "
            f"Nodemend keeps while it is deleted: at most {self.limit} bytes, 512 labels, 512 annotations "
            "and 64 taints.",
            "Remove metadata that is not needed, or choose another remedy for the node.",
        )


@dataclass(frozen=True, slots=True)
class WaitingForPowerOn(HoldReason):
    """The host is not on again yet. `limit` is the time that an attempt, or the end, allows, in seconds."""

    reason: ClassVar[str] = "WaitingForPowerOn"
    host: str
    limit: float

    def explain(self) -> Explanation:
        return Explanation(
            f"Waiting at most {self.limit:.0f} s until metal3 reports {self.host} as on again.",
            "Nodemend continues when metal3 reports the host as on.",
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
            "Nothing to do, unless its BMC or its hardware needs a repair.",
        )


@dataclass(frozen=True, slots=True)
class PowerOffContradicted(HoldReason):
    """The boot that the power-off must have ended is alive, so it runs on another machine."""

    reason: ClassVar[str] = "PowerOffContradicted"
    contradicts: ClassVar[Contradicts] = Contradicts.ALWAYS
    host: str
    boot_id: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Boot {self.boot_id} is alive although {self.host} was observed off. {MAY_RUN_TWICE}",
            "Power the node off now; then find out which machine it runs on.",
        )


@dataclass(frozen=True, slots=True)
class OwnerReplacing(HoldReason):
    reason: ClassVar[str] = "OwnerReplacing"
    machine: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Power cycles did not help; waiting for the owner of {self.machine} to replace it.",
            "The host stays off until the Machine is gone. Check its hardware before it is used again.",
        )


@dataclass(frozen=True, slots=True)
class NoMachineReplacement(HoldReason):
    reason: ClassVar[str] = "NoMachineReplacement"
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Power cycles did not help, and the machine cannot be replaced: {self.why}.",
            "Repair the machine by hand; delete this remediation, so that Nodemend tries again.",
        )


def _short(text: str, length: int = 160) -> str:
    """Cut a value. A Node may state values of any length, and the API server refuses a long message."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


HOST_HOLDS: Final[tuple[type[HoldReason], ...]] = (
    HostMissing,
    HostGone,
    WrongHost,
    HostIdentityUnproven,
    NodeNotInCluster,
    NodesShareIdentity,
    HostPowerUncertain,
    OffByOthers,
    WaitingForPowerOff,
    NeverObservedOff,
    NeverObservedOn,
    TimedOutByCheck,
    HostOn,
    OffTooRecent,
    PowerOffUnreported,
    TooManyPowerOffEvents,
    OffTimeUncertain,
    ActiveAfterPowerOff,
    ActiveAfterRelease,
    NodeDeletionNotAllowed,
    NodeDeletionRefused,
    NodeBackupTooLarge,
    PowerOffRequestLost,
    WaitingForPowerOn,
    BackingOff,
    PowerOffContradicted,
    OwnerReplacing,
    NoMachineReplacement,
)
"""All hold reasons of this module and of safety/host_power, for metrics that start at zero and for registries
of the CLI."""
