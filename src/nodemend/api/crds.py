"""CustomResourceDefinitions of Nodemend's kinds: names, printer columns, schemas.

Generates structural schemas, with which the API server validates objects, from the API types.

Descriptions, limits and rules come from `about(...)` and from each type's RULES. A field without a default is
required.
"""

from collections.abc import Mapping
from enum import Enum
from functools import singledispatch
from typing import Any, Final

import msgspec
from msgspec import inspect

from nodemend.api import resources, well_known
from nodemend.api.machine_health_check import MachineHealthCheck
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationTemplate
from nodemend.api.meta import ObjectMeta, Rule, Wire
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationTemplate
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import Resource
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationTemplate

Schema = dict[str, Any]


_HEADER: Schema = {
    "apiVersion": {"type": "string", "description": "The API group and version of the object."},
    "kind": {"type": "string", "description": "The kind of the object."},
}


class UnsupportedTypeError(TypeError):
    """A type that structural schemas, or this generator, do not support."""


def schema_of_kind(type_: type[Wire]) -> Schema:
    """Return the schema of a whole object: `schema_of` the type, with apiVersion, kind and metadata."""
    schema = schema_of(type_)
    schema["properties"] = _HEADER | schema["properties"]
    return schema


def schema_of(type_: type[Wire]) -> Schema:
    return _translate(inspect.type_info(type_))


@singledispatch
def _translate(of: inspect.Type) -> Schema:
    raise UnsupportedTypeError(f"{of} cannot be part of an API type")


@_translate.register
def _(of: inspect.Metadata) -> Schema:
    schema = _translate(of.type) | (of.extra_json_schema or {})
    extra = of.extra or {}
    rules: tuple[Rule, ...] = extra.get("rules", ())
    if rules:
        # The error of a pattern shows users a regular expression. The error of a rule is its message.
        schema.pop("pattern", None)
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in rules] + schema.get(
            "x-kubernetes-validations", []
        )
    if keys := extra.get("keys"):
        schema |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    if example := extra.get("example"):
        schema["example"] = example
    return schema


@_translate.register
def _(of: inspect.StructType) -> Schema:
    if of.cls is ObjectMeta:
        return {"type": "object"}
    schema: Schema = {
        "type": "object",
        "properties": {field.encode_name: _translate_field(field) for field in of.fields},
    }
    if of.cls.__doc__:
        schema["description"] = " ".join(of.cls.__doc__.split())
    if required := [field.encode_name for field in of.fields if field.required]:
        schema["required"] = required
    if issubclass(of.cls, Wire) and of.cls.RULES:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in of.cls.RULES]
    return schema


@_translate.register
def _(of: inspect.UnionType) -> Schema:
    """Translate `X | None`, whose None is an absent field, and `int | str`, Kubernetes' IntOrString."""
    some = [part for part in of.types if not isinstance(part, inspect.NoneType)]
    if {type(part) for part in some} == {inspect.IntType, inspect.StrType}:
        return {"x-kubernetes-int-or-string": True}
    if len(some) != 1:
        raise UnsupportedTypeError(f"a choice of types cannot be part of an API type: {of}")
    return _translate(some[0])


@_translate.register
def _(of: inspect.StrType) -> Schema:
    limits = {"minLength": of.min_length, "maxLength": of.max_length, "pattern": of.pattern}
    return {"type": "string"} | _given(limits)


@_translate.register
def _(of: inspect.IntType) -> Schema:
    return {"type": "integer", "format": "int64"} | _given({"minimum": of.ge, "maximum": of.le})


@_translate.register
def _(of: inspect.BoolType) -> Schema:
    return {"type": "boolean"}


@_translate.register
def _(of: inspect.EnumType) -> Schema:
    return {"type": "string", "enum": [member.value for member in of.cls]}


@_translate.register
def _(of: inspect.VarTupleType) -> Schema:
    limits = {"minItems": of.min_length, "maxItems": of.max_length}
    return {"type": "array", "items": _translate(of.item_type), "x-kubernetes-list-type": "atomic"} | _given(
        limits
    )


@_translate.register
def _(of: inspect.DictType) -> Schema:
    limits = {"minProperties": of.min_length, "maxProperties": of.max_length}
    return {"type": "object", "additionalProperties": _translate(of.value_type)} | _given(limits)


def _translate_field(field: inspect.Field) -> Schema:
    schema = _translate(field.type)
    default = field.default
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, str | int) and default:
        schema["default"] = default
    elif field.encode_name == "spec" and isinstance(default, msgspec.Struct) and _has_defaults(schema):
        # The API server sets defaults only in objects that exist.
        schema["default"] = {}
    return schema


def _has_defaults(schema: Schema) -> bool:
    return any("default" in below for below in schema["properties"].values())


def _rule(rule: Rule) -> Schema:
    written: Schema = {"rule": rule.expression, "message": rule.message}
    if rule.field:
        written["fieldPath"] = rule.field
    if rule.from_creation:
        written["optionalOldSelf"] = True
    return written


def _given(limits: Mapping[str, object]) -> Schema:
    return {key: limit for key, limit in limits.items() if limit is not None}


class Column(msgspec.Struct, frozen=True):
    """One column of `kubectl get`. A `wide` column is shown only with -o wide."""

    name: str
    path: str
    description: str
    type: str = "string"
    wide: bool = False


