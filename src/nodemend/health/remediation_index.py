"""Discovers the remediation kinds that checks reference, and watches the remediations of each kind.

The kinds are Nodemend's own and those of other projects. A decision to start relies on a live (uncached) list
of the remediations of every served kind, at most a second old.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, Protocol

from nodemend.api import condition_types, well_known
from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import TemplateReference
from nodemend.api.resources import MANUAL_REMEDIATION, MANUAL_REMEDIATION_TEMPLATE, Resource
from nodemend.guard.state import Busy
from nodemend.kube.client import ApiClient, find_resource, list_all
from nodemend.kube.informer import WatchSet
from nodemend.kube.outcome import Acknowledged, Ok, Reason, Refused
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import EVERYTHING, get, list_page
from nodemend.kube.store import Change, Store
from nodemend.kube.tasks import ConcurrentReads
from nodemend.records.live_reads import READ_WITHIN, LiveReader
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record, remediation_records
from nodemend.rules.request import (
    UNSERVED_AFTER,
    DeleteRemediation,
    ExistingRemediation,
    RemedyAttempt,
    decide_orphan,
)
from nodemend.safety.facts import Unreadable


@dataclass(frozen=True, slots=True)
class TemplateKind:
    """The kind of a template that a check references."""

    api_version: str
    kind: str


class NamesItsKind(Protocol):
    """A reference to a template, or the resource of templates."""

    @property
    def api_version(self) -> str: ...

    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RemedyKind:
    """The resources of a kind's templates and of its remediations."""

    template: Resource
    remediation: Resource


@dataclass(frozen=True, slots=True)
class NotServed:
    """The API server does not serve this kind, or RBAC forbids it; not `certain` if there was no reply."""

    why: str
    certain: bool = True


def template_kind(of: NamesItsKind) -> TemplateKind:
    return TemplateKind(of.api_version, of.kind)


MANUAL: Final = template_kind(MANUAL_REMEDIATION_TEMPLATE)
_NOT_LOOKED: Final = NotServed("it was not looked for yet", certain=False)


