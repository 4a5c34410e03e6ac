"""Base classes of kinds: how the server reads, prepares and checks the objects of one kind."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from nodemend.api.resources import Resource
from simulation.api_server.admission import AdmissionRule, User
from simulation.api_server.decoding import Undecodable, decode, zero_of
from simulation.api_server.fields import EMPTY, FieldSet
from simulation.api_server.object_meta import is_subdomain, settled
from simulation.api_server.schema import ABSENT, Schema, builtin_type
from simulation.api_server.selectors import Selectable
from simulation.api_server.statuses import Cause
from simulation.api_server.storage import Object, Table

STATUS: Final = "status"
NO_CAUSES: Final[tuple[Cause, ...]] = ()


def name_of(object_: Object) -> str:
    name: str = object_["metadata"].get("name", "")
    return name


def namespace_of(object_: Object) -> str:
    namespace: str = object_["metadata"].get("namespace", "")
    return namespace


class Kind:
    """One kind. Subclasses override the parts that differ; no method changes its arguments."""

    subresources: tuple[str, ...] = ()
    creates_on_put = False
    updates_without_version = True
    returns_deleted = False
    is_custom = False
    # True if a deletion may request that the garbage collector acts first.
    knows_collector = True

    def __init__(self, resource: Resource, schema: Schema) -> None:
        # The table of the objects and the admission rules of the kind: set when a server serves it.
        self.table = Table(resource)
        self.rules: Sequence[AdmissionRule] = ()
        self.resource = resource
        self.schema = schema
        # The kind under the name that the server uses internally, for example in some refusals.
        self.internal = resource
        self.selectable: Selectable = {"metadata.name": name_of}
        if resource.namespaced:
            self.selectable = {**self.selectable, "metadata.namespace": namespace_of}

    @property
    def empty(self) -> Object:
        """The object against which field ownership is computed on create."""
        raise NotImplementedError

    def read(self, document: Mapping[str, Any], old: Object | None) -> Object:
        """Return the document in the stored form of this kind. Raises Undecodable."""
        raise NotImplementedError

    def read_applied(self, document: Mapping[str, Any], old: Object | None) -> Object:
        """Like `read`, for the result of an apply, which may contain nulls that the server itself added."""
        return self.read(document, old)

    def resets(self, subresource: str) -> FieldSet:
        """Return the fields that writes through this endpoint leave unchanged."""
        if STATUS not in self.subresources:
            return EMPTY
        return {"f:spec": {}} if subresource == STATUS else {"f:status": {}}

    def authored(self, new: Object, author: User) -> Object:
        """Return the new object with the fields that the server fills in from its author."""
        return new

    def admit(self, new: Object, old: Object | None, subresource: str) -> Object:
        """Return the object with the additions of the built-in admission plugins."""
        return new

    def prepare_create(self, new: Object) -> Object:
        return new

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        if STATUS not in self.subresources:
            return new
        kept = "spec" if subresource == STATUS else "status"
        return with_part_of(new, old, kept)

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterable[Cause]:
        """Return the errors of the object, except those of its metadata."""
        return NO_CAUSES

    def names_fit(self, name: str) -> bool:
        return is_subdomain(name)

    def grace(self, object_: Object, asked: int | None) -> int | None:
        """Return the grace period of a deletion in seconds, or None if the kind has no graceful deletion."""
        return None


def with_part_of(new: Object, old: Object, name: str) -> Object:
    """Return `new` with one top-level field as it is in `old`."""
    if name not in old:
        return {key: value for key, value in new.items() if key != name} if name in new else new
    if new.get(name) is old[name]:
        return new
    return {**new, name: old[name]}


def with_metadata(object_: Object, **changes: Any) -> Object:
    """Return the object with these metadata fields. None removes a field."""
    metadata = {**object_["metadata"], **changes}
    return {**object_, "metadata": {key: value for key, value in metadata.items() if value is not None}}


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
