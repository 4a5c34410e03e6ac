"""Extracts the field types of built-in kinds from a server's OpenAPI document and the Go types behind it.

    python -m tests.simulation.differential.describe_builtin_types OPENAPI GO_MODULES > builtin_types.json

OPENAPI is a folder with the answers of `/openapi/v3/api/v1` and `/openapi/v3/apis/GROUP/VERSION` as `*.json`;
GO_MODULES is a folder with `api@...` and `apimachinery@...` as in Go's module cache. OpenAPI has the keys of
lists; only the Go tags show whether a zero value is written or left out. The notation is explained in
`simulation.api_server.schema`.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOTS = (
    "io.k8s.api.core.v1.Node",
    "io.k8s.api.core.v1.Pod",
    "io.k8s.api.core.v1.Namespace",
    "io.k8s.api.core.v1.ConfigMap",
    "io.k8s.api.core.v1.Secret",
    "io.k8s.api.core.v1.ServiceAccount",
    "io.k8s.api.core.v1.PersistentVolume",
    "io.k8s.api.core.v1.PersistentVolumeClaim",
    "io.k8s.api.certificates.v1.CertificateSigningRequest",
    "io.k8s.api.coordination.v1.Lease",
    "io.k8s.api.events.v1.Event",
    "io.k8s.api.storage.v1.VolumeAttachment",
    "io.k8s.api.apps.v1.StatefulSet",
    "io.k8s.api.batch.v1.Job",
)
GO_PACKAGES = {
    "io.k8s.api.core.v1": "api@*/core/v1/types.go",
    "io.k8s.api.certificates.v1": "api@*/certificates/v1/types.go",
    "io.k8s.api.coordination.v1": "api@*/coordination/v1/types.go",
    "io.k8s.api.events.v1": "api@*/events/v1/types.go",
    "io.k8s.api.storage.v1": "api@*/storage/v1/types.go",
    "io.k8s.api.apps.v1": "api@*/apps/v1/types.go",
    "io.k8s.api.batch.v1": "api@*/batch/v1/types.go",
    "io.k8s.apimachinery.pkg.apis.meta.v1": "apimachinery@*/pkg/apis/meta/v1/types.go",
}
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intstr",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r'^\s+(?:(\w+)\s+)?(\S+)\s+`.*?json:"([^"]*)".*`', re.MULTILINE)


def read_go_tags(modules: Path) -> dict[str, dict[str, str]]:
    """Return a mark by type name and field name.

    The marks are `=` (always written), `-` (left out if empty), `0` (left out if zero) and `` (a pointer).
    """
    structs: dict[str, list[tuple[str, str]]] = {}
    for package, pattern in GO_PACKAGES.items():
        [source] = modules.glob(pattern)
        for name, body in STRUCT.findall(source.read_text()):
            found = [(type_, tag) for _, type_, tag in FIELD.findall(body)]
            structs[f"{package}.{name}"] = found
    return {name: _marks(name, structs) for name in structs}


def _marks(name: str, structs: dict[str, list[tuple[str, str]]]) -> dict[str, str]:
    package = name.rpartition(".")[0]
    marks: dict[str, str] = {}
    for type_, tag in structs.get(name, []):
        json_name, _, flags = tag.partition(",")
        if not json_name and "inline" in flags:
            marks |= _marks(f"{package}.{type_.rpartition('.')[2]}", structs)
        else:
            marks[json_name] = _mark(type_, flags)
    return marks


def _mark(type_: str, flags: str) -> str:
    if type_.startswith("*"):
        return ""
    if "omitzero" in flags:
        return "0"
    return "-" if "omitempty" in flags else "="


def describe(folder: Path, modules: Path) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for source in sorted(folder.glob("*.json")):
        definitions |= json.loads(source.read_text())["components"]["schemas"]
    tags = read_go_tags(modules)
    types: dict[str, Any] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in types or name in SCALARS:
            continue
        definition = definitions[name]
        fields = {}
        for field, schema in sorted(definition.get("properties", {}).items()):
            text, named = expression(schema)
            waiting += named
            fields[field] = settle(tags.get(name, {}).get(field, "-"), text) + text
        types[name] = fields
        if definition.get("x-kubernetes-map-type") == "atomic":
            types[name] = {"*": "atomic", **fields}
    return {short(name): types[name] for name in sorted(types)}


def settle(mark: str, text: str) -> str:
    """Return the effective mark of a field: omitempty has no effect on structs in encoding/json."""
    if mark == "-" and text.startswith(("@", "time", "microtime", "quantity", "intstr")):
        return "="
    return "-" if mark == "0" else mark


def short(name: str) -> str:
    return name.replace("io.k8s.apimachinery.pkg.apis.", "").replace("io.k8s.api.", "")


def expression(schema: dict[str, Any]) -> tuple[str, list[str]]:
    """Return one field's type in the notation, and the structs that it names."""
    if "allOf" in schema:
        [schema] = schema["allOf"]
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in SCALARS:
            return SCALARS[name], []
        return "@" + short(name), [name]
    match schema.get("type"):
        case "array":
            inner, named = expression(schema["items"])
            return f"[{inner}]{structural_keys(schema)}", named
        case "object" if "additionalProperties" in schema:
            inner, named = expression(schema["additionalProperties"])
            return f"{{{inner}}}" + (
                " atomic" if schema.get("x-kubernetes-map-type") == "atomic" else ""
            ), named
        case "string":
            return ("bytes" if schema.get("format") == "byte" else "string"), []
        case "integer":
            return schema.get("format", "int64"), []
        case "boolean":
            return "bool", []
        case "number":
            return "number", []
        case other:
            raise ValueError(f"no notation for {other!r} in {schema}")


def structural_keys(schema: dict[str, Any]) -> str:
    match schema.get("x-kubernetes-list-type", "atomic"):
        case "map":
            return " by " + ",".join(schema["x-kubernetes-list-map-keys"])
        case "set":
            return " set"
        case _:
            return ""


if __name__ == "__main__":
    described = describe(Path(sys.argv[1]), Path(sys.argv[2]))
    lines = (f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in described.items())
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