@dataclass(slots=True)
class RemediationIndex:
    """Each kind's discovery result, and the cached remediations of the served kinds."""

    kinds: dict[TemplateKind, RemedyKind | NotServed] = field(
        default_factory=lambda: {MANUAL: RemedyKind(MANUAL_REMEDIATION_TEMPLATE, MANUAL_REMEDIATION)}
    )
    caches: dict[Resource, Store[RemediationRecord]] = field(default_factory=dict)
    absent: frozenset[TemplateReference] = frozenset()
    """Templates that checks reference and that do not exist."""
    first_seen: Mapping[str, float] = field(default_factory=dict)
    """Time of the first observation of each remediation, by UID."""

    def kind_of(self, template: NamesItsKind) -> RemedyKind | NotServed:
        return self.kinds.get(template_kind(template), _NOT_LOOKED)

    def unusable(self, template: NamesItsKind) -> str:
        """Return why templates of this kind cannot be used, if that is certain; otherwise ""."""
        kind = self.kind_of(template)
        return kind.why if isinstance(kind, NotServed) and kind.certain else ""

    def missing(self, template: TemplateReference) -> str:
        """Return why this template cannot be used, if that is certain; otherwise ""."""
        if template not in self.absent:
            return ""
        return f"its template {template.namespace}/{template.name} does not exist"

    def seen_for(self, record: RemediationRecord, now: float) -> float:
        """Return the seconds since the remediation was first observed."""
        return now - self.first_seen.get(record.uid, now)

    def is_unserved(self, record: RemediationRecord, now: float) -> bool:
        """True if no controller has started to serve the remediation within UNSERVED_AFTER seconds."""
        return record.untouched and self.seen_for(record, now) >= UNSERVED_AFTER

    def busy(
        self, named: Iterable[tuple[str, RemediationRecord]], others: frozenset[str], now: float
    ) -> Busy:
        """Return the targets with an open remediation among `named` (by target name), and the `others`."""
        released, unserved, in_progress = set[str](), set[str](), set(others)
        for name, record in named:
            if record.goes_on and self.is_unserved(record, now):
                unserved.add(name)
            elif record.goes_on:
                (released if record.released else in_progress).add(name)
        return Busy(
            names=frozenset(in_progress | released | unserved),
            released=frozenset(released - in_progress),
            unserved=frozenset(unserved - in_progress - released),
        )

    @property
    def none_open(self) -> bool:
        """True if no remediation exists, which is the usual case and allows a fast path."""
        return not any(len(cache) for cache in self.caches.values())

    def find(self, template: NamesItsKind, namespace: str, name: str) -> RemediationRecord | None:
        """Return the remediation of this name that was made from a template of this kind."""
        kind = self.kind_of(template)
        cache = self.caches.get(kind.remediation) if isinstance(kind, RemedyKind) else None
        return cache.get(f"{namespace}/{name}") if cache is not None else None

    def all(self) -> Iterator[RemediationRecord]:
        for cache in self.caches.values():
            yield from cache.all()

    def named(self, name: str) -> Iterator[RemediationRecord]:
        """Return the remediations of this name, of any kind and namespace."""
        return (record for record in self.all() if record.name == name)

    @property
    def synced(self) -> bool:
        """True if the remediations of every served kind are cached."""
        return all(
            kind.remediation in self.caches and self.caches[kind.remediation].synced_at is not None
            for kind in self.kinds.values()
            if isinstance(kind, RemedyKind)
        )

    def age(self, now: float) -> float:
        """Return the age of the oldest cache in seconds; infinite while a served kind is not cached."""
        if not self.synced:
            return float("inf")
        return max((cache.age(now) for cache in self.caches.values()), default=0.0)

    def add(self, resource: Resource, wires: list[RemediationWire], now: float) -> None:
        """Add the cache of a kind from a list, for callers that list instead of watching."""
        cache = self.caches[resource] = Store(remediation_records(resource).uid_of)
        records = [as_record(resource, wire) for wire in wires]
        cache.replace({f"{record.namespace}/{record.name}": record for record in records}, [])
        cache.synced_at = cache.last_contact = now


def existing_remediation(
    record: RemediationRecord, seconds: float, *, ours: bool, index: int = 0
) -> ExistingRemediation:
    """Return a remediation as facts. `seconds` is how long Nodemend has observed it."""
    succeeded = record.says(condition_types.SUCCEEDED)
    return ExistingRemediation(
        holder=str(record),
        ours=ours,
        ending=record.deleting,
        committed=record.says(condition_types.FENCED) == ConditionStatus.TRUE,
        # Nodemend's kinds set Succeeded when the node is back. Other kinds may set it once a reboot is
        # requested.
        finished=succeeded == ConditionStatus.TRUE and record.fences,
        trying=RemedyAttempt(index, seconds, failed=succeeded == ConditionStatus.FALSE),
        order=record.annotations.get(well_known.ORDER, ""),
        untouched=record.untouched,
    )


def may_withdraw(orphan: RemediationRecord) -> bool:
    """Return whether a remediation that no check requests any longer may be deleted now."""
    return decide_orphan(existing_remediation(orphan, 0.0, ours=True)) == DeleteRemediation()


GOOD_FOR: Final = 1.0
"""Seconds for which a list is used, counted from its request."""
AHEAD: Final = 0.5
"""Seconds before a deadline at which a list is prefetched."""

Listed = list[RemediationRecord] | Unreadable


