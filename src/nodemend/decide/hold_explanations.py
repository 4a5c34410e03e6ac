"""Every hold in words: what holds, and what would change it."""

from typing import assert_never

from nodemend.decide.capm3_holds import NameTaken, NobodyAsks, ServedByCapm3, StrategyUnknown, explain_capm3
from nodemend.decide.explanation import Explanation, spell_count
from nodemend.decide.fencing_explanations import explain_fencing
from nodemend.decide.fencing_holds import FencingHold
from nodemend.decide.guard_explanations import explain_guard
from nodemend.decide.guard_holds import GuardHold
from nodemend.decide.holds import (
    BootUnknown,
    CannotRead,
    CreationRefused,
    Deposed,
    EvidenceForOther,
    EvidenceFromBefore,
    HoldReason,
    KubeletSpeaks,
    NewBootUnproven,
    NodeReady,
    NoKubeletLease,
    NotBackYet,
    NoWord,
    TaintedByAnother,
    ViewStale,
    WordContradicted,
    WordDisproved,
    WordExpired,
    WordForOther,
    WordFromBefore,
    WordOutlived,
    WordUndated,
    WorkloadsLeaving,
)
from nodemend.decide.host_explanations import explain_host


def explain(reason: HoldReason) -> Explanation:
    match reason:
        case (
            NoWord()
            | WordForOther()
            | WordFromBefore()
            | WordOutlived()
            | WordExpired()
            | WordUndated()
            | WordDisproved()
            | WordContradicted()
        ):
            return _explain_word(reason)
        case (
            ViewStale()
            | CannotRead()
            | CreationRefused()
            | Deposed()
            | EvidenceForOther()
            | EvidenceFromBefore()
        ):
            return _explain_sight(reason)
        case (
            NoKubeletLease()
            | BootUnknown()
            | KubeletSpeaks()
            | NodeReady()
            | NewBootUnproven()
            | WorkloadsLeaving()
            | TaintedByAnother()
            | NotBackYet()
        ):
            return _explain_node(reason)
        case ServedByCapm3() | NameTaken() | StrategyUnknown() | NobodyAsks():
            return explain_capm3(reason)
        case _ if isinstance(reason, FencingHold):
            return explain_fencing(reason)
        case _:
            return explain_guard(reason) if isinstance(reason, GuardHold) else explain_host(reason)


def _explain_word(
    reason: NoWord
    | WordForOther
    | WordFromBefore
    | WordOutlived
    | WordExpired
    | WordUndated
    | WordDisproved
    | WordContradicted,
) -> Explanation:
    again = "Take it back with `kubectl mend confirm NODE --withdraw`, look again, and confirm again."
    match reason:
        case NoWord(node):
            return Explanation(
                f"Waiting for a person to make {node} harmless and to say so.",
                f"Switch it off, then run `kubectl mend confirm {node} --reason ...`.",
            )
        case WordForOther(what, said, actual):
            return Explanation(f"The word given names {what} {said}, but this is {actual}.", again)
        case WordFromBefore(age, remembered):
            return Explanation(
                f"The word is {age:.0f} s old, and this remediator has watched for {remembered:.0f} s: etcd "
                "may have been restored from a backup since the word was given.",
                again,
            )
        case WordOutlived(said, actual):
            return Explanation(
                f"The kubelet renewed its Lease at {actual}; whoever vouched had seen {said}. It is alive.",
                again,
            )
        case WordExpired(age, limit):
            return Explanation(f"The word is {age:.0f} s old; it is good for {limit:.0f} s.", again)
        case WordUndated():
            return Explanation("The API server does not tell when the word was given.", again)
        case WordDisproved():
            return Explanation(
                "The node gave a sign of life after this word was believed. It does not count any more.",
                again,
            )
        case WordContradicted(by, boot_id):
            return Explanation(
                f"Boot {boot_id}, which {by} vouched to be down, speaks again. Its workloads may run twice.",
                "Switch the node off now; then find out which copy of its data is right.",
            )
        case _:
            assert_never(reason)


