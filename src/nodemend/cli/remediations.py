"""Finding the remediations that a command is about, of every kind that our remediator serves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar, assert_never

from nodemend.api import keys, power_cycle, self_remediation
from nodemend.api.conditions import Condition, find, find_true
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import Cluster, not_installed
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.words import spell_list
from nodemend.cli.written_ages import written_age
from nodemend.decide.contradiction import EVIDENCE_CONTRADICTED
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.fencing_holds import NoAgent, NothingResets, NoTimeProof, ProofContradicted
from nodemend.decide.guard_holds import Unserved
from nodemend.decide.remediation_request import UNSERVED_AFTER
from nodemend.kube.api_request import EVERYTHING, Selection

Remediation = ManualRemediation | Metal3Remediation | SelfRemediation

R = TypeVar("R", ManualRemediation, Remediation)

_NONE: Final = Absent()
_OVER: Final = (Phase.SUCCEEDED, power_cycle.Phase.SUCCEEDED, self_remediation.Phase.SUCCEEDED)
_TWICE: Final = " Its workloads may run twice."
_MAY_NEED_A_PERSON: Final = frozenset(
    {NoAgent.__name__, NothingResets.__name__, NoTimeProof.__name__, ProofContradicted.__name__}
)
"""Of self-fencing, the holds that may last until somebody goes and looks."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All remediations, by kind: one kind may be there, or the caller's to see, without the others."""

    manual: Seen[list[ManualRemediation]] = _NONE
    power: Seen[list[Metal3Remediation]] = _NONE
    by_itself: Seen[list[SelfRemediation]] = _NONE

    @property
    def visible(self) -> list[Remediation]:
        by_hand = self.manual.value if isinstance(self.manual, Present) else []
        by_power = self.power.value if isinstance(self.power, Present) else []
        by_itself = self.by_itself.value if isinstance(self.by_itself, Present) else []
        return [*by_hand, *by_power, *by_itself]


def resource_of(remediation: Remediation) -> Resource:
    match remediation:
        case ManualRemediation():
            return MANUAL_REMEDIATION
        case Metal3Remediation():
            return METAL3_REMEDIATION
        case SelfRemediation():
            return SELF_REMEDIATION
        case _:
            assert_never(remediation)


def node_of(remediation: Remediation) -> str:
    """The node that it is about. A power cycle may be named like the node's Machine."""
    if isinstance(remediation, Metal3Remediation) and remediation.status.node_name:
        return remediation.status.node_name
    return remediation.metadata.name


async def list_remediations(cluster: Cluster, of: Selection = EVERYTHING) -> Listing:
    return Listing(
        await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of),
        await cluster.all(METAL3_REMEDIATION, Metal3Remediation, of),
        await cluster.all(SELF_REMEDIATION, SelfRemediation, of),
    )


async def all_remediations(cluster: Cluster, of: Selection = EVERYTHING) -> Seen[list[Remediation]]:
    """Absent when not even the kind is there that is always installed."""
    listed = await list_remediations(cluster, of)
    if not isinstance(listed.manual, Present):
        return listed.manual
    for others in (listed.power, listed.by_itself):
        if isinstance(others, Unreadable):
            return others
    return Present(listed.visible)


async def open_remediations(cluster: Cluster, namespace: str = "") -> list[Remediation]:
    """Those that are not over, by node. In all namespaces unless one is named."""
    found = _must_have(await all_remediations(cluster, Selection(namespace)))
    return sorted(filter(is_open, found), key=lambda one: (node_of(one), one.metadata.namespace))


async def find_open(cluster: Cluster, node: str, namespace: str = "") -> Remediation:
    """The one open remediation of a node. Raises CommandFailure when there is none, or more than one."""
    found = [one for one in await open_remediations(cluster, namespace) if node_of(one) == node]
    return _only(found, node, namespace)


async def find_manual(cluster: Cluster, node: str, namespace: str = "") -> ManualRemediation:
    """The same, of those that wait for a person's word."""
    of = Selection(namespace, fields=f"metadata.name={node}")
    named = _must_have(await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of))
    return _only([one for one in named if is_open(one)], node, namespace)


def is_open(remediation: Remediation) -> bool:
    return remediation.status.phase not in _OVER or remediation.metadata.deleting


def may_need_a_person(remediation: Remediation) -> bool:
    """Whether it is held by what it may never get past alone. Of power cycles their phase tells that, too."""
    if is_open(remediation) and contradiction_of(remediation) is not None:
        return True
    if not isinstance(remediation, SelfRemediation) or not is_open(remediation):
        return False
    said = find(remediation.status.conditions, "Processing")
    return said is not None and said.reason in _MAY_NEED_A_PERSON


def contradiction_of(remediation: Remediation) -> Condition | None:
    """What says that its node's old boot ran after the release had begun: workloads may run twice."""
    return find_true(remediation.status.conditions, EVIDENCE_CONTRADICTED)


def spell_contradiction(told: Condition) -> str:
    """Without the words that whoever shows it begins with: the workloads may run twice."""
    return told.message.replace(_TWICE, "")


def unserved(remediation: Remediation, now: datetime) -> Unserved | None:
    """Where nobody has taken it up for so long that nobody is about to, by the same signs as the checker."""
    metadata = remediation.metadata
    taken_up = keys.SAFE_END in metadata.finalizers or bool(remediation.status.conditions)
    waited = written_age(metadata.creation_timestamp, now)
    if taken_up or metadata.deleting or waited < UNSERVED_AFTER:
        return None
    return Unserved(f"{resource_of(remediation).kind} {metadata.namespace}/{metadata.name}")


def _only(found: list[R], node: str, namespace: str) -> R:
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


def _must_have(fact: Seen[list[R]]) -> list[R]:
    match fact:
        case Present(found):
            return found
        case Absent():
            raise not_installed()
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the remediations cannot be read: {why}.")
