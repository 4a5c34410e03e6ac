"""Kinds that a CustomResourceDefinition defines."""

from collections.abc import Iterable, Mapping
from typing import Any

from nodemend.api.resources import Resource
from simulation.api_server.decoding import decode
from simulation.api_server.fields import FieldSet
from simulation.api_server.kinds import STATUS, Kind, with_metadata, with_part_of
from simulation.api_server.object_meta import settled
from simulation.api_server.schema import ABSENT, read_custom, root_schema
from simulation.api_server.schema_checks import STOPS_RULES, check, check_uniqueness
from simulation.api_server.statuses import Cause, wrong
from simulation.api_server.storage import Object


class CustomKind(Kind):
    """One served version of a CRD."""

    updates_without_version = False
    is_custom = True

    def __init__(self, resource: Resource, version: Mapping[str, Any]) -> None:
        document = version["schema"]["openAPIV3Schema"]
        super().__init__(resource, root_schema(document))
        self.subresources = tuple(version.get("subresources", {}))
        self._has_rules = has_rules(document)

    @property
    def empty(self) -> Object:
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind}

    def read(self, document: Mapping[str, Any], old: Object | None) -> Object:
        return self._read(document, old, drops_nulls=True)

    def read_applied(self, document: Mapping[str, Any], old: Object | None) -> Object:
        return self._read(document, old, drops_nulls=False)

    def _read(self, document: Mapping[str, Any], old: Object | None, *, drops_nulls: bool) -> Object:
        before: Mapping[str, Any] = old or {}
        known = before.get("metadata", ABSENT)
        metadata = decode(self.schema.fields["metadata"], document.get("metadata") or {}, known, "metadata")
        rest = {name: part for name, part in document.items() if name != "metadata"}
        read: Object = read_custom(self.schema, rest, before, drops_nulls=drops_nulls)
        return {**read, "metadata": settled(metadata, before.get("metadata"))}

    def resets(self, subresource: str) -> FieldSet:
        if STATUS not in self.subresources:
            return {}
        return {"f:metadata": {}, "f:spec": {}} if subresource == STATUS else {"f:status": {}}

    def prepare_create(self, new: Object) -> Object:
        if STATUS in self.subresources and "status" in new:
            new = {name: part for name, part in new.items() if name != "status"}
        return with_metadata(new, generation=1)

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        if subresource == STATUS:
            fields = new["metadata"].get("managedFields")
            metadata = {**old["metadata"], "managedFields": fields}
            if fields is old["metadata"].get("managedFields"):
                metadata = old["metadata"]
            return with_part_of({**old, "metadata": metadata}, new, "status")
        if STATUS in self.subresources:
            new = with_part_of(new, old, "status")
        same = all(new.get(name) == old.get(name) for name in new.keys() | old.keys() if name != "metadata")
        return new if same else with_metadata(new, generation=old["metadata"].get("generation", 0) + 1)

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterable[Cause]:
        before: Mapping[str, Any] = old or {}
        if new["kind"] != self.resource.kind:
            return [wrong("kind", new["kind"], f"must be {self.resource.kind}")]
        if subresource == STATUS:
            causes = list(self._check_status(new, before))
        else:
            causes = list(check(self.schema, _body(new), _body(before) if old else ABSENT, ""))
        if not any(check_uniqueness(self.schema, _body(before), "")):
            causes += check_uniqueness(self.schema, _body(new), "")
        if self._has_rules and any(cause.reason in STOPS_RULES for cause in causes):
            why = "some validation rules were not checked because the object was invalid"
            causes.append(wrong("<nil>", None, why))
        return causes

    def _check_status(self, new: Object, before: Mapping[str, Any]) -> Iterable[Cause]:
        schema = self.schema.fields.get("status")
        if schema is None or "status" not in new:
            return ()
        return check(schema, new["status"], before.get("status", ABSENT), "status")


def _body(object_: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in object_.items() if name != "metadata"}


def has_rules(document: Any) -> bool:
    if isinstance(document, dict):
        return "x-kubernetes-validations" in document or any(has_rules(part) for part in document.values())
    return isinstance(document, list) and any(has_rules(part) for part in document)


def kinds_of(definition: Mapping[str, Any]) -> list[CustomKind]:
    """Return every served version of a CustomResourceDefinition document."""
    spec = definition["spec"]
    namespaced = spec["scope"] == "Namespaced"
    names = spec["names"]
    return [
        CustomKind(
            Resource(spec["group"], version["name"], names["kind"], names["plural"], namespaced), version
        )
        for version in spec["versions"]
        if version["served"]
    ]
