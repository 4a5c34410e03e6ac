"""Metadata that every object carries, as far as we read it."""

import msgspec

from nodemend.api.wire import Wire


class OwnerReference(Wire):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFields(Wire):
    """Who last wrote which fields, and when by the API server's clock."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""
    fields_v1: msgspec.Raw = msgspec.field(name="fieldsV1", default=msgspec.Raw(b"{}"))


class ObjectMeta(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    managed_fields: tuple[ManagedFields, ...] = ()

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None
