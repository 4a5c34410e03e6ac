"""Which Machines and MachineHealthChecks this API server has, in whose version, and who serves the checks."""

from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import CUSTOM_RESOURCE_DEFINITION, Resource
from nodemend.api.object_meta import ObjectMeta
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused
from nodemend.kube.api_request import EVERYTHING, get, list_page
from nodemend.kube.discovery import find_resource
from nodemend.kube.machine_dialect import CLUSTER_API, DIALECTS, OPENSHIFT, Dialect

PROVIDER: Final = "cluster.x-k8s.io/provider"
"""The label by which Cluster API's installer knows what it installed."""

_CHECK_VERSIONS: Final = {CLUSTER_API: ("v1beta2", "v1beta1", "v1alpha3"), OPENSHIFT: ("v1beta1",)}


@dataclass(frozen=True, slots=True)
class ServedMachines:
    dialect: Dialect
    machines: Resource
    clusters: Resource | None


@dataclass(frozen=True, slots=True)
class ServedChecks:
    """`only_claimed` where another project's controller serves all but those that we are given."""

    checks: Resource
    only_claimed: bool


@dataclass(frozen=True, slots=True)
class ServedKinds:
    """By group."""

    machines: dict[str, ServedMachines]
    checks: dict[str, ServedChecks]

    def machines_for(self, group: str) -> str:
        """Whose machines the checks of a group are about: its own. Ours are about whatever there are."""
        ours = not self.checks[group].only_claimed
        return OPENSHIFT if ours and group == CLUSTER_API and CLUSTER_API not in self.machines else group


class _Labelled(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


async def find_served_kinds(client: ApiClient, deadline: float) -> ServedKinds | None:
    """None when the API server has not told: what is known stands."""
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
    """The API server did not answer whether it has a kind."""


async def _machines(client: ApiClient, group: str, deadline: float) -> ServedMachines | None:
    for dialect in DIALECTS:
        if dialect.group == group:
            machines = await _find(client, f"{group}/{dialect.version}", "Machine", deadline)
            if machines is not None:
                clusters = (
                    await _find(client, machines.api_version, "Cluster", deadline)
                    if dialect.has_clusters
                    else None
                )
                return ServedMachines(dialect, machines, clusters)
    return None


async def _checks(client: ApiClient, group: str, deadline: float) -> ServedChecks | None:
    for version in _CHECK_VERSIONS[group]:
        found = await _find(client, f"{group}/{version}", "MachineHealthCheck", deadline)
        if found is not None:
            return ServedChecks(found, only_claimed=not await _is_flat(client, found, deadline))
    return None


async def _is_flat(client: ApiClient, checks: Resource, deadline: float) -> bool:
    """Whether the definition is the one that we ship, and Cluster API has not come since."""
    if checks.group != CLUSTER_API or checks.version == "v1beta2":
        return False
    name = f"{checks.plural}.{checks.group}"
    match await client.read(get(CUSTOM_RESOURCE_DEFINITION, name), _Labelled, deadline=deadline):
        case Ok(found):
            labels = found.metadata.labels
            return labels.get(keys.FLAT) == "true" and PROVIDER not in labels
        case Refused(reason=Reason.NOT_FOUND | Reason.FORBIDDEN):
            return False
        case _:
            raise _NotToldError


async def _find(client: ApiClient, api_version: str, kind: str, deadline: float) -> Resource | None:
    """None also for a kind that we may not list: it must not make the view of all others old."""
    match await find_resource(client, api_version, kind, deadline=deadline):
        case Resource() as found:
            page = list_page(found, EVERYTHING, limit=1)
            listed = await client.read(page, Acknowledged, deadline=deadline)
            if isinstance(listed, Refused) and listed.reason is Reason.THROTTLED:
                # So it is for a moment when a definition takes the place of another.
                raise _NotToldError
            return None if isinstance(listed, Refused) else found
        case None | Refused(reason=Reason.NOT_FOUND):
            return None
        case _:
            raise _NotToldError
