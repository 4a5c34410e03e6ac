"""Every hold of a power cycle in words."""

from typing import assert_never

from nodemend.decide.explanation import Explanation, spell_count
from nodemend.decide.host_holds import (
    AwaitingOff,
    AwaitingOn,
    BackingOff,
    BootOutlived,
    CalledOff,
    HoldLost,
    HostDoubtful,
    HostGone,
    HostHold,
    HostMissing,
    HostOn,
    HostUnproven,
    NeverSeenOff,
    NeverSeenOn,
    NobodyReplaces,
    NodeDeletionOff,
    NodeDeletionRefused,
    NodeNotInCluster,
    NodesShareIdentity,
    OffByOthers,
    OffTooFresh,
    OffUndated,
    OrderUntold,
    OwnerReplacing,
    SpokeAfterOff,
    SpokeAfterRelease,
    TooManyPowerOffEvents,
    TooMuchOnNode,
    WrongHost,
)
from nodemend.decide.host_power import (
    Detached,
    Doubt,
    HostDeleting,
    HostInError,
    NotManaged,
    PausedHost,
    PowerOffDisabled,
    PowerUntold,
    Servicing,
    StatusUnclear,
    Unmanageable,
)


def explain_host(reason: HostHold) -> Explanation:
    match reason:
        case HostMissing() | HostGone() | BootOutlived() | SpokeAfterOff():
            return _explain_host(reason)
        case WrongHost() | HostUnproven() | NodeNotInCluster() | NodesShareIdentity():
            return _explain_identity(reason)
        case HostDoubtful(host, doubt):
            return _explain_doubt(host, doubt)
        case (
            OffByOthers()
            | AwaitingOff()
            | HostOn()
            | OffTooFresh()
            | OffUndated()
            | HoldLost()
            | AwaitingOn()
        ):
            return _explain_power(reason)
        case OrderUntold() | TooManyPowerOffEvents():
            return _explain_events(reason)
        case (
            BackingOff() | OwnerReplacing() | NobodyReplaces() | NeverSeenOff() | NeverSeenOn() | CalledOff()
        ):
            return _explain_attempts(reason)
        case SpokeAfterRelease() | NodeDeletionOff() | NodeDeletionRefused() | TooMuchOnNode():
            return _explain_deletion(reason)
        case _:
            assert_never(reason)


def _explain_host(reason: HostMissing | HostGone | BootOutlived | SpokeAfterOff) -> Explanation:
    match reason:
        case HostMissing(why):
            return Explanation(
                f"No BareMetalHost was found for it: {why}.",
                "Mend what names its host, or choose another remedy for it.",
            )
        case HostGone(host):
            return Explanation(
                f"The BareMetalHost {host} is gone; its operator leaves the machine off.",
                "Enrol the host again, or switch the machine on by hand once its node may run.",
            )
        case SpokeAfterOff(host, said):
            return Explanation(
                f"The kubelet renewed its Lease at {said}, after {host} was seen off: it runs on another.",
                "Nothing is released. Find out which machine the node runs on.",
            )
        case BootOutlived(host, boot_id):
            return Explanation(
                f"Boot {boot_id} speaks again, although {host} was seen off. Its workloads may run twice.",
                "Switch the node off now; then find out which machine it runs on.",
            )
        case _:
            assert_never(reason)


