"""Base class of built-in kinds, which are decoded with Go types."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from nodemend.api.resources import Resource
from simulation.api_server.builtin_types import builtin_type
from simulation.api_server.decoding import Undecodable, decode, zero_of
from simulation.api_server.kinds import Kind
from simulation.api_server.object_meta import settled
from simulation.api_server.schema import ABSENT
from simulation.api_server.storage import Object


class TypedKind(Kind):
    """A kind whose type is in `builtin_types.json`, such as `core.v1.Node`."""

    def __init__(self, resource: Resource, type_name: str) -> None:
        super().__init__(resource, builtin_type(type_name))
        self._type = {"kind": resource.kind, "apiVersion": resource.api_version}

    @cached_property
    def empty(self) -> Object:
        return {**zero_of(self.schema), **self._type}

    def read(self, document: Mapping[str, Any], old: Object | None) -> Object:
        kind, version = self.resource.kind, self.resource.api_version
        if document.get("kind", kind) != kind or document.get("apiVersion", version) != version:
            raise Undecodable(f"no kind {document.get('kind')!r} is registered for this version")
        read: Object = decode(self.schema, document, ABSENT if old is None else old)
        metadata = settled(read["metadata"], None if old is None else old["metadata"])
        if "kind" not in read or "apiVersion" not in read or metadata is not read["metadata"]:
            read = {**read, **self._type, "metadata": metadata}
        return self.default(read, old)

    def default(self, object_: Object, old: Object | None) -> Object:
        """Return the object with the values that Go's defaulting functions fill in."""
        return object_