@dataclass(eq=False, slots=True)
class RemediationListCache:
    """Lists of the open remediations, shared by all starts of one leader term.

    An API server answers such a list from its watch cache, once that has caught up with everything written so
    far: after 60 to 100 ms if any object was written just before. So a caller with a deadline prefetches the
    list shortly before it. A decision never rests on a list older than a second, nor on one requested before
    Nodemend wrote something or a change arrived.
    """

    reader: LiveReader
    remedies: RemediationIndex
    _news: int = 0
    _kept: tuple[float, Listed] | None = None

    async def listed(self) -> Listed:
        """Return the remediations of all kinds, since a node may have only one, of any kind."""
        return await self._not_older_than(GOOD_FOR)

    async def prefetch(self) -> None:
        """Fetch a list for a caller whose deadline is near, so that it is as new as possible then."""
        await self._not_older_than(GOOD_FOR - AHEAD)

    def forget(self) -> None:
        """Stop reusing lists that exist or are in flight, because of a write or an observed change."""
        self._news += 1
        self._kept = None

    async def _not_older_than(self, age: float) -> Listed:
        asked_at, news = self.reader.runtime.monotonic(), self._news
        if self._kept is not None and asked_at - self._kept[0] <= age:
            return self._kept[1]
        found = await self._list()
        if news == self._news and not isinstance(found, Unreadable):
            self._kept = asked_at, found
        return found

    async def _list(self) -> Listed:
        remedies, reader = self.remedies, self.reader
        resources = [kind.remediation for kind in remedies.kinds.values() if isinstance(kind, RemedyKind)]
        async with ConcurrentReads(reader.runtime) as questions:
            lists = [
                questions.ask(list_all(reader.client, resource, RemediationWire, deadline=reader.deadline))
                for resource in resources
            ]
        records: list[RemediationRecord] = []
        for resource, listed in zip(resources, lists, strict=True):
            if not isinstance(listed.answer, Ok):
                return Unreadable(str(listed.answer))
            records += [as_record(resource, wire) for wire in listed.answer.value]
        return records


DISCOVERY_INTERVAL: Final = 15.0
STALE_AFTER: Final = 60.0
TEMPLATE_GOOD_FOR: Final = 60.0
"""Seconds for which an existing template is not read again."""
_TEMPLATE: Final = "Template"


