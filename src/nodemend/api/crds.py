"""Our kinds as the API server shall know them: names, columns, schema."""

from typing import Any, Final

import msgspec

from nodemend.api import resources, well_known
from nodemend.api.crd_schema import schema_of_kind
from nodemend.api.machine_health_check import MachineHealthCheck
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationTemplate
from nodemend.api.meta import Wire
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationTemplate
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import Resource
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationTemplate


class Column(msgspec.Struct, frozen=True):
    """One column of `kubectl get`; a `wide` one only with -o wide."""

    name: str
    path: str
    description: str
    type: str = "string"
    wide: bool = False


class CustomResource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of ours. Objects may be selected by the `selectable` fields.

    `also_served` are versions that differ from the stored one in nothing but their name.
    """

    resource: Resource
    type: type[Wire]
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]
    selectable: tuple[str, ...] = ()
    also_served: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def has_status(self) -> bool:
        return "status" in self.type.__struct_fields__


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "How long ago it was created.", "date")

CUSTOM_RESOURCES: Final = (
    CustomResource(
        resource=resources.NODE_HEALTH_CHECK,
        type=NodeHealthCheck,
        short_names=("nhc",),
        columns=(
            Column("Targets", ".status.targets", "Nodes selected.", "integer"),
            Column("Healthy", ".status.healthy", "Of these, healthy.", "integer"),
            Column("Remediating", ".status.remediating", "Of these, under remediation.", "integer"),
            Column(
                "Allowed",
                '.status.conditions[?(@.type=="RemediationAllowed")].status',
                "Whether a new remediation may begin now.",
            ),
            Column(
                "Why",
                '.status.conditions[?(@.type=="RemediationAllowed")].message',
                "Why it may or may not.",
                wide=True,
            ),
            _AGE,
        ),
    ),
    CustomResource(
        resource=resources.REMEDIATION_POLICY,
        type=RemediationPolicy,
        short_names=("rpol",),
        columns=(
            Column("Mode", ".spec.mode", "DryRun or Act."),
            Column("At-Once", ".spec.maxConcurrent", "How many remediations may run at once.", "integer"),
            Column("Paused", ".spec.pause.reason", "Why it is paused, if it is."),
            Column("Paused-By", ".spec.pause.by", "Who paused it.", wide=True),
            _AGE,
        ),
    ),
    CustomResource(
        resource=resources.REMEDIATION_ORDER,
        type=RemediationOrder,
        short_names=("rord",),
        columns=(
            Column("By", ".spec.by", "Who orders it."),
            Column("Past-Guard", ".spec.pastGuard", "Whether past the limits of the guard.", "boolean"),
            Column("Reason", ".spec.reason", "Why."),
            _AGE,
        ),
    ),
    CustomResource(
        resource=resources.MANUAL_REMEDIATION,
        type=ManualRemediation,
        short_names=("mrem",),
        columns=(
            Column("Phase", ".status.phase", "Where it stands."),
            Column("Confirmed-By", ".spec.confirmation.by", "Who vouches that the node is down."),
            Column("Released", ".status.released", "Its workloads have left the node.", "boolean"),
            Column("Message", ".status.message", "What it waits for.", wide=True),
            _AGE,
        ),
        selectable=(".status.phase",),
    ),
    CustomResource(
        resource=resources.MANUAL_REMEDIATION_TEMPLATE,
        type=ManualRemediationTemplate,
        short_names=("mremt",),
        columns=(
            Column(
                "Instructions", ".spec.template.spec.instructions", "What the person shall do.", wide=True
            ),
            _AGE,
        ),
    ),
    CustomResource(
        resource=resources.SELF_REMEDIATION,
        type=SelfRemediation,
        short_names=("srem",),
        columns=(
            Column("Phase", ".status.phase", "Where it stands."),
            Column("Proven", ".status.provenSeconds", "Seconds proven so far.", "integer"),
            Column("Of", ".status.safeTimeSeconds", "Seconds that prove that the boot is over.", "integer"),
            Column("Evidence", ".status.evidence.class", "What the release rests on."),
            Column("Released", ".status.released", "Its workloads have left the node.", "boolean"),
            Column("Message", ".status.message", "What it waits for.", wide=True),
            _AGE,
        ),
        selectable=(".status.phase",),
    ),
    CustomResource(
        resource=resources.SELF_REMEDIATION_TEMPLATE,
        type=SelfRemediationTemplate,
        short_names=("sremt",),
        columns=(
            Column("Accepts", ".spec.template.spec.accept", "Which weaknesses of nodes it accepts."),
            _AGE,
        ),
    ),
    CustomResource(
        resource=resources.METAL3_REMEDIATION,
        type=Metal3Remediation,
        short_names=("m3rem",),
        columns=(
            Column("Phase", ".status.phase", "Where it stands."),
            Column("Node", ".status.nodeName", "The node."),
            Column("Host", ".status.host.name", "Its BareMetalHost."),
            Column("Retries", ".status.retryCount", "How many attempts have failed.", "integer"),
            Column("Released", ".status.released", "Its workloads have left the node.", "boolean"),
            Column("Message", ".status.message", "What it waits for.", wide=True),
            _AGE,
        ),
        selectable=(".status.phase",),
    ),
    CustomResource(
        resource=resources.METAL3_REMEDIATION_TEMPLATE,
        type=Metal3RemediationTemplate,
        short_names=("m3remt",),
        columns=(
            Column("Strategy", ".spec.template.spec.strategy", "What happens when it does not help."),
            Column("Retries", ".spec.template.spec.deleteAfterRetries", "How often it is tried again."),
            _AGE,
        ),
    ),
)

FLAT_MACHINE_HEALTH_CHECK: Final = CustomResource(
    resource=resources.MACHINE_HEALTH_CHECK,
    type=MachineHealthCheck,
    short_names=("mhc", "mhcs"),
    columns=(
        Column("Cluster", ".spec.clusterName", "The Cluster of the Machines."),
        Column("ExpectedMachines", ".status.expectedMachines", "Machines selected.", "integer"),
        Column("MaxUnhealthy", ".spec.maxUnhealthy", "Where remediation stops."),
        Column("CurrentHealthy", ".status.currentHealthy", "Of the selected, healthy.", "integer"),
        Column(
            "Allowed",
            '.status.conditions[?(@.type=="RemediationAllowed")].status',
            "Whether a new remediation may begin now.",
        ),
        Column(
            "Why",
            '.status.conditions[?(@.type=="RemediationAllowed")].message',
            "Why it may not.",
            wide=True,
        ),
        _AGE,
    ),
    also_served=("v1alpha3",),
    labels=((well_known.FLAT, "true"),),
)
"""Only where an admin asks for it: in a cluster with Cluster API the kind is Cluster API's.

What is stored is a version that Cluster API serves too. Else its definition could not take the place of ours.
"""


def definition_of(custom: CustomResource) -> dict[str, Any]:
    """The CustomResourceDefinition, as JSON would show it."""
    resource = custom.resource
    return {
        "apiVersion": resources.CUSTOM_RESOURCE_DEFINITION.api_version,
        "kind": resources.CUSTOM_RESOURCE_DEFINITION.kind,
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            "labels": {"app.kubernetes.io/part-of": "nodemend", **dict(custom.labels)},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": list(custom.short_names),
                "categories": ["nodemend"],
            },
            "versions": [
                _version(custom, resource.version),
                *(_version(custom, version) for version in custom.also_served),
            ],
        },
    }


def _version(custom: CustomResource, name: str) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": name,
        "served": True,
        "storage": name == custom.resource.version,
        "additionalPrinterColumns": [_column(column) for column in custom.columns],
        "schema": {"openAPIV3Schema": schema_of_kind(custom.type)},
    }
    if custom.has_status:
        version["subresources"] = {"status": {}}
    if custom.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in custom.selectable]
    return version


def _column(column: Column) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return written | {"priority": 1} if column.wide else written
