"""Deletes remediations. Their finalizer keeps each until the remediator has brought it to a safe end."""

from dataclasses import dataclass
from typing import Final

from nodemend.cli.cluster import Cluster
from nodemend.cli.remediations import Remediation, node_of, resource_of
from nodemend.decide.facts import Absent, Unreadable
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import Precondition, delete

_MOST_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Told:
    """It was told to end, and this is how it stood then."""

    remediation: Remediation


@dataclass(frozen=True, slots=True)
class Gone:
    """It had ended by itself."""


@dataclass(frozen=True, slots=True)
class NotStopped:
    node: str
    why: str


async def stop(cluster: Cluster, remediation: Remediation, *, dry_run: bool) -> Told | Gone | NotStopped:
    """Tell one to end. Only the very object that was shown is deleted, in whatever version it is by then."""
    uid, name = remediation.metadata.uid, remediation.metadata.name
    resource, node = resource_of(remediation), node_of(remediation)
    for _ in range(_MOST_TRIES):
        metadata = remediation.metadata
        if metadata.deleting:
            return Told(remediation)
        only_if = Precondition(uid, metadata.resource_version)
        request = delete(resource, name, metadata.namespace, only_if=only_if)
        match await cluster.write(request, Acknowledged, dry_run=dry_run):
            case Refused(reason=Reason.CONFLICT):
                pass
            case Refused(reason=Reason.NOT_FOUND):
                return Gone()
            case Refused(message=why):
                return NotStopped(node, why)
            case _:
                return Told(remediation)
        found = await cluster.find(resource, name, type(remediation), metadata.namespace)
        if isinstance(found, Unreadable):
            return NotStopped(node, f"it changed, and cannot be read: {found.why}")
        if isinstance(found, Absent) or found.value.metadata.uid != uid:
            return Gone()
        remediation = found.value
    return NotStopped(node, "it kept changing under our hands; try again")
