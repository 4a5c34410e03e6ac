"""A bill of materials in CycloneDX' form, version 1.6. The same parts give the same bytes."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Any, Final

from sbom.parts import Part

_SPEC: Final = "1.6"


def bill_of_materials(version: str, parts: Sequence[Part]) -> dict[str, Any]:
    ours = {"type": "application", "name": "nodemend", "version": version, "bom-ref": "nodemend"}
    components = [_component(part) for part in sorted(parts, key=lambda part: part.purl)]
    content = json.dumps([ours, components], sort_keys=True).encode()
    serial = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": _SPEC,
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": ours},
        "components": components,
        "dependencies": [{"ref": "nodemend", "dependsOn": [one["bom-ref"] for one in components]}],
    }


def _component(part: Part) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        "version": part.version,
        "purl": part.purl,
    }
    if len(part.hashes) == 1:
        component["hashes"] = [{"alg": "SHA-256", "content": part.hashes[0]}]
    elif part.hashes:
        # One for each platform's wheel: CycloneDX' own field is for a single file.
        component["properties"] = [{"name": "nodemend:wheel-sha256", "value": one} for one in part.hashes]
    return component
