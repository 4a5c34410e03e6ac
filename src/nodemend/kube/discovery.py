"""Which resource a kind is: asked of the API server, because a plural cannot be guessed."""

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Ok, ReadFailure
from nodemend.kube.api_request import Method, Request


class _Served(msgspec.Struct, frozen=True):
    name: str
    kind: str
    namespaced: bool


class _ServedList(msgspec.Struct, frozen=True):
    resources: tuple[_Served, ...] = ()


async def find_resource(
    client: ApiClient, api_version: str, kind: str, *, deadline: float
) -> Resource | ReadFailure | None:
    """None when that version serves no such kind."""
    group, _, version = api_version.rpartition("/")
    path = f"/apis/{api_version}" if group else f"/api/{api_version}"
    outcome = await client.read(Request(Method.GET, path), _ServedList, deadline=deadline)
    if not isinstance(outcome, Ok):
        return outcome
    # A subresource has its kind too, and a slash in its name.
    for served in outcome.value.resources:
        if served.kind == kind and "/" not in served.name:
            return Resource(group, version, kind, served.name, served.namespaced)
    return None
