"""How the projects that have Machines differ in what they call things."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from nodemend.api.group_versions import Resource

CLUSTER_API: Final = "cluster.x-k8s.io"
OPENSHIFT: Final = "machine.openshift.io"


class ConditionForm(StrEnum):
    """How a condition is written down."""

    STANDARD = "standard"
    """As Kubernetes has them today: with a generation, and always with a reason."""
    OLD = "old"
    """As Cluster API had them first: a severity when False, a reason only then."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One project's way in one version. `reasons` are its words for ours, where they differ."""

    group: str
    version: str
    form: ConditionForm
    control_plane_labels: tuple[tuple[str, str | None], ...]
    """Labels of a control-plane machine, each with the value that says so; None when any does."""
    owners_read_conditions: bool
    """Whether the owners of its machines replace one that our marks ask for."""
    has_clusters: bool
    """Whether its machines belong to Cluster objects."""
    reasons: Mapping[str, str]
    failed_is_unhealthy: bool = False


_OUR_REASONS: Final[Mapping[str, str]] = MappingProxyType({})
_OLD_REASONS: Final = MappingProxyType(
    {
        "UnhealthyNode": "UnhealthyNodeCondition",
        "UnhealthyMachine": "UnhealthyMachineCondition",
        "NodeDeleted": "NodeNotFound",
        "HasRemediateAnnotation": "HasRemediateMachineAnnotation",
        # An old condition that is True has no reason.
        "HealthCheckSucceeded": "",
    }
)

_CONTROL_PLANE: Final = (("cluster.x-k8s.io/control-plane", None),)

CLUSTER_API_V1BETA2: Final = Dialect(
    CLUSTER_API,
    "v1beta2",
    ConditionForm.STANDARD,
    _CONTROL_PLANE,
    owners_read_conditions=True,
    has_clusters=True,
    reasons=_OUR_REASONS,
)
CLUSTER_API_V1BETA1: Final = Dialect(
    CLUSTER_API,
    "v1beta1",
    ConditionForm.OLD,
    _CONTROL_PLANE,
    owners_read_conditions=True,
    has_clusters=True,
    reasons=_OLD_REASONS,
)
OPENSHIFT_V1BETA1: Final = Dialect(
    OPENSHIFT,
    "v1beta1",
    ConditionForm.OLD,
    (
        ("machine.openshift.io/cluster-api-machine-role", "master"),
        ("machine.openshift.io/cluster-api-machine-type", "master"),
    ),
    owners_read_conditions=False,
    has_clusters=False,
    failed_is_unhealthy=True,
    reasons=_OLD_REASONS,
)

DIALECTS: Final = (CLUSTER_API_V1BETA2, CLUSTER_API_V1BETA1, OPENSHIFT_V1BETA1)
"""Of the dialects of one group, the first that is served is spoken."""


def dialect_of(resource: Resource) -> Dialect:
    """That in which objects of this kind are written; what is older than all is written like the oldest."""
    spoken = [dialect for dialect in DIALECTS if dialect.group == resource.group]
    return next((dialect for dialect in spoken if dialect.version == resource.version), spoken[-1])
