"""Each hold of a power cycle and each uncertainty about a host has its own sentence."""

from typing import get_args

import pytest

from nodemend.remediation.metal3.holds import (
    ActiveAfterRelease,
    BackingOff,
    HostGone,
    HostIdentityUnproven,
    HostMissing,
    NeverObservedOff,
    NeverObservedOn,
    NodeBackupTooLarge,
    NodeDeletionNotAllowed,
    NodeDeletionRefused,
    NodeNotInCluster,
    NodesShareIdentity,
    NoMachineReplacement,
    OffByOthers,
    OwnerReplacing,
    PowerOffContradicted,
    TimedOutByCheck,
    TooManyPowerOffEvents,
    WaitingForPowerOff,
    WaitingForPowerOn,
    WrongHost,
)
from nodemend.safety import host_power
from nodemend.safety.holds import HoldReason
from nodemend.safety.host_power import (
    ActiveAfterPowerOff,
    HostOn,
    HostPowerUncertain,
    OffTimeUncertain,
    OffTooRecent,
    PowerOffRequestLost,
    PowerOffUnreported,
)

HOST = "metal/rack-7"
NOT_TRUSTED = "so its reported power state is not trusted."

EXAMPLES: list[tuple[HoldReason, str]] = [
    (HostMissing("it has none"), "No BareMetalHost was found for this node: it has none."),
    (HostGone(HOST), f"The BareMetalHost {HOST} is gone; metal3 leaves the machine off."),
    (
        WrongHost("the consumer of the host", "a", "b"),
        (
            "Two sources disagree on the consumer of the host: a and b. A power-off could hit another node's "
            "machine."
        ),
    ),
    (HostIdentityUnproven(HOST, "no ties"), f"Nothing shows that {HOST} is the node's machine: no ties."),
    (
        HostIdentityUnproven(HOST, "x" * 9999),
        f"Nothing shows that {HOST} is the node's machine: {'x' * 397}....",
    ),
    (
        NodeNotInCluster("metal/m1", "n1"),
        "The Machine metal/m1 names the Node n1, which is not in this cluster.",
    ),
    (
        NodeNotInCluster("metal/m1", ""),
        "The Machine metal/m1 names no Node, so it is not known to be a machine of this cluster.",
    ),
    (
        NodesShareIdentity(HOST, ("n1", "n2")),
        (
            f"More than one Node claims the machine {HOST}, by the host in its provider ID, by the whole "
            "provider ID or by its system UUID: n1, n2."
        ),
    ),
    (
        PowerOffContradicted(HOST, "b1"),
        f"Boot b1 is alive although {HOST} was observed off. Its workloads may run twice.",
    ),
    (
        OffByOthers(HOST, owner=True, holders=("them",)),
        (
            f"metal3 reports {HOST} as off, but not by Nodemend's request (requested by spec.online: false, "
            "them). It is unknown since when it has been off, and whether it still is."
        ),
    ),
    (
        OffByOthers(HOST, owner=False, holders=()),
        (
            f"metal3 reports {HOST} as off, but not by Nodemend's request. It is unknown since when it "
            "has been off, and whether it still is."
        ),
    ),
    (
        ActiveAfterRelease(HOST, "boot b1"),
        (
            f"The node is alive (boot b1) although {HOST} was observed off, and its pods are being removed: "
            "its workloads may run twice."
        ),
    ),
    (
        NodeDeletionNotAllowed(),
        "spec.releaseBy requests the deletion of the Node, and this installation does not allow that.",
    ),
    (NodeDeletionRefused("no right"), "The API server refuses the deletion of the Node: no right."),
    (
        NodeBackupTooLarge(70_000, 65_536),
        (
            "The Node's labels and annotations (70000 bytes) or its taints exceed the backup that Nodemend "
            "keeps while it is deleted: at most 65536 bytes, 512 labels, 512 annotations and 64 taints."
        ),
    ),
    (WaitingForPowerOff(HOST, 300), f"Waiting at most 300 s until metal3 reports {HOST} as off."),
    (HostOn(HOST), f"{HOST} is on although it has Nodemend's power-off request."),
    (OffTooRecent(HOST), f"metal3 has only just reported {HOST} as off."),
    (
        PowerOffUnreported(HOST),
        (
            f"{HOST} is off, but metal3 has published no PowerOff event since Nodemend's request: it may "
            "have been off before, and be on by now."
        ),
    ),
    (
        TooManyPowerOffEvents(HOST, 300, 256),
        (
            f"{HOST} has 300 PowerOff events, and Nodemend records at most 256: it could not distinguish a "
            "new one from them."
        ),
    ),
    (OffTimeUncertain(HOST), f"{HOST} is off, but it may have been on since Nodemend first observed it off."),
    (
        ActiveAfterPowerOff(HOST, "12:05"),
        f"The kubelet renewed its Lease at 12:05, after {HOST} was observed off: it runs on another machine.",
    ),
    (
        PowerOffRequestLost(HOST),
        f"Nodemend's power-off request is no longer on {HOST}: another client removed it.",
    ),
    (WaitingForPowerOn(HOST, 600), f"Waiting at most 600 s until metal3 reports {HOST} as on again."),
    (
        NeverObservedOff(HOST, 300),
        f"metal3 did not report {HOST} as off within 300 s. Its node may still run, so nothing is released.",
    ),
    (
        NeverObservedOn(HOST, 600),
        f"metal3 did not report {HOST} as on again within 600 s. The node's workloads are released.",
    ),
    (TimedOutByCheck(), "The time that the check allows for this remediation is over."),
    (BackingOff(30, 1), "1 attempt failed; the next begins in 30 s."),
    (BackingOff(60, 2), "2 attempts failed; the next begins in 60 s."),
    (
        OwnerReplacing("Machine a/b"),
        "Power cycles did not help; waiting for the owner of Machine a/b to replace it.",
    ),
    (
        NoMachineReplacement("it has no Machine"),
        "Power cycles did not help, and the machine cannot be replaced: it has no Machine.",
    ),
    (HostPowerUncertain(HOST, host_power.HostDeleting()), f"{HOST} is being deleted, {NOT_TRUSTED}"),
    (HostPowerUncertain(HOST, host_power.PausedHost()), f"{HOST} is paused, {NOT_TRUSTED}"),
    (HostPowerUncertain(HOST, host_power.Detached()), f"{HOST} is detached, {NOT_TRUSTED}"),
    (
        HostPowerUncertain(HOST, host_power.PowerOffDisabled()),
        f"{HOST} has spec.disablePowerOff: a power-off request would reboot it again and again.",
    ),
    (
        HostPowerUncertain(HOST, host_power.HostInError("power management error", "no answer")),
        f"{HOST} is in power management error (no answer), {NOT_TRUSTED}",
    ),
    (HostPowerUncertain(HOST, host_power.HostInError("error", "")), f"{HOST} is in error, {NOT_TRUSTED}"),
    (
        HostPowerUncertain(HOST, host_power.Servicing()),
        f"metal3 services the firmware of {HOST}, and the machine may run for that.",
    ),
    (
        HostPowerUncertain(HOST, host_power.Unmanageable("PowerFailure")),
        f"The provisioner has lost the BMC of {HOST} (PowerFailure), {NOT_TRUSTED}",
    ),
    (
        HostPowerUncertain(HOST, host_power.NotManaged("available")),
        f"{HOST} is in state available, in which its power is not managed.",
    ),
    (
        HostPowerUncertain(HOST, host_power.NotManaged("")),
        f"{HOST} is in state unknown, in which its power is not managed.",
    ),
    (HostPowerUncertain(HOST, host_power.PowerUnreported()), f"{HOST} reports no power state yet."),
    (
        HostPowerUncertain(HOST, host_power.StatusUnclear("delayed")),
        f"{HOST} has the operational status delayed, {NOT_TRUSTED}",
    ),
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES)
def test_sentence(reason: HoldReason, sentence: str) -> None:
    explanation = reason.explain()
    assert explanation.sentence == sentence
    assert explanation.next_step.endswith(".")


def test_every_doubt_is_among_the_examples() -> None:
    problems = {type(reason.problem) for reason, _ in EXAMPLES if isinstance(reason, HostPowerUncertain)}
    assert problems == set(get_args(host_power.PowerUncertainty))
