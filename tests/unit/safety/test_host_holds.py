"""Each hold of a power cycle and each uncertainty about a host has its own sentence."""

from typing import get_args

import pytest

from nodemend.safety import host_power
from nodemend.safety.holds import HoldReason
from nodemend.safety.host_holds import (
    AwaitingOff,
    AwaitingOn,
    BackingOff,
    BootOutlived,
    HostDoubtful,
    HostGone,
    HostMissing,
    HostOn,
    HostUnproven,
    KubeletActiveAfterOff,
    KubeletActiveAfterRelease,
    NeverSeenOff,
    NeverSeenOn,
    NodeDeletionOff,
    NodeDeletionRefused,
    NodeNotInCluster,
    NodesShareIdentity,
    NoReplacement,
    OffByOthers,
    OffTooFresh,
    OffUndated,
    OwnerReplacing,
    PowerOffCancelled,
    PowerOffRequestLost,
    PowerOffUnreported,
    TooManyPowerOffEvents,
    TooMuchOnNode,
    WrongHost,
)

HOST = "metal/rack-7"
BELIEVED_NOT = "so what it says about its power is not believed."

EXAMPLES: list[tuple[HoldReason, str]] = [
    (HostMissing("it has none"), "No BareMetalHost was found for it: it has none."),
    (HostGone(HOST), f"The BareMetalHost {HOST} is gone; its operator leaves the machine off."),
    (
        WrongHost("the consumer of the host", "a", "b"),
        (
            "The consumer of the host is given as a, but it is b. Another machine than the node's might be "
            "switched off."
        ),
    ),
    (HostUnproven(HOST, "no ties"), f"Nothing shows that {HOST} is the node's machine: no ties."),
    (
        HostUnproven(HOST, "x" * 9999),
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
        BootOutlived(HOST, "b1"),
        f"Boot b1 speaks again, although {HOST} was seen off. Its workloads may run twice.",
    ),
    (
        OffByOthers(HOST, owner=True, holders=("them",)),
        (
            f"{HOST} is off by its owner (spec.online is false), them, and not by us: nothing tells since "
            "when, or whether it still is."
        ),
    ),
    (
        OffByOthers(HOST, owner=False, holders=()),
        f"{HOST} is off, and not by us: nothing tells since when, or whether it still is.",
    ),
    (
        KubeletActiveAfterRelease(HOST, "boot b1"),
        (
            f"The node speaks (boot b1) although {HOST} was seen off, and its pods are being removed: its "
            "workloads may run twice."
        ),
    ),
    (
        NodeDeletionOff(),
        "It is asked to release by deleting the Node, and that is not allowed here.",
    ),
    (NodeDeletionRefused("no right"), "The API server does not let us delete the Node: no right."),
    (
        TooMuchOnNode(70_000, 65_536),
        (
            "What is written on the Node (70000 bytes of labels and annotations) is more than is kept while "
            "it is gone (at most 65536, and 512 of each)."
        ),
    ),
    (AwaitingOff(HOST, 300), f"Waiting for {HOST} to be seen off; there are 300 s for that."),
    (HostOn(HOST), f"{HOST} is on again, although we hold it off."),
    (OffTooFresh(HOST), f"{HOST} was seen off just now."),
    (
        PowerOffUnreported(HOST),
        (
            f"{HOST} is off, but metal3 has published no PowerOff event since our request: it may have "
            "been off before, and be on by now."
        ),
    ),
    (
        TooManyPowerOffEvents(HOST, 300, 256),
        (
            f"{HOST} has 300 PowerOff events, and we record at most 256: a new one could not be told from "
            "them."
        ),
    ),
    (OffUndated(HOST), f"{HOST} is off, but it may have been on since we saw it go off."),
    (
        KubeletActiveAfterOff(HOST, "12:05"),
        f"The kubelet renewed its Lease at 12:05, after {HOST} was seen off: it runs on another.",
    ),
    (PowerOffRequestLost(HOST), f"Our hold is no longer on {HOST}: somebody took it off."),
    (AwaitingOn(HOST, 600), f"Waiting for {HOST} to be on again; there are 600 s for that."),
    (
        NeverSeenOff(HOST, 300),
        f"{HOST} was not seen off within 300 s. Its node may still run, so nothing is released.",
    ),
    (NeverSeenOn(HOST, 600), f"{HOST} was not seen on again within 600 s. What it ran is released."),
    (PowerOffCancelled(), "The check that asked for it allows it no more time."),
    (BackingOff(30, 1), "1 attempt failed; the next begins in 30 s."),
    (BackingOff(60, 2), "2 attempts failed; the next begins in 60 s."),
    (
        OwnerReplacing("Machine a/b"),
        "Power cycles did not help; the owner of Machine a/b was asked to replace it.",
    ),
    (
        NoReplacement("it has no Machine"),
        "Power cycles did not help, and the machine cannot be replaced: it has no Machine.",
    ),
    (HostDoubtful(HOST, host_power.HostDeleting()), f"{HOST} is being deleted, {BELIEVED_NOT}"),
    (HostDoubtful(HOST, host_power.PausedHost()), f"{HOST} is paused, {BELIEVED_NOT}"),
    (HostDoubtful(HOST, host_power.Detached()), f"{HOST} is detached, {BELIEVED_NOT}"),
    (
        HostDoubtful(HOST, host_power.PowerOffDisabled()),
        f"{HOST} has spec.disablePowerOff: a hold would reboot it again and again.",
    ),
    (
        HostDoubtful(HOST, host_power.HostInError("power management error", "no answer")),
        f"{HOST} is in power management error (no answer), {BELIEVED_NOT}",
    ),
    (HostDoubtful(HOST, host_power.HostInError("error", "")), f"{HOST} is in error, {BELIEVED_NOT}"),
    (
        HostDoubtful(HOST, host_power.Servicing()),
        f"Firmware work is under way on {HOST}, for which the machine may run.",
    ),
    (
        HostDoubtful(HOST, host_power.Unmanageable("PowerFailure")),
        f"The provisioner has lost the BMC of {HOST} (PowerFailure), {BELIEVED_NOT}",
    ),
    (
        HostDoubtful(HOST, host_power.NotManaged("available")),
        f"{HOST} is in state available, in which its power is not managed.",
    ),
    (
        HostDoubtful(HOST, host_power.NotManaged("")),
        f"{HOST} is in state unknown, in which its power is not managed.",
    ),
    (HostDoubtful(HOST, host_power.PowerUnreported()), f"{HOST} says nothing about its power yet."),
    (
        HostDoubtful(HOST, host_power.StatusUnclear("delayed")),
        f"{HOST} says delayed about its operation, {BELIEVED_NOT}",
    ),
]


@pytest.mark.parametrize(("reason", "sentence"), EXAMPLES)
def test_sentence(reason: HoldReason, sentence: str) -> None:
    explanation = reason.explain()
    assert explanation.sentence == sentence
    assert explanation.next_step.endswith(".")


def test_every_doubt_is_among_the_examples() -> None:
    problems = {type(reason.problem) for reason, _ in EXAMPLES if isinstance(reason, HostDoubtful)}
    assert problems == set(get_args(host_power.PowerUncertainty))
