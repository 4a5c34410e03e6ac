"""Objects that commands list: remediations of every kind that Nodemend serves, Machines and their checks.

Ages are those written in the objects, because a command has not watched them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar, assert_never

from nodemend.api import condition_types, metal3_remediation, self_remediation, well_known
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import Condition, find, find_true, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import Cluster, ServedResources, must_have, not_installed
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.text import spell_list
from nodemend.kube.request import EVERYTHING, Method, Request, Selection
from nodemend.records.live_reads import value_of
from nodemend.records.machine import MACHINE_API_FLAVORS, MachineCheckWire, MachineWire, WorkloadClusterWire
from nodemend.records.served_kinds import ServedKinds, find_served_kinds
from nodemend.rules.request import UNSERVED_AFTER, Unserved
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.holds import MAY_RUN_TWICE
from nodemend.safety.time_proof import NoTimeProof

if TYPE_CHECKING:
    from nodemend.health.machine.index import MachineKey


def age_of(text: str | None, now: datetime) -> float | None:
    """Return the age in seconds; None if there is no valid time."""
    moment = written_moment(text)
    return None if moment is None else written_age(moment, now)


def written_age(time: datetime | str | None, now: datetime) -> float:
    """Return the age in seconds; zero if the time is missing, invalid or in the future."""
    moment = written_moment(time) if isinstance(time, str) else time
    return max((now - moment).total_seconds(), 0.0) if moment is not None else 0.0


AnyRemediation = ManualRemediation | Metal3Remediation | SelfRemediation

T = TypeVar("T")
RemediationT = TypeVar("RemediationT", ManualRemediation, AnyRemediation)

_NONE: Final = Absent()
_OVER: Final = (
    ManualRemediationPhase.SUCCEEDED,
    metal3_remediation.Metal3RemediationPhase.SUCCEEDED,
    self_remediation.SelfRemediationPhase.SUCCEEDED,
)


@dataclass(frozen=True, slots=True)
class Listing:
    """All remediations by kind.

    Each kind may be missing, or unreadable for the caller, without the others.
    """

    manual: ReadResult[list[ManualRemediation]] = _NONE
    power: ReadResult[list[Metal3Remediation]] = _NONE
    by_itself: ReadResult[list[SelfRemediation]] = _NONE

    @property
    def by_kind(self) -> Mapping[str, object]:
        """The lists by the plural of their kind."""
        return {
            "ManualRemediations": self.manual,
            "Metal3Remediations": self.power,
            "SelfRemediations": self.by_itself,
        }

    @property
    def visible(self) -> list[AnyRemediation]:
        found = (value_of(self.manual), value_of(self.power), value_of(self.by_itself))
        return [one for listed in found for one in listed or ()]


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


def title(remediation: AnyRemediation) -> str:
    return f"{resource_of(remediation).kind} {remediation.metadata.namespace}/{remediation.metadata.name}"


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
    listed = await all_remediations(cluster, Selection(namespace))
    found = must_have(listed, "the remediations", not_installed())
    return sorted(filter(is_open, found), key=lambda one: (node_of(one), one.metadata.namespace))


async def find_open(cluster: Cluster, node: str, namespace: str = "") -> AnyRemediation:
    """Return the one open remediation of a node. Raises CommandFailure unless there is exactly one."""
    found = [one for one in await open_remediations(cluster, namespace) if node_of(one) == node]
    return _only(found, node, namespace)


async def find_manual(cluster: Cluster, node: str, namespace: str = "") -> ManualRemediation:
    """Return the one open ManualRemediation of a node. Raises CommandFailure as `find_open` does."""
    of = Selection(namespace, fields=f"metadata.name={node}")
    listed = await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of)
    named = must_have(listed, "the remediations", not_installed())
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
    return said is not None and said.reason in _lasting_holds()


def _lasting_holds() -> frozenset[str]:
    """Hold reasons of self-fencing that may last until an operator acts."""
    from nodemend.remediation.self_fencing import decide  # noqa: PLC0415 - `status` rarely needs it

    lasting = (decide.NoAgent, decide.NoUsableWatchdog, NoTimeProof, decide.ProofContradicted)
    return frozenset(kind.reason for kind in lasting)


def contradiction_of(remediation: AnyRemediation) -> Condition | None:
    """Return the condition EvidenceContradicted if it is true, otherwise None.

    It states that the node's old boot ran after the release had started, so workloads may run twice.
    """
    return find_true(remediation.status.conditions, condition_types.EVIDENCE_CONTRADICTED)


def spell_contradiction(reported: Condition) -> str:
    """Return the message without the sentence MAY_RUN_TWICE, which callers have already shown."""
    return reported.message.replace(f" {MAY_RUN_TWICE}", "")


def unserved(remediation: AnyRemediation, now: datetime) -> Unserved | None:
    """Return a hold if no remediator has picked the remediation up in time.

    Uses the same criteria as the checker.
    """
    metadata = remediation.metadata
    taken_up = well_known.SAFE_END in metadata.finalizers or bool(remediation.status.conditions)
    waited = written_age(metadata.creation_timestamp, now)
    if taken_up or metadata.deleting or waited < UNSERVED_AFTER:
        return None
    return Unserved(title(remediation))


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


@dataclass(frozen=True, slots=True)
class MachineListing:
    """All Machines and related objects that the API server serves, by group. Empty if it serves none.

    Nodes of other clusters are not included: the caller must not need the Secrets with their kubeconfigs.
    """

    served: ServedKinds = field(default_factory=lambda: ServedKinds({}, {}))
    machines: Mapping[str, list[MachineWire]] = field(default_factory=dict)
    checks: Mapping[str, list[MachineCheckWire]] = field(default_factory=dict)
    clusters: Mapping[str, list[WorkloadClusterWire]] = field(default_factory=dict)

    def wire(self, key: "MachineKey") -> MachineWire:
        """Return an object that is known to be in the listing."""
        return next(
            wire
            for wire in self.machines[key.group]
            if (wire.metadata.namespace, wire.metadata.name) == (key.namespace, key.name)
        )


async def list_machines(cluster: Cluster) -> MachineListing | Unreadable:
    served = await find_served_kinds(cluster.reader.client, cluster.reader.deadline)
    if served is None:
        return Unreadable("the API server did not list the kinds of Machines that it serves")
    if hidden := await _hidden(cluster, served):
        return Unreadable(f"you may not list {hidden}")
    machines, checks, clusters = {}, {}, {}
    try:
        for group, of in served.machines.items():
            machines[group] = await _all(cluster, of.machines, MachineWire)
            if of.clusters is not None:
                clusters[group] = await _all(cluster, of.clusters, WorkloadClusterWire)
        for group, check_kind in served.checks.items():
            checks[group] = await _all(cluster, check_kind.checks, MachineCheckWire)
    except _UnreadError as unread:
        return Unreadable(str(unread))
    return MachineListing(served, machines, checks, clusters)


async def _hidden(cluster: Cluster, served: ServedKinds) -> str:
    """Return a kind that the API server serves and the caller may not list; empty if there is no such kind.

    `find_served_kinds` reports such a kind as not served.
    """
    for flavor in MACHINE_API_FLAVORS:
        kinds: dict[str, Collection[str]] = {
            "machines": served.machines,
            "machinehealthchecks": served.checks,
        }
        if all(flavor.group in known for known in kinds.values()):
            continue
        path = f"/apis/{flavor.group}/{flavor.version}"
        found = await cluster.ask(Request(Method.GET, path), ServedResources)
        if isinstance(found, Unreadable):
            return f"the kinds of {flavor.group}: {found.why}"
        names = {one.name for one in found.value.resources} if isinstance(found, Present) else set()
        for plural, known in kinds.items():
            if plural in names and flavor.group not in known:
                return f"{plural}.{flavor.group}"
    return ""


class _UnreadError(Exception):
    """One of the lists cannot be read."""


async def _all(cluster: Cluster, resource: Resource, kind: type[T]) -> list[T]:
    """List all objects; empty if the kind is no longer served."""
    found = await cluster.all(resource, kind)
    if isinstance(found, Unreadable):
        raise _UnreadError(f"{resource} cannot be read: {found.why}")
    return [] if isinstance(found, Absent) else found.value
