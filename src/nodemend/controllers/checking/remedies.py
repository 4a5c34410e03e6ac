"""The remediations of every kind that some check asks for, ours and others'."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from nodemend.api.group_versions import MANUAL_REMEDIATION, MANUAL_REMEDIATION_TEMPLATE, Resource
from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.remediation_record import (
    RemediationRecord,
    RemediationWire,
    as_record,
    remediation_records,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a check names: the kind of a template."""

    api_version: str
    kind: str


class NamesItsKind(Protocol):
    """However a check refers to its template."""

    @property
    def api_version(self) -> str: ...

    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RemedyKind:
    """Where its templates and its remediations live."""

    template: Resource
    remediation: Resource


@dataclass(frozen=True, slots=True)
class NotServed:
    """The API server serves no such kind, or we may not see it; not `certain` when it has not told."""

    why: str
    certain: bool = True


MANUAL: Final = Asked(MANUAL_REMEDIATION_TEMPLATE.api_version, MANUAL_REMEDIATION_TEMPLATE.kind)
_NOT_LOOKED: Final = NotServed("it was not looked for yet", certain=False)


@dataclass(slots=True)
class Remedies:
    """What is known of each kind, and the remediations of those that are served."""

    kinds: dict[Asked, RemedyKind | NotServed] = field(
        default_factory=lambda: {MANUAL: RemedyKind(MANUAL_REMEDIATION_TEMPLATE, MANUAL_REMEDIATION)}
    )
    caches: dict[Resource, ObjectCache[RemediationRecord]] = field(default_factory=dict)

    def kind_of(self, template: NamesItsKind) -> RemedyKind | NotServed:
        return self.kinds.get(Asked(template.api_version, template.kind), _NOT_LOOKED)

    def unusable(self, template: NamesItsKind) -> str:
        """Why nothing can be made from templates of its kind, where that is certain."""
        kind = self.kind_of(template)
        return kind.why if isinstance(kind, NotServed) and kind.certain else ""

    @property
    def none_open(self) -> bool:
        """As on most days."""
        return not any(len(cache) for cache in self.caches.values())

    def find(self, kind: RemedyKind, namespace: str, name: str) -> RemediationRecord | None:
        cache = self.caches.get(kind.remediation)
        return cache.get(f"{namespace}/{name}") if cache is not None else None

    def all(self) -> Iterator[RemediationRecord]:
        for cache in self.caches.values():
            yield from cache.all()

    def named(self, name: str) -> Iterator[RemediationRecord]:
        """Of whatever kind and namespace."""
        return (record for record in self.all() if record.name == name)

    @property
    def synced(self) -> bool:
        """Whether the remediations of every kind that is served are here."""
        return all(
            kind.remediation in self.caches and self.caches[kind.remediation].synced_at is not None
            for kind in self.kinds.values()
            if isinstance(kind, RemedyKind)
        )

    def age(self, now: float) -> float:
        """Of the oldest view of a kind; infinite while one that is served is not here."""
        if not self.synced:
            return float("inf")
        return max((cache.age(now) for cache in self.caches.values()), default=0.0)

    def add(self, resource: Resource, wires: list[RemediationWire], now: float) -> None:
        """For whoever lists instead of watching."""
        cache = self.caches[resource] = ObjectCache(remediation_records(resource).uid_of)
        records = [as_record(resource, wire) for wire in wires]
        cache.replace({f"{record.namespace}/{record.name}": record for record in records}, [])
        cache.synced_at = cache.last_contact = now