class CustomResource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind that Nodemend defines. Field selectors may use the phase of a kind that shows one.

    `also_served` are further versions with the same schema as the stored one.
    """

    resource: Resource
    type: type[Wire]
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]
    also_served: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def has_status(self) -> bool:
        return "status" in self.type.__struct_fields__


_PHASE: Final = Column("Phase", ".status.phase", "The current phase.")
_PROGRESS: Final = (
    Column("Released", ".status.released", "All workloads have left the node.", "boolean"),
    Column("Message", ".status.message", "The reason why it waits.", wide=True),
)
_REMEDIATION_ALLOWED: Final = '.status.conditions[?(@.type=="RemediationAllowed")]'
_ALLOWED: Final = Column(
    "Allowed", f"{_REMEDIATION_ALLOWED}.status", "True if a new remediation may start now."
)
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "Time since its creation.", "date")
"""The last column of every kind."""

CUSTOM_RESOURCES: Final = (
    CustomResource(
        resource=resources.NODE_HEALTH_CHECK,
        type=NodeHealthCheck,
        short_names=("nhc",),
        columns=(
            Column("Targets", ".status.targets", "Nodes selected.", "integer"),
            Column("Healthy", ".status.healthy", "Of these, healthy.", "integer"),
            Column("Remediating", ".status.remediating", "Of these, under remediation.", "integer"),
            _ALLOWED,
            Column("Why", f"{_REMEDIATION_ALLOWED}.message", "The reason why it may or may not.", wide=True),
        ),
    ),
    CustomResource(
        resource=resources.REMEDIATION_POLICY,
        type=RemediationPolicy,
        short_names=("rpol",),
        columns=(
            Column("Mode", ".spec.mode", "DryRun or Act."),
            Column("At-Once", ".spec.maxConcurrent", "Maximum number of remediations at once.", "integer"),
            Column("Paused", ".spec.pause.reason", "The reason for the pause."),
            Column("Paused-By", ".spec.pause.by", "The user who paused it.", wide=True),
        ),
    ),
    CustomResource(
        resource=resources.REMEDIATION_ORDER,
        type=RemediationOrder,
        short_names=("rord",),
        columns=(
            Column("By", ".spec.by", "The user who ordered it."),
            Column(
                "Past-Guard",
                ".spec.pastGuard",
                "True if the order ignores the limits of the guard.",
                "boolean",
            ),
            Column("Reason", ".spec.reason", "The reason for the order."),
        ),
    ),
    CustomResource(
        resource=resources.MANUAL_REMEDIATION,
        type=ManualRemediation,
        short_names=("mrem",),
        columns=(
            _PHASE,
            Column("Confirmed-By", ".spec.confirmation.by", "The user who confirmed that the node is down."),
            *_PROGRESS,
        ),
    ),
    CustomResource(
        resource=resources.MANUAL_REMEDIATION_TEMPLATE,
        type=ManualRemediationTemplate,
        short_names=("mremt",),
        columns=(
            Column(
                "Instructions",
                ".spec.template.spec.instructions",
                "Instructions for the operator.",
                wide=True,
            ),
        ),
    ),
    CustomResource(
        resource=resources.SELF_REMEDIATION,
        type=SelfRemediation,
        short_names=("srem",),
        columns=(
            _PHASE,
            Column("Proven", ".status.provenSeconds", "Seconds proven so far.", "integer"),
            Column("Of", ".status.safeTimeSeconds", "Seconds that prove that the boot is over.", "integer"),
            Column("Evidence", ".status.evidence.class", "The class of the evidence for the release."),
            *_PROGRESS,
        ),
    ),
    CustomResource(
        resource=resources.SELF_REMEDIATION_TEMPLATE,
        type=SelfRemediationTemplate,
        short_names=("sremt",),
        columns=(Column("Accepts", ".spec.template.spec.accept", "The accepted weaknesses of nodes."),),
    ),
    CustomResource(
        resource=resources.METAL3_REMEDIATION,
        type=Metal3Remediation,
        short_names=("m3rem",),
        columns=(
            _PHASE,
            Column("Node", ".status.nodeName", "The node."),
            Column("Host", ".status.host.name", "Its BareMetalHost."),
            Column("Retries", ".status.retryCount", "The number of failed attempts.", "integer"),
            *_PROGRESS,
        ),
    ),
    CustomResource(
        resource=resources.METAL3_REMEDIATION_TEMPLATE,
        type=Metal3RemediationTemplate,
        short_names=("m3remt",),
        columns=(
            Column(
                "Strategy",
                ".spec.template.spec.strategy",
                "The action when power cycles do not bring the node back.",
            ),
            Column(
                "Retries",
                ".spec.template.spec.deleteAfterRetries",
                "Number of retries of a failed power cycle.",
            ),
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
        Column("MaxUnhealthy", ".spec.maxUnhealthy", "The unhealthy count at which remediation stops."),
        Column("CurrentHealthy", ".status.currentHealthy", "Of the selected, healthy.", "integer"),
        _ALLOWED,
        Column("Why", f"{_REMEDIATION_ALLOWED}.message", "The reason why it may not.", wide=True),
    ),
    also_served=("v1alpha3",),
    labels=((well_known.FLAT, "true"),),
)
"""Installed only if an admin requests it: in a cluster with Cluster API, the kind belongs to Cluster API.

The stored version is one that Cluster API serves too. Otherwise its definition could not replace this one.
"""


def definition_of(custom: CustomResource) -> dict[str, Any]:
    """Return the CustomResourceDefinition as JSON data."""
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
        "additionalPrinterColumns": [_column(column) for column in (*custom.columns, _AGE)],
        "schema": {"openAPIV3Schema": schema_of_kind(custom.type)},
    }
    if custom.has_status:
        version["subresources"] = {"status": {}}
    if _PHASE in custom.columns:
        version["selectableFields"] = [{"jsonPath": _PHASE.path}]
    return version


def _column(column: Column) -> dict[str, Any]:
    written: dict[str, Any] = {
        "name": column.name,
        "type": column.type,
        "jsonPath": column.path,
        "description": column.description,
    }
    return written | {"priority": 1} if column.wide else written
