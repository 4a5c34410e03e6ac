"""Finding the remediations that a command is about, of every kind that our remediator serves."""

from typing import Final, TypeVar

from nodemend.api import power_cycle
from nodemend.api.group_versions import MANUAL_REMEDIATION, METAL3_REMEDIATION, Resource
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.words import spell_list
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.api_request import EVERYTHING, Selection

Remediation = ManualRemediation | Metal3Remediation

R = TypeVar("R", ManualRemediation, Remediation)

_OVER: Final = (Phase.SUCCEEDED, power_cycle.Phase.SUCCEEDED)


def resource_of(remediation: Remediation) -> Resource:
    return MANUAL_REMEDIATION if isinstance(remediation, ManualRemediation) else METAL3_REMEDIATION


def node_of(remediation: Remediation) -> str:
    """The node that it is about. A power cycle may be named like the node's Machine."""
    if isinstance(remediation, Metal3Remediation) and remediation.status.node_name:
        return remediation.status.node_name
    return remediation.metadata.name


async def all_remediations(cluster: Cluster, of: Selection = EVERYTHING) -> Seen[list[Remediation]]:
    """Absent when not even the kind is there that is always installed."""
    by_hand = await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of)
    by_power = await cluster.all(METAL3_REMEDIATION, Metal3Remediation, of)
    if not isinstance(by_hand, Present):
        return by_hand
    if isinstance(by_power, Unreadable):
        return by_power
    return Present([*by_hand.value, *(by_power.value if isinstance(by_power, Present) else ())])


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
            raise CommandFailure(
                ExitCode.WRONG,
                "this cluster has no ManualRemediations; is Nodemend installed?",
                "kubectl mend check",
            )
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the remediations cannot be read: {why}.")
