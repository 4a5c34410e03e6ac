"""The definitions of a project, by its name, from a cache outside the checkout."""

import hashlib
import json
import tempfile
from pathlib import Path

from build_cache import build_cache
from controlplane.api import Object
from foreign_kinds.projects import PROJECTS


def crds(project: str, *, stored: str | None = None) -> list[Object]:
    """The project's CustomResourceDefinitions, without conversion webhooks. Raises KeyError, BuildError.

    Downloaded on first use, then read from the cache, which needs only the file. `stored` is the version to
    store instead of the published one: only in that version are objects complete.
    """
    documents: list[Object] = json.loads(_cached(project).read_text())
    converted = [_without_conversion(document) for document in documents]
    return converted if stored is None else [_storing(stored, document) for document in converted]


def _without_conversion(definition: Object) -> Object:
    # Installed by their own projects, these name a webhook that converts between versions. It does not
    # run here, and only the stored version would be readable if they named it. With None the API server
    # changes apiVersion and nothing else, and drops fields that the stored version does not know.
    return {**definition, "spec": {**definition["spec"], "conversion": {"strategy": "None"}}}


def _storing(stored: str, definition: Object) -> Object:
    spec = definition["spec"]
    versions = [{**version, "storage": version["name"] == stored} for version in spec["versions"]]
    if not any(version["storage"] and version["served"] for version in versions):
        raise ValueError(f"{definition['metadata']['name']} is not served as {stored}")
    return {**definition, "spec": {**spec, "versions": versions}}


def _cached(project: str) -> Path:
    source = PROJECTS[project]
    digest = hashlib.sha256(source.identity()).hexdigest()[:12]
    done = build_cache() / "foreign-kinds" / f"{project}-{digest}.json"
    if not done.exists():
        done.parent.mkdir(parents=True, exist_ok=True)
        documents = json.dumps(source.read())
        with tempfile.NamedTemporaryFile("w", dir=done.parent, prefix=done.name, delete=False) as part:
            part.write(documents)
        # A second writer replaces the file by the same content.
        Path(part.name).rename(done)
    return done