def _explain_sight(
    reason: ViewStale | CannotRead | CreationRefused | Deposed | EvidenceForOther | EvidenceFromBefore,
) -> Explanation:
    match reason:
        case ViewStale(age, limit):
            return Explanation(
                f"Our view of the cluster is {age:.0f} s old; at most {limit:.0f} s is trusted.",
                "It goes on when the API server answers our watches again.",
            )
        case Deposed(ours, theirs):
            return Explanation(
                f"Leadership {theirs} is at work here, and we are {ours}.",
                "Nothing to do: the later one goes on.",
            )
        case EvidenceForOther(what, said, actual):
            return Explanation(
                f"The evidence names {what} {said}, but this is {actual}.", "It is gathered anew."
            )
        case EvidenceFromBefore(epoch, remembered):
            return Explanation(
                f"The evidence was recorded in leadership {epoch}, and this remediator has watched since "
                f"{remembered}: etcd may have been restored from a backup in between.",
                "It is gathered again.",
            )
        case CannotRead(what, why):
            return Explanation(f"Cannot read {what}: {why}.", "It goes on when the API server answers.")
        case CreationRefused(what, why):
            return Explanation(
                f"The API server refuses a {what}: {why}.",
                "Give the checker the right to create it, or mend its template.",
            )
        case _:
            assert_never(reason)


def _explain_node(
    reason: NoKubeletLease
    | BootUnknown
    | KubeletSpeaks
    | NodeReady
    | WorkloadsLeaving
    | TaintedByAnother
    | NewBootUnproven
    | NotBackYet,
) -> Explanation:
    match reason:
        case NoKubeletLease(node):
            return Explanation(
                f"Node {node} has no Lease, so nothing tells whether its kubelet is silent.",
                "It goes on when the kubelet has made its Lease, or when the Node is deleted.",
            )
        case BootUnknown(node):
            return Explanation(
                f"Node {node} reports no boot ID, so no evidence could name the boot that must end.",
                "Delete this remediation and repair the node's kubelet by hand.",
            )
        case KubeletSpeaks(silent_for, needed):
            return Explanation(
                f"The kubelet's Lease has been silent for {silent_for:.0f} s of the {needed:.0f} s needed.",
                "It goes on when the Lease stays silent.",
            )
        case NodeReady(node):
            return Explanation(f"Node {node} reports Ready: its kubelet is at work.", "Nothing is released.")
        case WorkloadsLeaving(pods, attachments):
            return Explanation(
                f"Still on the node: {spell_count(pods, 'pod')} and {spell_count(attachments, 'volume')}.",
                "It goes on when they are gone.",
            )
        case TaintedByAnother(node, taint, pods, attachments):
            return Explanation(
                f"Node {node} has the taint {taint}, which is not ours, and ours cannot stand beside it. "
                f"Still on the node: {spell_count(pods, 'pod')} and {spell_count(attachments, 'volume')}.",
                "It goes on when they are gone. The taint stays until its owner removes it.",
            )
        case NewBootUnproven() | NotBackYet():
            return _explain_return(reason)
        case _:
            assert_never(reason)


def _explain_return(reason: NewBootUnproven | NotBackYet) -> Explanation:
    match reason:
        case NewBootUnproven(node, before, now):
            return Explanation(
                f"Node {node} reports a new boot as {now or 'a machine that it does not name'}; it was "
                f"recorded as {before or 'a machine that it did not name'}. The old boot may go on there.",
                "Nothing is released by it. See that only one machine runs as this Node, then delete this "
                "remediation.",
            )
        case NotBackYet(node, gone=True):
            return Explanation(
                f"Waiting for {node or 'its node'} to be Ready on a new boot.",
                "Start the machine: its kubelet registers its Node.",
            )
        case NotBackYet(node):
            return Explanation(
                f"Waiting for {node} to be Ready on a new boot.",
                f"Start the machine, or delete the Node {node} if it will not come back.",
            )
        case _:
            assert_never(reason)
