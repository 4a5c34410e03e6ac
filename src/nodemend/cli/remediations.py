"""Finding the remediation that a command is about."""

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import ManualRemediation, Phase
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.words import spell_list
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_request import Selection


async def open_remediations(cluster: Cluster, namespace: str = "") -> list[ManualRemediation]:
    """Those that are not over, by node. In all namespaces unless one is named."""
    return [found for found in await _listed(cluster, Selection(namespace)) if is_open(found)]


async def find_open(cluster: Cluster, node: str, namespace: str = "") -> ManualRemediation:
    """The one open remediation of a node. Raises CommandFailure when there is none, or more than one."""
    named = await _listed(cluster, Selection(namespace, fields=f"metadata.name={node}"))
    found = [remediation for remediation in named if is_open(remediation)]
    if not found:
        where = f" in {namespace}" if namespace else ""
        raise CommandFailure(
            ExitCode.WRONG, f"{node} is not under remediation{where}.", f"kubectl mend explain {node}"
        )
    if len(found) > 1:
        spaces = spell_list([remediation.metadata.namespace for remediation in found])
        raise CommandFailure(
            ExitCode.USAGE, f"{node} has remediations in {spaces}; say which with --namespace."
        )
    return found[0]


def is_open(remediation: ManualRemediation) -> bool:
    return remediation.status.phase is not Phase.SUCCEEDED or remediation.metadata.deleting


async def _listed(cluster: Cluster, of: Selection) -> list[ManualRemediation]:
    match await cluster.all(MANUAL_REMEDIATION, ManualRemediation, of):
        case Present(found):
            return sorted(found, key=lambda one: (one.metadata.name, one.metadata.namespace))
        case Absent():
            raise CommandFailure(
                ExitCode.WRONG,
                "this cluster has no ManualRemediations; is Nodemend installed?",
                "kubectl mend check",
            )
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the remediations cannot be read: {why}.")
