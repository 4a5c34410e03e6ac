"""Puts the kinds of other projects onto a running control plane."""

from collections.abc import Iterator
from functools import partial

from controlplane.api import Api, ApiError, Object
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until
from foreign_kinds.definitions import crds

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install(plane: ControlPlane, *projects: str, stored: str | None = None) -> None:
    """Apply all definitions of the projects, and wait until they are served. Harmless when repeated.

    `stored` is as for `crds`: choose it the first time, a change takes effect at no known moment.
    """
    install_definitions(plane, [crd for project in projects for crd in crds(project, stored=stored)])


def install_definitions(plane: ControlPlane, definitions: list[Object]) -> None:
    """Apply these definitions, and wait until every version that they serve is served."""
    for definition in definitions:
        plane.api.request(
            "PATCH",
            f"{DEFINITIONS}/{definition['metadata']['name']}",
            definition,
            content_type="application/apply-patch+yaml",
            query={"fieldManager": "foreign-kinds", "force": "true"},
        )
    for path in [path for definition in definitions for path in collections(definition)]:
        wait_until(f"{path} is served", partial(_is_served, plane.api, path))


def collections(definition: Object) -> Iterator[str]:
    """The list paths of the objects, one for each served version."""
    spec = definition["spec"]
    for version in spec["versions"]:
        if version["served"]:
            yield f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"


def _is_served(api: Api, path: str) -> bool:
    try:
        return api.find(path) is not None
    except ApiError as error:
        if error.status == 429:  # Its storage is being made.
            return False
        raise
