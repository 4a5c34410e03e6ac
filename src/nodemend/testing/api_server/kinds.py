"""What the server knows of one kind: how it reads, prepares and checks its objects."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from nodemend.api.group_versions import Resource
from nodemend.testing.api_server.admission import AdmissionRule, User
from nodemend.testing.api_server.field_sets import EMPTY, FieldSet
from nodemend.testing.api_server.object_meta import is_subdomain
from nodemend.testing.api_server.schema import Schema
from nodemend.testing.api_server.selectors import Selectable
from nodemend.testing.api_server.statuses import Cause
from nodemend.testing.api_server.storage import Object, Table

STATUS: Final = "status"
NO_CAUSES: Final[tuple[Cause, ...]] = ()


def name_of(object_: Object) -> str:
    name: str = object_["metadata"].get("name", "")
    return name


def namespace_of(object_: Object) -> str:
    namespace: str = object_["metadata"].get("namespace", "")
    return namespace


class Kind:
    """One kind. Subclasses say where theirs is special; no method changes what it is given."""

    subresources: tuple[str, ...] = ()
    creates_on_put = False
    updates_without_version = True
    returns_deleted = False
    is_custom = False
    # Whether deletions may ask the garbage collector to act first.
    knows_collector = True

    def __init__(self, resource: Resource, schema: Schema) -> None:
        # Where a server keeps its objects, and what it asks of their writers: set when it serves the kind.
        self.table = Table(resource)
        self.rules: Sequence[AdmissionRule] = ()
        self.resource = resource
        self.schema = schema
        # The kind by the name that the server uses among its own, as in some refusals.
        self.internal = resource
        self.selectable: Selectable = {"metadata.name": name_of}
        if resource.namespaced:
            self.selectable = {**self.selectable, "metadata.namespace": namespace_of}

    @property
    def empty(self) -> Object:
        """What ownership is counted from when an object is created."""
        raise NotImplementedError

    def read(self, document: Mapping[str, Any], old: Object | None) -> Object:
        """The document as this kind holds it. Raises Undecodable."""
        raise NotImplementedError

    def read_applied(self, document: Mapping[str, Any], old: Object | None) -> Object:
        """The same for what an apply comes to, which may hold nulls of the server's own making."""
        return self.read(document, old)

    def resets(self, subresource: str) -> FieldSet:
        """Fields that writes through this endpoint leave as they are."""
        if STATUS not in self.subresources:
            return EMPTY
        return {"f:spec": {}} if subresource == STATUS else {"f:status": {}}

    def authored(self, new: Object, author: User) -> Object:
        """What the server writes into a new object about whoever makes it."""
        return new

    def admit(self, new: Object, old: Object | None, subresource: str) -> Object:
        """What the built-in admission plugins add."""
        return new

    def prepare_create(self, new: Object) -> Object:
        return new

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        if STATUS not in self.subresources:
            return new
        kept = "spec" if subresource == STATUS else "status"
        return with_part_of(new, old, kept)

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterable[Cause]:
        """What is wrong beyond metadata."""
        return NO_CAUSES

    def names_fit(self, name: str) -> bool:
        return is_subdomain(name)

    def grace(self, object_: Object, asked: int | None) -> int | None:
        """Seconds that a deletion waits for the object's own end; None when the kind knows no such thing."""
        return None


def with_part_of(new: Object, old: Object, name: str) -> Object:
    """`new` with one top field as it is in `old`."""
    if name not in old:
        return {key: value for key, value in new.items() if key != name} if name in new else new
    if new.get(name) is old[name]:
        return new
    return {**new, name: old[name]}


def with_metadata(object_: Object, **changes: Any) -> Object:
    """With these metadata fields; None takes a field away."""
    metadata = {**object_["metadata"], **changes}
    return {**object_, "metadata": {key: value for key, value in metadata.items() if value is not None}}
