"""The view and the text of `kubectl mend wind-down`: its progress, its end, and each leftover.

A leftover is explained: what it is, why it exists, and the next step. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, assert_never

from nodemend.api import manual_remediation, metal3_remediation, self_remediation, well_known
from nodemend.cli.agents import remove_marker_command
from nodemend.cli.listing import AnyRemediation, node_of, title
from nodemend.cli.text import first_sentence, spell_list, spell_names, split_step, step_lines
from nodemend.cli.wind_down.leftovers import (
    Leftover,
    MarkerOnLease,
    NotRead,
    OpenFacts,
    PowerNotRestored,
    PowerOffRequestOnHost,
    Revocation,
    StillOpen,
    StrayLock,
    TaintedNode,
    is_in_the_way,
    may_pass,
)
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftView:
    """One leftover. `in_the_way` is True if Nodemend must not be uninstalled because of it."""

    kind: str
    what: str
    because: str
    next_step: str
    in_the_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindDownView:
    kind: ClassVar[str] = "WindDown"
    done: bool
    """True if nothing of Nodemend is left on any node or host."""
    pause_reason: str
    """Reason of the pause; empty if there is no RemediationPolicy to pause."""
    ended: tuple[str, ...]
    """Nodes whose remediations have ended."""
    left: tuple[LeftView, ...]


def wind_down_view(
    pause_reason: str, ended: tuple[str, ...], leftovers: tuple[Leftover, ...], system_namespace: str
) -> WindDownView:
    return WindDownView(
        done=not any(map(is_in_the_way, leftovers)),
        pause_reason=pause_reason,
        ended=ended,
        left=tuple(explain(one, system_namespace) for one in leftovers),
    )


def _view(leftover: Leftover, what: str, because: str, next_step: str) -> LeftView:
    return LeftView(
        kind=leftover.kind,
        what=what,
        because=because,
        next_step=next_step,
        in_the_way=is_in_the_way(leftover),
    )


def render(view: WindDownView) -> Iterator[str]:
    if view.pause_reason:
        yield f"paused: {view.pause_reason}"
    else:
        yield "There is no RemediationPolicy, so nothing new begins."
    if view.ended:
        yield f"ended {spell_count(len(view.ended), 'remediation')}: {spell_names(view.ended)}"
    in_the_way = [left for left in view.left if left.in_the_way]
    others = [left for left in view.left if not left.in_the_way]
    if view.done:
        yield "Nothing of Nodemend is left on any node or host."
    else:
        yield f"NOT wound down; {spell_count(len(in_the_way), 'thing is', 'things are')} in the way:"
        yield from _list(in_the_way)
    if others:
        yield "Not in the way, but worth a check:"
        yield from _list(others)
    if view.pause_reason:
        yield "  undo:  kubectl mend resume; then nodes that are still unhealthy are remediated again"
    yield from step_lines(split_step(_next_step(view)))


def render_broken_off(paused_for: str | None, ending: int) -> str:
    """Return the note of an interrupted run. `paused_for` is None if the pause is unknown."""
    match paused_for:
        case None:
            paused = "Whether the cluster is paused now: kubectl mend status"
        case "":
            paused = "There is no RemediationPolicy, so nothing new begins"
        case reason:
            paused = f"The cluster stays paused ({reason}; undo: kubectl mend resume)"
    still = f"; {spell_count(ending, 'remediation goes', 'remediations go')} on ending" if ending else ""
    return f"Not wound down. {paused}{still}. It can be run again at any time: kubectl mend wind-down"


def _list(left: list[LeftView]) -> Iterator[str]:
    for one in left:
        yield f"  {one.what}"
        yield f"    because: {one.because}"
        yield f"    to do:   {one.next_step}"


def _next_step(view: WindDownView) -> str:
    if view.done:
        return "nothing; Nodemend can be uninstalled now (helm uninstall)"
    return "handle what is listed above, and then: kubectl mend wind-down"


_BEGINS: Final = "it has changed nothing yet"
_LEAVING: Final = "its workloads are being released; it completes that first"
_ENDED: Final = "it has ended; its leftovers are being removed"
_TWICE: Final = "its workloads are released, and its old boot runs: they may run twice"
_STANDS: Final[dict[str, str]] = {
    metal3_remediation.Metal3RemediationPhase.PENDING: _BEGINS,
    metal3_remediation.Metal3RemediationPhase.POWER_OFF: (
        "its host must go off, and nothing of the node is released yet"
    ),
    metal3_remediation.Metal3RemediationPhase.RELEASE: _LEAVING,
    metal3_remediation.Metal3RemediationPhase.POWER_ON: (
        "its workloads are released, and its host must come back on"
    ),
    metal3_remediation.Metal3RemediationPhase.CONTRADICTED: _TWICE,
    metal3_remediation.Metal3RemediationPhase.BACKING_OFF: "an attempt has failed, and its host may go on",
    metal3_remediation.Metal3RemediationPhase.DELETING_MACHINE: "its machine's owner must replace it",
    metal3_remediation.Metal3RemediationPhase.SUCCEEDED: _ENDED,
    metal3_remediation.Metal3RemediationPhase.FAILED: _ENDED,
    manual_remediation.ManualRemediationPhase.PENDING: _BEGINS,
    manual_remediation.ManualRemediationPhase.WAITING_FOR_CONFIRMATION: (
        "it waits for a confirmation, and nothing is released yet"
    ),
    manual_remediation.ManualRemediationPhase.RELEASING: _LEAVING,
    manual_remediation.ManualRemediationPhase.RECOVERING: (
        "its workloads are released, and the node must come back"
    ),
    manual_remediation.ManualRemediationPhase.CONTRADICTED: _TWICE,
    manual_remediation.ManualRemediationPhase.SUCCEEDED: _ENDED,
    self_remediation.SelfRemediationPhase.FENCING: (
        "the node must reset itself, and nothing is released yet"
    ),
}
"""Progress by phase, for a remediation without a message."""


def waits_for(remediation: AnyRemediation) -> str:
    """Return the first sentence of its message, or the progress of its phase."""
    status = remediation.status
    return first_sentence(status.message) or _STANDS[status.phase]


_AGAIN = "then: kubectl mend wind-down"


def explain(leftover: Leftover, system_namespace: str) -> LeftView:
    match leftover:
        case StillOpen():
            return _explain_open(leftover, system_namespace)
        case PowerOffRequestOnHost():
            return _held(leftover, system_namespace)
        case TaintedNode():
            return _tainted(leftover)
        case MarkerOnLease():
            return _marked(leftover, system_namespace)
        case Revocation(node):
            return _view(
                leftover,
                what=f"node {node} has the annotation {well_known.RELEASE_REVOKED}",
                because="a release was revoked there; only Nodemend uses the annotation",
                next_step=f"kubectl annotate node {node} {well_known.RELEASE_REVOKED}-",
            )
        case StrayLock(name):
            return _view(
                leftover,
                what=f"lock {name} in {system_namespace}",
                because="its remediation is gone; it blocks nothing",
                next_step=f"none; it is deleted with the namespace {system_namespace}",
            )
        case PowerNotRestored():
            return _not_back(leftover)
        case NotRead(what, why):
            return _view(
                leftover,
                what=f"the {what} were not read",
                because=why,
                next_step="ask a user who may list them in all namespaces to run this again",
            )
        case _:
            assert_never(leftover)


def explain_leaderless(system_namespace: str) -> str:
    """Return the next step if the remediator has no leader."""
    return (
        f"kubectl get pods -n {system_namespace} -l app.kubernetes.io/component=remediator; "
        "only a running remediator brings remediations to a safe end"
    )


def _explain_open(left: StillOpen, system_namespace: str) -> LeftView:
    found = left.remediation
    node, ours = node_of(found), well_known.SAFE_END in found.metadata.finalizers
    theirs = sorted(set(found.metadata.finalizers) - {well_known.SAFE_END})
    if left.refused:
        because = f"it could not be deleted: {left.refused}"
        next_step = f"kubectl mend stop {node}, as a user who may delete it; {_AGAIN}"
    elif left.leader.absent and ours:
        because, next_step = left.leader.sentence, explain_leaderless(system_namespace)
    elif theirs and not ours:
        because = f"Nodemend's part is done; it waits for {spell_list(theirs)}, set by another controller"
        next_step = "ask the owner of that finalizer"
    elif left.anew:
        because = f"it was created after the winding down had begun ({_asked_by(found)})"
        next_step = f"remove Nodemend's templates from that health check, or delete it; {_AGAIN}"
    else:
        because, next_step = waits_for(found), f"kubectl mend explain {node}; {_AGAIN} --wait 1h"
    what = f"{title(found)} (node {node}) has not ended"
    return _view(left, what, because, next_step)


def _asked_by(remediation: AnyRemediation) -> str:
    """Return the requester, if known: Nodemend's checks set a label.

    For others, the owner such as a Machine is returned.
    """
    metadata = remediation.metadata
    if check := metadata.labels.get(well_known.CHECK):
        return f"nhc/{check}"
    owners = [f"{owner.kind} {owner.name}" for owner in metadata.owner_references]
    return f"it belongs to {spell_list(owners)}" if owners else "its requester is unknown"


def _held(left: PowerOffRequestOnHost, system_namespace: str) -> LeftView:
    metadata = left.host.metadata
    power = {True: "on", False: "off", None: "power unknown"}[left.host.status.powered_on]
    host = f"host {metadata.namespace}/{metadata.name} ({power}) is still held off"
    uid = left.key.removeprefix(well_known.POWER_OFF_REQUEST_PREFIX)
    by_hand = f"kubectl annotate baremetalhost {metadata.name} -n {metadata.namespace} {left.key}-"
    what = f"{host} by a remediation that is gone ({uid})"
    if left.holder is not None:
        what, because = f"{host} by {title(left.holder)}", waits_for(left.holder)
        next_step = f"let it end: kubectl mend explain {node_of(left.holder)}"
    elif left.tainted:
        because = f"Nodemend's taint is on {spell_list(left.tainted)}; hosts must stay off while it is set"
        next_step = f"handle the taint first; then: {by_hand}"
    else:
        because = "no remediator released it; one that serves power cycles does when it becomes the leader"
        restart = f"kubectl rollout restart deployment nodemend-remediator -n {system_namespace}"
        next_step = f"{restart}; or by hand: {by_hand}"
    return _view(left, what, because, next_step)


def _not_back(left: PowerNotRestored) -> LeftView:
    namespace, _, name = left.host.partition("/")
    what = f"host {left.host} of node {left.node} is off, and Nodemend does not hold it"
    because = (
        "metal3 has not switched it on yet" if left.wanted else "its owner wants it off (spec.online: false)"
    )
    next_step = f"check that it comes back: kubectl get baremetalhost {name} -n {namespace}"
    return _view(left, what, because, next_step)


def _tainted(left: TaintedNode) -> LeftView:
    node, holder = left.node, left.holder
    if holder is not None:
        because = f"{title(holder)} removes it when the node's workloads are gone: {waits_for(holder)}"
        next_step = f"let it end: kubectl mend explain {node}"
    else:
        because = "no remediation is left that would remove it"
        taint = f"{well_known.OUT_OF_SERVICE}={well_known.OUR_TAINT_VALUE}:{well_known.NO_EXECUTE}"
        off = f"kubectl taint node {node} {taint}-"
        next_step = f"make sure that the node is down or rebooted, then: {off}"
    what = f"node {node} has Nodemend's out-of-service taint"
    return _view(left, what, because, next_step)


def _marked(left: MarkerOnLease, system_namespace: str) -> LeftView:
    lease = f"lease {left.node} in {well_known.AGENT_NAMESPACE}"
    by_hand = remove_marker_command(left.node, system_namespace)
    if left.holder is not None:
        because = f"{title(left.holder)} removes it when it ends: {waits_for(left.holder)}"
        next_step = f"let it end: kubectl mend explain {left.node}"
    elif left.tainted:
        because = f"Nodemend's taint is on {left.node}; its kubelet must not start before that is removed"
        next_step = f"handle the taint first; then: {by_hand}"
    elif left.problem:
        because, next_step = left.problem, by_hand
    else:
        because = "its remediation is gone, and no remediator removed it; one with --self-fencing on does"
        logs = f"kubectl logs -n {system_namespace} deploy/nodemend-remediator"
        next_step = f"find out why it does not: {logs}; or by hand: {by_hand}"
    what = f"{lease} has the marker that ends the boot of node {left.node} and blocks later boots"
    return _view(left, what, because, next_step)


_LEADER = "leader"


def lines_of_open(facts: OpenFacts, system_namespace: str) -> dict[str, str]:
    """Return a line per remediation, by its UID; before them one if no leader could end them."""
    lines = {}
    if facts.remediations and facts.leader.absent:
        lines[_LEADER] = f"{facts.leader.sentence}. To do: {explain_leaderless(system_namespace)}"
    return lines | {found.metadata.uid: _line(found) for found in facts.remediations}


def lines_of_left(leftovers: tuple[Leftover, ...], system_namespace: str) -> dict[str, str]:
    """Return a line per leftover that may still end, except remediations."""
    waited_for = [one for one in leftovers if may_pass(one) and not isinstance(one, StillOpen)]
    explained = [explain(one, system_namespace) for one in waited_for]
    return {said.what: f"{said.what}: {said.because}" for said in explained}


def news(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for key, line in now.items():
        if before.get(key) != line:
            yield line


def _line(remediation: AnyRemediation) -> str:
    phase = remediation.status.phase
    return f"{node_of(remediation)}: {title(remediation)} is ending, {phase}: {waits_for(remediation)}"
