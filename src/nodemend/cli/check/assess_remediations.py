"""Judges what is under way, and what was left behind."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from nodemend.api import keys
from nodemend.api.lease import Lease
from nodemend.api.timestamps import parse_time
from nodemend.cli.check.facts import CheckFacts
from nodemend.cli.check.view import Finding, fail, ok, unread, warn
from nodemend.cli.remediations import (
    Remediation,
    contradiction_of,
    is_open,
    node_of,
    spell_contradiction,
    unserved,
)
from nodemend.cli.words import first_sentence, spell_names, spell_seconds
from nodemend.controllers.remediating.locks import lock_name
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Seen, Taint, Unreadable
from nodemend.decide.hold_explanations import explain
from nodemend.kube.node_record import NodeRecord, NodeTaint

OPEN_FOR_LONG: Final = 900.0
"""Seconds, as in the alert on remediations that are held for long."""
_LOCK: Final = lock_name("")
_OTHER_WRITER: Final = (
    "{node} has the taint {taint}, which is not ours: another writer releases its workloads, and Nodemend "
    "neither adds its own taint beside it nor takes it off"
)
_ASK_OWNER: Final = (
    "find out who set it (medik8s, Cluster API's metal3 provider, Rook, a person); let one of you heal a node"
)


def assess_remediations(facts: CheckFacts) -> Iterator[Finding]:
    match facts.remediations:
        case Unreadable(why):
            yield unread("the remediations", why)
        case Absent():
            yield unread("the remediations", "their kind is not served")
        case Present(remediations):
            yield from _open(remediations, facts.now)
            yield from _taints(remediations, facts.nodes)
            yield from _locks(remediations, facts.locks)


def _open(remediations: Sequence[Remediation], now: datetime) -> Iterator[Finding]:
    open_ = [found for found in remediations if is_open(found)]
    yield ok(f"{spell_count(len(open_), 'remediation is', 'remediations are')} open")
    for found in sorted(open_, key=lambda one: one.metadata.creation_timestamp):
        yield from _amiss(found, now)
        age = (now - parse_time(found.metadata.creation_timestamp)).total_seconds()
        if age > OPEN_FOR_LONG:
            waits = first_sentence(found.status.message) or f"It is {found.status.phase}."
            yield warn(
                f"{node_of(found)} has been under remediation for {spell_seconds(age)}. {waits}",
                f"kubectl mend explain {node_of(found)}",
            )


def _amiss(found: Remediation, now: datetime) -> Iterator[Finding]:
    step = f"kubectl mend explain {node_of(found)}"
    if (twice := contradiction_of(found)) is not None:
        yield fail(f"{node_of(found)}: its workloads may run twice. {spell_contradiction(twice)}", step)
    if (nobody := unserved(found, now)) is not None:
        yield fail(f"{node_of(found)}: {explain(nobody)}", step)


def _taints(remediations: Sequence[Remediation], nodes: Seen[list[NodeRecord]]) -> Iterator[Finding]:
    """Our taint without anybody to take it off again keeps workloads away for ever."""
    if not isinstance(nodes, Present):
        return
    cared_for = {found.status.node_uid for found in remediations if found.status.evidence is not None}
    tainted = [node for node in nodes.value if is_tainted(node)]
    left = sorted(node.name for node in tainted if node.uid not in cared_for)
    for name in left:
        yield fail(
            f"{name} has our out-of-service taint, and no remediation that would take it off",
            f"make sure that it is down or rebooted, then: kubectl taint node {name} {keys.OUT_OF_SERVICE}-",
        )
    if not left:
        yield ok("no out-of-service taint of ours was left behind")
    for node in sorted(nodes.value, key=lambda one: one.name):
        for taint in node.taints:
            if taint.key == keys.OUT_OF_SERVICE and taint.value != keys.OUR_TAINT_VALUE:
                yield warn(_OTHER_WRITER.format(node=node.name, taint=_spell(taint)), _ASK_OWNER)


def _locks(remediations: Sequence[Remediation], locks: Seen[list[Lease]]) -> Iterator[Finding]:
    if not isinstance(locks, Present):
        yield unread("the locks on nodes", locks.why if isinstance(locks, Unreadable) else "there are none")
        return
    living = {found.metadata.uid for found in remediations}
    stale = sorted(
        lock.metadata.name
        for lock in locks.value
        if lock.metadata.name.startswith(_LOCK) and lock.spec.holder_identity not in living
    )
    if stale:
        yield warn(
            f"{spell_count(len(stale), 'lock')} on nodes whose remediation is gone: {spell_names(stale)}",
            "the next remediation of such a node takes it over; nothing needs to be done",
        )
    else:
        yield ok("no lock on a node was left behind")


def _spell(taint: NodeTaint) -> str:
    return str(Taint(taint.key, taint.effect, taint.value))


def is_tainted(node: NodeRecord) -> bool:
    return any(
        taint.key == keys.OUT_OF_SERVICE and taint.value == keys.OUR_TAINT_VALUE for taint in node.taints
    )
