"""Discovers served Machines and MachineHealthChecks, their versions, and which project serves the checks."""

from dataclasses import dataclass
from typing import Final

from nodemend.api import well_known
from nodemend.api.meta import KubernetesObject
from nodemend.api.resources import CUSTOM_RESOURCE_DEFINITION, Resource
from nodemend.kube.client import ApiClient, find_resource
from nodemend.kube.outcome import Acknowledged, Ok, Reason, Refused
from nodemend.kube.request import EVERYTHING, get, list_page
from nodemend.records.machine import CLUSTER_API, MACHINE_API_FLAVORS, OPENSHIFT, MachineApiFlavor

PROVIDER: Final = "cluster.x-k8s.io/provider"
"""The label that Cluster API's installer puts on the objects that it installs."""

_CHECK_VERSIONS: Final = {CLUSTER_API: ("v1beta2", "v1beta1", "v1alpha3"), OPENSHIFT: ("v1beta1",)}


@dataclass(frozen=True, slots=True)
class ServedMachines:
    flavor: MachineApiFlavor
    machines: Resource
    clusters: Resource | None


@dataclass(frozen=True, slots=True)
class ServedChecks:
    """`only_claimed` is True if another project's controller serves all checks without Nodemend's label."""

    checks: Resource
    only_claimed: bool


@dataclass(frozen=True, slots=True)
class ServedKinds:
    """The served kinds by API group."""

    machines: dict[str, ServedMachines]
    checks: dict[str, ServedChecks]

    def machines_for(self, group: str) -> str:
        """Return the group of the Machines that a group's checks select, normally the same group.

        Nodemend's own definition of Cluster API's check selects OpenShift's Machines if Cluster API has none.
        """
        ours = not self.checks[group].only_claimed
        return OPENSHIFT if ours and group == CLUSTER_API and CLUSTER_API not in self.machines else group


async def find_served_kinds(client: ApiClient, deadline: float) -> ServedKinds | None:
    """Return the served kinds; None if any reply is missing, so that the previous result stays valid."""
    try:
        machines = {group: await _machines(client, group, deadline) for group in (CLUSTER_API, OPENSHIFT)}
        checks = {group: await _checks(client, group, deadline) for group in (CLUSTER_API, OPENSHIFT)}
    except _NotToldError:
        return None
    return ServedKinds(
        {group: found for group, found in machines.items() if found is not None},
        {group: found for group, found in checks.items() if found is not None},
    )


class _NotToldError(Exception):
    """The API server did not say if it serves a kind."""


async def _machines(client: ApiClient, group: str, deadline: float) -> ServedMachines | None:
    for flavor in MACHINE_API_FLAVORS:
        if flavor.group == group:
            machines = await _find(client, f"{group}/{flavor.version}", "Machine", deadline)
            if machines is not None:
                clusters = (
                    await _find(client, machines.api_version, "Cluster", deadline)
                    if flavor.has_clusters
                    else None
                )
                return ServedMachines(flavor, machines, clusters)
    return None


async def _checks(client: ApiClient, group: str, deadline: float) -> ServedChecks | None:
    for version in _CHECK_VERSIONS[group]:
        found = await _find(client, f"{group}/{version}", "MachineHealthCheck", deadline)
        if found is not None:
            return ServedChecks(found, only_claimed=not await _is_flat(client, found, deadline))
    return None


async def _is_flat(client: ApiClient, checks: Resource, deadline: float) -> bool:
    """True if the CRD is the one that Nodemend ships, and Cluster API was not installed since."""
    if checks.group != CLUSTER_API or checks.version == "v1beta2":
        return False
    name = f"{checks.plural}.{checks.group}"
    match await client.read(get(CUSTOM_RESOURCE_DEFINITION, name), KubernetesObject, deadline=deadline):
        case Ok(found):
            labels = found.metadata.labels
            return labels.get(well_known.FLAT) == "true" and PROVIDER not in labels
        case Refused(reason=Reason.NOT_FOUND | Reason.FORBIDDEN):
            return False
        case _:
            raise _NotToldError


async def _find(client: ApiClient, api_version: str, kind: str, deadline: float) -> Resource | None:
    """Return the resource; None also if RBAC forbids listing it: it must not make all other caches stale."""
    match await find_resource(client, api_version, kind, deadline=deadline):
        case Resource() as found:
            page = list_page(found, EVERYTHING, limit=1)
            listed = await client.read(page, Acknowledged, deadline=deadline)
            if isinstance(listed, Refused) and listed.reason is Reason.THROTTLED:
                # Happens for a moment while one CRD replaces another.
                raise _NotToldError
            return None if isinstance(listed, Refused) else found
        case None | Refused(reason=Reason.NOT_FOUND):
            return None
        case _:
            raise _NotToldError
