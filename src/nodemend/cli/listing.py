"""Find the remediations that a command concerns, of every kind that Nodemend's remediator serves.

Listed objects in the same caches that the controllers use.

Remediations of every kind that the checks name, listed once.

Ages from the times written in objects, for commands, which have not watched the objects.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeVar, assert_never

from nodemend.api import condition_types, metal3_remediation, self_remediation, well_known
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import Condition, find, find_true, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import Cluster, must_have, not_installed
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.text import spell_list
from nodemend.health.conditions import ConditionTracker
from nodemend.health.remediation_index import NotServed, RemediationIndex, RemedyKind, TemplateKind, find_kind
from nodemend.kube.request import EVERYTHING, Selection
from nodemend.kube.store import DecodedObject, Projection, Store, key_of
from nodemend.records.remediation import RemediationWire
from nodemend.rules.request import UNSERVED_AFTER
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import Unserved
from nodemend.safety.lifecycle import EVIDENCE_CONTRADICTED
from nodemend.safety.self_fencing_holds import NoAgent, NothingResets, NoTimeProof, ProofContradicted

W = TypeVar("W", bound=DecodedObject)
R = TypeVar("R")

NOW_IN_VIEW = 0.0
"""Monotonic time at which the view was read. A command has only this one time."""


def as_cache(projection: Projection[W, R], wires: list[W]) -> Store[R]:
    cache: Store[R] = Store(projection.uid_of)
    cache.replace({key_of(wire.metadata): projection.project(wire, None) for wire in wires}, [])
    cache.synced_at = cache.last_contact = NOW_IN_VIEW
    return cache


@dataclass(frozen=True, slots=True)
class ListedRemedies:
    """Listed remediations. `unseen` lists the kinds that the caller may not read, with reasons."""

    remedies: RemediationIndex
    unseen: tuple[str, ...]


async def list_remedies(cluster: Cluster, checks: Iterable[NodeHealthCheck]) -> RemediationIndex:
    """List all remediations. Raises CommandFailure if one kind cannot be listed."""
    remedies = await _find_kinds(cluster, asked_by_nodes(checks))
    for kind in remedies.kinds.values():
        if isinstance(kind, RemedyKind):
            wires = await cluster.all(kind.remediation, RemediationWire)
            remedies.add(kind.remediation, must_have(wires, f"list of {kind.remediation}"), NOW_IN_VIEW)
    return remedies


async def list_visible_remedies(cluster: Cluster, asked: Iterable[TemplateKind]) -> ListedRemedies:
    """List the remediations that the caller may read, and report the other kinds in `unseen`."""
    remedies = await _find_kinds(cluster, asked)
    unseen = []
    for named, kind in list(remedies.kinds.items()):
        if not isinstance(kind, RemedyKind):
            continue
        found = await cluster.all(kind.remediation, RemediationWire)
        if isinstance(found, Present):
            remedies.add(kind.remediation, found.value, NOW_IN_VIEW)
            continue
        why = "there is none" if isinstance(found, Absent) else found.why
        remedies.kinds[named] = NotServed(why, certain=False)
        unseen.append(f"{kind.remediation.kind} objects cannot be read: {why}.")
    return ListedRemedies(remedies, tuple(unseen))


def asked_by_nodes(checks: Iterable[NodeHealthCheck]) -> list[TemplateKind]:
    return [
        TemplateKind(template.api_version, template.kind)
        for check in checks
        for template in check.spec.templates
    ]


async def _find_kinds(cluster: Cluster, asked: Iterable[TemplateKind]) -> RemediationIndex:
    remedies = RemediationIndex()
    for one in asked:
        if one not in remedies.kinds:
            remedies.kinds[one] = await find_kind(cluster.reader.client, one, cluster.reader.deadline)
    return remedies


class Dated(Protocol):
    """A condition with the time of its last change."""

    @property
    def type(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def last_transition_time(self) -> str | None: ...


def age_of(text: str | None, now: datetime) -> float | None:
    """Return the age in seconds; None if there is no valid time."""
    moment = written_moment(text)
    return None if moment is None else written_age(moment, now)


def written_age(time: datetime | str | None, now: datetime) -> float:
    """Return the age in seconds; zero if the time is missing, invalid or in the future."""
    moment = written_moment(time) if isinstance(time, str) else time
    return max((now - moment).total_seconds(), 0.0) if moment is not None else 0.0


def remember_written(ages: ConditionTracker, uid: str, conditions: Sequence[Dated], now: datetime) -> None:
    """Observe the conditions at the times written in them, as a component would that had watched."""
    since = [NOW_IN_VIEW - written_age(one.last_transition_time, now) for one in conditions]
    for begin in sorted(set(since)):
        shown = [one for one, begun in zip(conditions, since, strict=True) if begun <= begin]
        ages.observe(uid, shown, begin)


AnyRemediation = ManualRemediation | Metal3Remediation | SelfRemediation

RemediationT = TypeVar("RemediationT", ManualRemediation, AnyRemediation)

_NONE: Final = Absent()
_OVER: Final = (
    ManualRemediationPhase.SUCCEEDED,
    metal3_remediation.Metal3RemediationPhase.SUCCEEDED,
    self_remediation.SelfRemediationPhase.SUCCEEDED,
)
_TWICE: Final = " Its workloads may run twice."
_MAY_NEED_A_PERSON: Final = frozenset(
    {NoAgent.reason, NothingResets.reason, NoTimeProof.reason, ProofContradicted.reason}
)
"""Hold reasons of self-fencing that may last until an operator acts."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All remediations by kind.

    Each kind may be missing, or unreadable for the caller, without the others.
    """

    manual: ReadResult[list[ManualRemediation]] = _NONE
    power: ReadResult[list[Metal3Remediation]] = _NONE
    by_itself: ReadResult[list[SelfRemediation]] = _NONE

    @property
    def visible(self) -> list[AnyRemediation]:
        by_hand = self.manual.value if isinstance(self.manual, Present) else []
        by_power = self.power.value if isinstance(self.power, Present) else []
        by_itself = self.by_itself.value if isinstance(self.by_itself, Present) else []
        return [*by_hand, *by_power, *by_itself]


def resource_of(remediation: AnyRemediation) -> Resource:
    match remediation:
        case ManualRemediation():
            return MANUAL_REMEDIATION
        case Metal3Remediation():
            return METAL3_REMEDIATION
        case SelfRemediation():
            return SELF_REMEDIATION
        case _:
            assert_never(remediation)


def node_of(remediation: AnyRemediation) -> str:
    """Return the node's name. A power cycle may have the name of the node's Machine."""
    if isinstance(remediation, Metal3Remediation) and remediation.status.node_name:
        return remediation.status.node_name
    return remediation.metadata.name


async def list_remediations(cluster: Cluster, of: Selection = EVERYTHING) -> Listing:
    return Listing(
        await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of),
        await cluster.all(METAL3_REMEDIATION, Metal3Remediation, of),
        await cluster.all(SELF_REMEDIATION, SelfRemediation, of),
    )


async def all_remediations(cluster: Cluster, of: Selection = EVERYTHING) -> ReadResult[list[AnyRemediation]]:
    """List all kinds. Absent if ManualRemediation, which is always installed, is not served."""
    listed = await list_remediations(cluster, of)
    if not isinstance(listed.manual, Present):
        return listed.manual
    for others in (listed.power, listed.by_itself):
        if isinstance(others, Unreadable):
            return others
    return Present(listed.visible)


async def open_remediations(cluster: Cluster, namespace: str = "") -> list[AnyRemediation]:
    """List open remediations, sorted by node. In all namespaces unless one is named."""
    found = _must_have(await all_remediations(cluster, Selection(namespace)))
    return sorted(filter(is_open, found), key=lambda one: (node_of(one), one.metadata.namespace))


async def find_open(cluster: Cluster, node: str, namespace: str = "") -> AnyRemediation:
    """Return the one open remediation of a node. Raises CommandFailure unless there is exactly one."""
    found = [one for one in await open_remediations(cluster, namespace) if node_of(one) == node]
    return _only(found, node, namespace)


async def find_manual(cluster: Cluster, node: str, namespace: str = "") -> ManualRemediation:
    """Return the one open ManualRemediation of a node. Raises CommandFailure as `find_open` does."""
    of = Selection(namespace, fields=f"metadata.name={node}")
    named = _must_have(await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of))
    return _only([one for one in named if is_open(one)], node, namespace)


def is_open(remediation: AnyRemediation) -> bool:
    return remediation.status.phase not in _OVER or remediation.metadata.deleting


def may_need_a_person(remediation: AnyRemediation) -> bool:
    """Return True if the remediation is held for a reason that may last until an operator acts.

    For power cycles the phase shows this as well.
    """
    if is_open(remediation) and contradiction_of(remediation) is not None:
        return True
    if not isinstance(remediation, SelfRemediation) or not is_open(remediation):
        return False
    said = find(remediation.status.conditions, condition_types.PROCESSING)
    return said is not None and said.reason in _MAY_NEED_A_PERSON


def contradiction_of(remediation: AnyRemediation) -> Condition | None:
    """Return the condition EvidenceContradicted if it is true, otherwise None.

    It states that the node's old boot ran after the release had started, so workloads may run twice.
    """
    return find_true(remediation.status.conditions, EVIDENCE_CONTRADICTED)


def spell_contradiction(reported: Condition) -> str:
    """Return the message without "Its workloads may run twice.", which callers have already shown."""
    return reported.message.replace(_TWICE, "")


def unserved(remediation: AnyRemediation, now: datetime) -> Unserved | None:
    """Return a hold if no remediator has picked the remediation up in time.

    Uses the same criteria as the checker.
    """
    metadata = remediation.metadata
    taken_up = well_known.SAFE_END in metadata.finalizers or bool(remediation.status.conditions)
    waited = written_age(metadata.creation_timestamp, now)
    if taken_up or metadata.deleting or waited < UNSERVED_AFTER:
        return None
    return Unserved(f"{resource_of(remediation).kind} {metadata.namespace}/{metadata.name}")


def _only(found: list[RemediationT], node: str, namespace: str) -> RemediationT:
    if not found:
        where = f" in {namespace}" if namespace else ""
        raise CommandFailure(
            ExitCode.WRONG, f"{node} is not under remediation{where}.", f"kubectl mend explain {node}"
        )
    if len(found) > 1:
        spaces = spell_list(sorted(remediation.metadata.namespace for remediation in found))
        raise CommandFailure(
            ExitCode.USAGE, f"{node} has remediations in {spaces}; say which with --namespace."
        )
    return found[0]


def _must_have(fact: ReadResult[list[RemediationT]]) -> list[RemediationT]:
    match fact:
        case Present(found):
            return found
        case Absent():
            raise not_installed()
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the remediations cannot be read: {why}.")