def _explain_identity(
    reason: WrongHost | HostUnproven | NodeNotInCluster | NodesShareIdentity,
) -> Explanation:
    match reason:
        case WrongHost(what, said, actual):
            return Explanation(
                f"{what[0].upper()}{what[1:]} is given as {_short(said)}, but it is {_short(actual)}. "
                "Another machine than the node's might be switched off.",
                "Find out which of them is right, and mend the other.",
            )
        case HostUnproven(host, missing):
            return Explanation(
                f"Nothing shows that {host} is the node's machine: {_short(missing, 400)}.",
                "Let the Node, its Machine and the host name one another; for a host without a Machine set "
                "the annotation nodemend.io/system-uuid on the host.",
            )
        case NodeNotInCluster(machine, ""):
            return Explanation(
                f"The Machine {machine} names no Node, so it is not known to be a machine of this cluster.",
                "Repair it by hand, or wait until its Node has joined.",
            )
        case NodeNotInCluster(machine, node):
            return Explanation(
                f"The Machine {machine} names the Node {_short(node)}, which is not in this cluster.",
                "Nodes of workload clusters are not power-cycled: repair it by hand. A Node that was deleted "
                "here comes back when its kubelet restarts.",
            )
        case NodesShareIdentity(host, nodes):
            said = _short(", ".join(nodes), 400)
            return Explanation(
                f"More than one Node claims the machine {host}, by the host in its provider ID, by the whole "
                f"provider ID or by its system UUID: {said}.",
                "Find out which Node runs on it, and delete or re-register the others.",
            )
        case _:
            assert_never(reason)