class RemediationInformers:
    """Owns one reflector per kind. One listener, `changed`, receives the changes of all kinds."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        changed: Callable[[Sequence[Change[RemediationRecord]]], None],
    ) -> None:
        self.remedies = RemediationIndex()
        self._runtime = runtime
        self._client = ApiClient(transport, runtime)
        self._changed = changed
        self._wanted_by: dict[str, frozenset[TemplateKind]] = {}
        self._templates: frozenset[TemplateReference] = frozenset()
        self._found_at: dict[TemplateReference, float] = {}
        """Time of the last successful read of each template."""
        self._news = runtime.signal()
        self._watches = WatchSet(runtime, transport, self._news)

    def want(self, asker: str, wanted: frozenset[TemplateKind]) -> None:
        """Replace the kinds that `asker` needs."""
        if wanted != self._wanted_by.get(asker):
            self._wanted_by[asker] = wanted
            self._news.set()

    def want_templates(self, templates: frozenset[TemplateReference]) -> None:
        """Replace the templates that checks reference."""
        if templates != self._templates:
            self._templates = templates
            self._found_at = {one: at for one, at in self._found_at.items() if one in templates}
            self._news.set()

    @property
    def _wanted(self) -> frozenset[TemplateKind]:
        """All kinds that an asker needs, and always ManualRemediation: a deleted check may have left some."""
        return frozenset({MANUAL}).union(*self._wanted_by.values())

    async def run(self) -> None:
        """Run until cancelled; raise if one of the watches fails."""
        try:
            while True:
                await self._find_kinds()
                await self._keep_watches()
                await self._find_templates()
                await self._news.wait(within=DISCOVERY_INTERVAL)
        finally:
            await self._watches.end_all()

    async def _find_kinds(self) -> None:
        kinds, before = self.remedies.kinds, dict(self.remedies.kinds)
        wanted = self._wanted
        for gone in kinds.keys() - wanted:
            if not self._is_in_use(kinds[gone]):
                del kinds[gone]
        for asked in sorted(wanted, key=lambda one: (one.api_version, one.kind)):
            known = kinds.get(asked)
            if not isinstance(known, RemedyKind) or self._is_stale(known):
                kinds[asked] = await self._discover(asked, known)
        if kinds != before:
            # No remediation changed, but the checks' statuses about their remedies may have.
            self._changed(())

    async def _find_templates(self) -> None:
        """Read the referenced templates: an existing one rarely, a missing one in every round."""
        absent: set[TemplateReference] = set()
        in_order = attrgetter("api_version", "kind", "namespace", "name")
        for template in sorted(self._templates, key=in_order):
            now, kind = self._runtime.monotonic(), self.remedies.kind_of(template)
            known = now - self._found_at.get(template, -TEMPLATE_GOOD_FOR) < TEMPLATE_GOOD_FOR
            if not isinstance(kind, RemedyKind) or known:
                continue
            request = get(kind.template, template.name, template.namespace)
            outcome = await self._client.read(request, Acknowledged, deadline=now + READ_WITHIN)
            match outcome:
                case Ok():
                    self._found_at[template] = now
                case Refused(reason=Reason.NOT_FOUND):
                    absent.add(template)
                case _ if template in self.remedies.absent:
                    absent.add(template)
                case _:
                    pass
        if absent != self.remedies.absent:
            self.remedies.absent = frozenset(absent)
            self._changed(())

    def _is_in_use(self, kind: RemedyKind | NotServed) -> bool:
        """True while remediations exist that a check requested, even if no check references the kind now."""
        if isinstance(kind, NotServed) or self._is_stale(kind):
            return False
        cache = self.remedies.caches.get(kind.remediation)
        return cache is not None and any(well_known.CHECK_UID in record.annotations for record in cache.all())

    def _is_stale(self, kind: RemedyKind) -> bool:
        cache = self.remedies.caches.get(kind.remediation)
        return cache is not None and cache.age(self._runtime.monotonic()) > STALE_AFTER

    async def _discover(
        self, asked: TemplateKind, known: RemedyKind | NotServed | None
    ) -> RemedyKind | NotServed:
        """Discover one kind. A kind that is gone or forbidden must not make all other caches stale."""
        deadline = self._runtime.monotonic() + READ_WITHIN
        found = await find_kind(self._client, asked, deadline)
        if isinstance(found, RemedyKind):
            page = list_page(found.remediation, EVERYTHING, limit=1)
            if isinstance(refused := await self._client.read(page, Acknowledged, deadline=deadline), Refused):
                found = NotServed(f"the checker may not list {found.remediation}: {refused.message}")
        # An unreachable API server proves nothing about a kind that was served before.
        unsure = isinstance(found, NotServed) and not found.certain
        return known if isinstance(known, RemedyKind) and unsure else found

    async def _keep_watches(self) -> None:
        wanted = {kind.remediation for kind in self.remedies.kinds.values() if isinstance(kind, RemedyKind)}
        gone = self._watches.resources - wanted
        await self._watches.end(gone)
        for resource in gone:
            del self.remedies.caches[resource]
        for resource in sorted(wanted - self._watches.resources, key=str):
            self.remedies.caches[resource] = self._watches.begin(remediation_records(resource), self._changed)
        await self._watches.raise_failures()


async def find_kind(client: ApiClient, asked: TemplateKind, deadline: float) -> RemedyKind | NotServed:
    """Return the resources of a template kind and of the remediations that are named after it."""
    template = await _find(client, asked.api_version, asked.kind, deadline)
    if isinstance(template, NotServed):
        return template
    remediation = await _find(client, asked.api_version, asked.kind.removesuffix(_TEMPLATE), deadline)
    return remediation if isinstance(remediation, NotServed) else RemedyKind(template, remediation)


async def _find(client: ApiClient, api_version: str, kind: str, deadline: float) -> Resource | NotServed:
    found = await find_resource(client, api_version, kind, deadline=deadline)
    match found:
        case Resource():
            return found
        case None | Refused(reason=Reason.NOT_FOUND):
            return NotServed(f"{api_version} has no kind {kind}")
        case _:
            return NotServed(str(found), certain=False)
