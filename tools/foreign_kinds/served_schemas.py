"""Definitions rebuilt from the schemas that a cluster serves: for kinds whose own module is unavailable."""

import gzip
import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from controlplane.api import Object

MAPPINGS: Final = "class_generator/schema/__resources-mappings.json.gz"
_WITHIN: Final = 300.0

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSchemas:
    """Kinds in a Python package that has, for each, the OpenAPI schemas of its versions, newest first."""

    requirements: Path
    kinds: Mapping[str, str]
    """With their plurals, which the schemas do not contain."""

    def identity(self) -> bytes:
        """The key of these documents: everything that determines their contents."""
        return b"\n".join(
            [
                self.requirements.read_bytes(),
                *(f"{kind} {plural}".encode() for kind, plural in self.kinds.items()),
            ]
        )

    def read(self) -> list[Object]:
        """The documents, from the package, which uv downloads and compares with its hash.

        Raises subprocess.CalledProcessError.
        """
        with tempfile.TemporaryDirectory() as folder:
            command = ["uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder]
            subprocess.run([*command, "-r", str(self.requirements)], check=True, timeout=_WITHIN)
            served = json.loads(gzip.decompress((Path(folder) / MAPPINGS).read_bytes()))
        return [definition(served[kind.lower()], plural) for kind, plural in self.kinds.items()]


def definition(schemas: list[Schema], plural: str) -> Object:
    """One definition of all versions of a kind; the first is stored."""
    named = [schema["x-kubernetes-group-version-kind"][0] for schema in schemas]
    group, kind = named[0]["group"], named[0]["kind"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if schemas[0]["namespaced"] else "Cluster",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [
                _version(name["version"], schema, stored=schema is schemas[0])
                for name, schema in zip(named, schemas, strict=True)
            ],
        },
    }


def _version(name: str, schema: Schema, *, stored: bool) -> Object:
    # Not its metadata, which names a schema outside of it: the API server knows what metadata is.
    parts = {part: schema["properties"][part] for part in ("spec", "status")}
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": parts}},
        "subresources": {"status": {}},
    }