def _short(text: str, length: int = 160) -> str:
    """A Node may state texts of any length, and a message that is too long cannot be written."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _explain_doubt(host: str, doubt: Doubt) -> Explanation:
    so = "so what it says about its power is not believed"
    match doubt:
        case HostDeleting():
            return Explanation(f"{host} is being deleted, {so}.", "Nothing is released.")
        case PausedHost():
            return Explanation(f"{host} is paused, {so}.", "It goes on when the host is unpaused.")
        case Detached():
            return Explanation(f"{host} is detached, {so}.", "It goes on when the host is attached again.")
        case PowerOffDisabled():
            return Explanation(
                f"{host} has spec.disablePowerOff: a hold would reboot it again and again.",
                "Choose another remedy for it, or allow it to be switched off.",
            )
        case HostInError(type_, message):
            because = f" ({message})" if message else ""
            return Explanation(
                f"{host} is in {type_}{because}, {so}.",
                "It goes on when the operator reaches its BMC again.",
            )
        case Servicing():
            return Explanation(
                f"Firmware work is under way on {host}, for which the machine may run.",
                "It goes on when that is done.",
            )
        case Unmanageable(reason):
            return Explanation(
                f"The provisioner has lost the BMC of {host} ({reason}), {so}.",
                "It goes on when the BMC answers again.",
            )
        case NotManaged(state):
            return Explanation(
                f"{host} is in state {state or 'unknown'}, in which its power is not managed.",
                "It goes on when the host is provisioned.",
            )
        case PowerUntold():
            return Explanation(
                f"{host} says nothing about its power yet.", "It goes on when its operator has looked."
            )
        case StatusUnclear(said):
            return Explanation(
                f"{host} says {said or 'nothing'} about its operation, {so}.",
                "It goes on when its operational status is OK.",
            )
        case _:
            assert_never(doubt)


def _explain_events(reason: OrderUntold | TooManyPowerOffEvents) -> Explanation:
    match reason:
        case OrderUntold(host):
            return Explanation(
                f"{host} is off, but metal3 has published no PowerOff event since our request: it may have "
                "been off before, and be on by now.",
                "It goes on when there is a new PowerOff event; else the host is let on, and the power-off "
                "is requested again.",
            )
        case TooManyPowerOffEvents(host, found, most):
            return Explanation(
                f"{host} has {found} PowerOff events, and we record at most {most}: a new one could not be "
                "told from them.",
                "It goes on when old events have expired, or when they are deleted.",
            )


def _explain_power(
    reason: OffByOthers | AwaitingOff | HostOn | OffTooFresh | OffUndated | HoldLost | AwaitingOn,
) -> Explanation:
    match reason:
        case OffByOthers(host, owner, holders):
            by = [*(["its owner (spec.online is false)"] if owner else []), *holders]
            said = f" by {', '.join(by)}" if by else ""
            return Explanation(
                f"{host} is off{said}, and not by us: nothing tells since when, or whether it still is.",
                "It goes on once the host is on. Or have somebody look, and let a ManualRemediation "
                "release the node on their word.",
            )
        case AwaitingOff(host, limit):
            return Explanation(
                f"Waiting for {host} to be seen off; there are {limit:.0f} s for that.",
                "It goes on when its operator reports it off.",
            )
        case HostOn(host):
            return Explanation(f"{host} is on again, although we hold it off.", "It is switched off anew.")
        case OffTooFresh(host):
            return Explanation(f"{host} was seen off just now.", "It is looked at once more.")
        case OffUndated(host):
            return Explanation(
                f"{host} is off, but it may have been on since we saw it go off.",
                "It is let on, and switched off once more.",
            )
        case HoldLost(host):
            return Explanation(
                f"Our hold is no longer on {host}: somebody took it off.", "It is placed again."
            )
        case AwaitingOn(host, limit):
            return Explanation(
                f"Waiting for {host} to be on again; there are {limit:.0f} s for that.",
                "It goes on when its operator reports it on.",
            )
        case _:
            assert_never(reason)


def _explain_attempts(
    reason: BackingOff | OwnerReplacing | NobodyReplaces | NeverSeenOff | NeverSeenOn | CalledOff,
) -> Explanation:
    match reason:
        case NeverSeenOff(host, limit):
            return Explanation(
                f"{host} was not seen off within {limit:.0f} s. "
                "Its node may still run, so nothing is released.",
                "Look at the errors of the host and at its BMC. Where you see to it yourself that it is off, "
                "a ManualRemediation releases the node on your word.",
            )
        case NeverSeenOn(host, limit):
            return Explanation(
                f"{host} was not seen on again within {limit:.0f} s. What it ran is released.",
                "Look at the errors of the host and at its BMC, and switch it on.",
            )
        case CalledOff():
            return Explanation(
                "The check that asked for it allows it no more time.",
                "Another remedy may be at work on the node: look at the check.",
            )
        case BackingOff(remaining, failed):
            return Explanation(
                f"{spell_count(failed, 'attempt')} failed; the next begins in {remaining:.0f} s.",
                "Nothing to do, unless its BMC or its hardware needs a hand.",
            )
        case OwnerReplacing(machine):
            return Explanation(
                f"Power cycles did not help; the owner of {machine} was asked to replace it.",
                "The host stays off until the Machine is gone. Look at its hardware before it is used again.",
            )
        case NobodyReplaces(why):
            return Explanation(
                f"Power cycles did not help, and the machine cannot be replaced: {why}.",
                "Repair the machine by hand; delete this remediation to have it tried again.",
            )
        case _:
            assert_never(reason)


def _explain_deletion(
    reason: SpokeAfterRelease | NodeDeletionOff | NodeDeletionRefused | TooMuchOnNode,
) -> Explanation:
    match reason:
        case SpokeAfterRelease(host, by):
            return Explanation(
                f"The node speaks ({by}) although {host} was seen off, and its pods are being removed: "
                "its workloads may run twice.",
                "Switch the node off now; then find out which machine it runs on.",
            )
        case NodeDeletionOff():
            return Explanation(
                "It is asked to release by deleting the Node, and that is not allowed here.",
                "Set powerCycle.mayDeleteNodes in the chart, or spec.releaseBy to out-of-service-taint.",
            )
        case NodeDeletionRefused(why):
            return Explanation(
                f"The API server does not let us delete the Node: {why}.",
                "Look at the role and the policies of the remediator's account.",
            )
        case TooMuchOnNode(size, limit):
            return Explanation(
                f"What is written on the Node ({size} bytes of labels and annotations) is more than is kept "
                f"while it is gone (at most {limit}, and 512 of each).",
                "Remove what nobody needs, or choose another remedy for it.",
            )
        case _:
            assert_never(reason)
