"""What is left, in words: what it is, why it is there, and what to do about it."""

from dataclasses import dataclass
from typing import assert_never

from nodemend.api import keys
from nodemend.cli.agents import take_marker_off
from nodemend.cli.remediations import Remediation, node_of
from nodemend.cli.wind_down.leftovers import (
    HeldHost,
    HostNotBack,
    Leftover,
    MarkerOnLease,
    NotSeen,
    StillOpen,
    StrayLock,
    TaintedNode,
    VoidMark,
)
from nodemend.cli.wind_down.remediation_words import title, waits_for
from nodemend.cli.words import spell_list

_AGAIN = "then: kubectl mend wind-down"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Three sentences for a person."""

    what: str
    because: str
    next_step: str


def explain(leftover: Leftover, system_namespace: str) -> Explanation:
    match leftover:
        case StillOpen():
            return _open(leftover, system_namespace)
        case HeldHost():
            return _held(leftover, system_namespace)
        case TaintedNode(node, holder):
            return _tainted(node, holder)
        case MarkerOnLease():
            return _marked(leftover, system_namespace)
        case VoidMark(node):
            return Explanation(
                what=f"node {node} has the annotation {keys.RELEASE_VOIDED}",
                because="a release was called off there; the mark means nothing to anybody else",
                next_step=f"kubectl annotate node {node} {keys.RELEASE_VOIDED}-",
            )
        case StrayLock(name):
            return Explanation(
                what=f"lock {name} in {system_namespace}",
                because="its remediation is gone; it keeps nobody from anything",
                next_step=f"none; it goes with the namespace {system_namespace}",
            )
        case HostNotBack(host, node, wanted):
            return _not_back(host, node, wanted=wanted)
        case NotSeen(what, why):
            return Explanation(
                what=f"the {what} were not looked at",
                because=why,
                next_step="ask somebody who may list them in all namespaces to run this again",
            )
        case _:
            assert_never(leftover)


def explain_leaderless(system_namespace: str) -> str:
    """What to do where no remediator leads."""
    return (
        f"kubectl get pods -n {system_namespace} -l app.kubernetes.io/component=remediator; "
        "only a running remediator brings remediations to a safe end"
    )


def _open(left: StillOpen, system_namespace: str) -> Explanation:
    found = left.remediation
    node = node_of(found)
    what = f"{title(found)} (node {node}) has not ended"
    theirs = sorted(set(found.metadata.finalizers) - {keys.SAFE_END})
    if left.refused:
        return Explanation(
            what=what,
            because=f"it was not told to end: {left.refused}",
            next_step=f"kubectl mend stop {node}, as somebody who may; {_AGAIN}",
        )
    if left.unattended and keys.SAFE_END in found.metadata.finalizers:
        return Explanation(
            what=what, because=left.leader.sentence, next_step=explain_leaderless(system_namespace)
        )
    if theirs and keys.SAFE_END not in found.metadata.finalizers:
        return Explanation(
            what=what,
            because=f"our part is done; it waits for {spell_list(theirs)}, which is not ours",
            next_step="ask whoever put that finalizer there",
        )
    if left.anew:
        return Explanation(
            what=what,
            because=f"somebody asked for it after the winding down had begun ({_asked_by(found)})",
            next_step=f"take our templates out of that health check, or delete it; {_AGAIN}",
        )
    return Explanation(
        what=what, because=waits_for(found), next_step=f"kubectl mend explain {node}; {_AGAIN} --wait 1h"
    )


def _asked_by(remediation: Remediation) -> str:
    """As far as it tells: our own checks name themselves, others own what they make through the Machine."""
    metadata = remediation.metadata
    if check := metadata.labels.get(keys.CHECK):
        return f"nhc/{check}"
    owners = [f"{owner.kind} {owner.name}" for owner in metadata.owner_references]
    return f"it belongs to {spell_list(owners)}" if owners else "it does not say who"


def _held(left: HeldHost, system_namespace: str) -> Explanation:
    metadata = left.host.metadata
    power = {True: "on", False: "off", None: "power unknown"}[left.host.status.powered_on]
    host = f"host {metadata.namespace}/{metadata.name} ({power})"
    if left.holder is not None:
        return Explanation(
            what=f"{host} is still held off by {title(left.holder)}",
            because=waits_for(left.holder),
            next_step=f"let it end: kubectl mend explain {node_of(left.holder)}",
        )
    uid = left.key.removeprefix(keys.OUR_HOLD_PREFIX)
    by_hand = f"kubectl annotate baremetalhost {metadata.name} -n {metadata.namespace} {left.key}-"
    what = f"{host} is still held off by a remediation that is gone ({uid})"
    if left.tainted:
        return Explanation(
            what=what,
            because=f"our taint is on {spell_list(left.tainted)}; power must not come back before it is off",
            next_step=f"see to the taint first; then: {by_hand}",
        )
    restart = f"kubectl rollout restart deployment nodemend-remediator -n {system_namespace}"
    return Explanation(
        what=what,
        because="no remediator gave it back; one that serves power cycles does when it begins to lead",
        next_step=f"{restart}; or by hand: {by_hand}",
    )


def _not_back(host: str, node: str, *, wanted: bool) -> Explanation:
    namespace, _, name = host.partition("/")
    because = "metal3 has not switched it on yet" if wanted else "its owner wants it off (spec.online: false)"
    return Explanation(
        what=f"host {host} of node {node} is off, and nothing of ours holds it",
        because=because,
        next_step=f"see that it comes back: kubectl get baremetalhost {name} -n {namespace}",
    )


def _tainted(node: str, holder: Remediation | None) -> Explanation:
    off = f"kubectl taint node {node} {keys.OUT_OF_SERVICE}={keys.OUR_TAINT_VALUE}:{keys.NO_EXECUTE}-"
    what = f"node {node} has our out-of-service taint"
    if holder is not None:
        return Explanation(
            what=what,
            because=f"{title(holder)} takes it off when the node's workloads are gone: {waits_for(holder)}",
            next_step=f"let it end: kubectl mend explain {node}",
        )
    return Explanation(
        what=what,
        because="no remediation is left that would take it off",
        next_step=f"make sure that the node is down or rebooted, then: {off}",
    )


def _marked(left: MarkerOnLease, system_namespace: str) -> Explanation:
    lease = f"lease {left.node} in {keys.AGENT_NAMESPACE}"
    what = f"{lease} has the marker that ends the boot of node {left.node} and keeps its next ones waiting"
    by_hand = take_marker_off(left.node, system_namespace)
    if left.holder is not None:
        return Explanation(
            what=what,
            because=f"{title(left.holder)} takes it off when it ends: {waits_for(left.holder)}",
            next_step=f"let it end: kubectl mend explain {left.node}",
        )
    if left.tainted:
        return Explanation(
            what=what,
            because=f"our taint is on {left.node}; its kubelet must not start before that is off",
            next_step=f"see to the taint first; then: {by_hand}",
        )
    if left.doubt:
        return Explanation(what=what, because=left.doubt, next_step=by_hand)
    logs = f"kubectl logs -n {system_namespace} deploy/nodemend-remediator"
    return Explanation(
        what=what,
        because="its remediation is gone, and no remediator took it off; one with --self-fencing on does",
        next_step=f"look why it does not: {logs}; or by hand: {by_hand}",
    )
