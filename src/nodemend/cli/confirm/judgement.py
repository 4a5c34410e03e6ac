"""Whether a word would be believed, by the code that weighs it. Pure."""

from dataclasses import dataclass
from math import inf
from typing import Final

from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import Confirmation, ManualRemediation
from nodemend.api.timestamps import parse_time
from nodemend.cli.confirm.facts import ConfirmFacts
from nodemend.controllers.fresh_reads import node_facts
from nodemend.controllers.remediating.surroundings import DEFAULT_LEASE_SECONDS
from nodemend.decide.facts import Absent, LeaseFacts, Present, Unreadable
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import HoldReason, KubeletSpeaks, NoKubeletLease, WordForOther, WordOutlived
from nodemend.decide.human_word import Believed, weigh

_SOON: Final = "wait a moment and try again."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a word makes no sense now, and what to do instead."""

    why: str
    next_step: str


def weigh_word(facts: ConfirmFacts, reason: str) -> Confirmation | Refusal:
    """The word as it would be written, or why it would not be believed."""
    remediation = facts.remediation
    node, status = remediation.metadata.name, remediation.status
    look = f"kubectl mend explain {node}"
    if (refusal := _refuse_state(remediation)) is not None:
        return refusal
    if not facts.may_confirm:
        return Refusal(
            f"{facts.caller} may not confirm.",
            "ask for the ClusterRole nodemend-confirmer, which has the verb confirm on manualremediations.",
        )
    match facts.node, facts.lease:
        case Absent(), _:
            return Refusal(f"There is no Node {node} any more: the remediation closes by itself.", look)
        case (Unreadable(why), _) | (_, Unreadable(why)):
            return Refusal(f"The node's state cannot be read: {why}.", look)
        case _, Absent():
            return Refusal(explain(NoKubeletLease(node)).sentence, look)
        case Present(seen), Present(lease):
            word = Confirmation(
                by=facts.caller,
                reason=reason,
                node_uid=status.node_uid,
                boot_id=status.boot_id,
                last_renew_time=status.last_renew_time,
            )
            if not word.last_renew_time:
                return _refuse_early(facts, lease)
            believed = weigh(word, 0.0, node_facts(seen), _lease_facts(facts, lease), inf)
            if isinstance(believed, Believed):
                return word
            return Refusal(_say(believed), f"look at the machine again; {look} tells more.")


def silence(facts: ConfirmFacts, lease: Lease) -> float:
    """Seconds since the kubelet's last sign of life, by the time written and the API server's clock."""
    if not lease.spec.renew_time:
        return 0.0
    return max((facts.now - parse_time(lease.spec.renew_time)).total_seconds(), 0.0)


def lasts(lease: Lease) -> float:
    return float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)


def _refuse_state(remediation: ManualRemediation) -> Refusal | None:
    node, word = remediation.metadata.name, remediation.spec.confirmation
    if remediation.metadata.deleting:
        return Refusal(f"The remediation of {node} is ending.", f"kubectl mend explain {node}")
    if word is not None:
        return Refusal(
            f"{word.by} has vouched for {node} already: {word.reason}.",
            f"kubectl mend explain {node}, or take it back: kubectl mend confirm {node} --withdraw",
        )
    if not remediation.status.node_uid:
        return Refusal("The remediator has not looked at the node yet.", _SOON)
    return None


def _refuse_early(facts: ConfirmFacts, lease: Lease) -> Refusal:
    """The remediator names a last sign of life only once it has itself seen enough silence after it."""
    silent_for, needed = silence(facts, lease), lasts(lease)
    if silent_for < needed:
        return Refusal(
            explain(KubeletSpeaks(silent_for, needed)).sentence, "make sure that it is the right node."
        )
    return Refusal(
        f"The remediator itself has not seen the kubelet silent for {needed:.0f} s yet.",
        _SOON,
    )


def _lease_facts(facts: ConfirmFacts, lease: Lease) -> LeaseFacts:
    # Where the Lease still says what the remediator reported, its measure of the silence holds.
    return LeaseFacts(
        renew_time=lease.spec.renew_time or "",
        lasts=lasts(lease),
        unchanged_for=max(silence(facts, lease), lasts(lease)),
    )


def _say(reason: HoldReason) -> str:
    """The word is not given yet: what explains a bad word is put as what it would be."""
    match reason:
        case WordOutlived(actual=renewed):
            return f"The kubelet renewed its Lease at {renewed}, after it was reported silent: it is alive."
        case WordForOther(what, said, actual):
            return f"This is {what} {actual} by now, and the remediation still speaks of {said}."
        case _:
            return explain(reason).sentence
