"""The remediations of every kind that some check asks for, ours and others'."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from nodemend.api.group_versions import MANUAL_REMEDIATION, MANUAL_REMEDIATION_TEMPLATE, Resource
from nodemend.controllers.checking.ward import Busy
from nodemend.decide.remediation_request import UNSERVED_AFTER
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
class Template:
    """One template that a check names."""

    asked: Asked
    namespace: str
    name: str


class NamesATemplate(NamesItsKind, Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


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


def as_template(named: NamesATemplate) -> Template:
    return Template(Asked(named.api_version, named.kind), named.namespace, named.name)


MANUAL: Final = Asked(MANUAL_REMEDIATION_TEMPLATE.api_version, MANUAL_REMEDIATION_TEMPLATE.kind)
_NOT_LOOKED: Final = NotServed("it was not looked for yet", certain=False)


@dataclass(slots=True)
class Remedies:
    """What is known of each kind, and the remediations of those that are served."""

    kinds: dict[Asked, RemedyKind | NotServed] = field(
        default_factory=lambda: {MANUAL: RemedyKind(MANUAL_REMEDIATION_TEMPLATE, MANUAL_REMEDIATION)}
    )
    caches: dict[Resource, ObjectCache[RemediationRecord]] = field(default_factory=dict)
    absent: frozenset[Template] = frozenset()
    """Templates that checks name, and that do not exist."""
    first_seen: Mapping[str, float] = field(default_factory=dict)
    """When we first saw each, by UID."""

    def kind_of(self, template: NamesItsKind) -> RemedyKind | NotServed:
        return self.kinds.get(Asked(template.api_version, template.kind), _NOT_LOOKED)

    def unusable(self, template: NamesItsKind) -> str:
        """Why nothing can be made from templates of its kind, where that is certain."""
        kind = self.kind_of(template)
        return kind.why if isinstance(kind, NotServed) and kind.certain else ""

    def missing(self, template: NamesATemplate) -> str:
        """Why nothing can be made from this very template, where that is certain."""
        if as_template(template) not in self.absent:
            return ""
        return f"its template {template.namespace}/{template.name} does not exist"

    def is_unserved(self, record: RemediationRecord, now: float) -> bool:
        """Whether nobody has taken it up for so long that nobody will."""
        return record.untouched and now - self.first_seen.get(record.uid, now) >= UNSERVED_AFTER

    def busy(
        self, named: Iterable[tuple[str, RemediationRecord]], others: frozenset[str], now: float
    ) -> Busy:
        """Those for whom one of these remediations goes on, each by its name, and the `others`."""
        released, unserved, at_work = set[str](), set[str](), set(others)
        for name, record in named:
            if record.goes_on and self.is_unserved(record, now):
                unserved.add(name)
            elif record.goes_on:
                (released if record.released else at_work).add(name)
        return Busy(
            names=frozenset(at_work | released | unserved),
            released=frozenset(released - at_work),
            unserved=frozenset(unserved - at_work - released),
        )

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
