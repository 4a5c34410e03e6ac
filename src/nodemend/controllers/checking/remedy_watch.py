"""Finds the kinds that checks ask for, and watches the remediations of each."""

from collections.abc import Callable, Sequence
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import Resource
from nodemend.controllers.checking.remedies import MANUAL, Asked, NotServed, Remedies, RemedyKind, Template
from nodemend.controllers.fresh_reads import READ_WITHIN
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused
from nodemend.kube.api_request import EVERYTHING, get, list_page
from nodemend.kube.discovery import find_resource
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.remediation_record import RemediationRecord, remediation_records
from nodemend.kube.watch_set import WatchSet

LOOK_AGAIN: Final = 15.0
STALE_AFTER: Final = 60.0
TEMPLATE_GOOD_FOR: Final = 60.0
"""Seconds for which a template that was there is not looked for again."""
_TEMPLATE: Final = "Template"


class RemedyWatch:
    """Owns one reflector for each kind. Changes of all of them are told to one listener."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        timings: ReflectorTimings,
        changed: Callable[[Sequence[Change[RemediationRecord]]], None],
    ) -> None:
        self.remedies = Remedies()
        self._runtime = runtime
        self._client = ApiClient(transport, runtime)
        self._changed = changed
        self._wanted_by: dict[str, frozenset[Asked]] = {}
        self._templates: frozenset[Template] = frozenset()
        self._found_at: dict[Template, float] = {}
        """When each was last seen to exist."""
        self._news = runtime.signal()
        self._watches = WatchSet(runtime, transport, timings, self._news)

    def want(self, asker: str, wanted: frozenset[Asked]) -> None:
        """From now on that asker wants these kinds."""
        if wanted != self._wanted_by.get(asker):
            self._wanted_by[asker] = wanted
            self._news.set()

    def want_templates(self, templates: frozenset[Template]) -> None:
        """From now on checks name these."""
        if templates != self._templates:
            self._templates = templates
            self._found_at = {one: at for one, at in self._found_at.items() if one in templates}
            self._news.set()

    @property
    def _wanted(self) -> frozenset[Asked]:
        """What anybody wants, and always our own: remediations may be left from a check that is gone."""
        return frozenset({MANUAL}).union(*self._wanted_by.values())

    async def run(self) -> None:
        """Until cancelled, or until one of the watches fails."""
        try:
            while True:
                await self._find_kinds()
                await self._keep_watches()
                await self._find_templates()
                await self._news.wait(within=LOOK_AGAIN)
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
                kinds[asked] = await self._look(asked, known)
        if kinds != before:
            # No remediation changed, but what the checks say about their remedies may.
            self._changed(())

    async def _find_templates(self) -> None:
        """One that is there is looked for ever so seldom; one that is not, at each look."""
        absent: set[Template] = set()
        for template in sorted(self._templates, key=str):
            now, kind = self._runtime.monotonic(), self.remedies.kinds.get(template.asked)
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
        """What a check asked for is watched until it is gone, though no check names its kind any more."""
        if isinstance(kind, NotServed) or self._is_stale(kind):
            return False
        cache = self.remedies.caches.get(kind.remediation)
        return cache is not None and any(keys.CHECK_UID in record.annotations for record in cache.all())

    def _is_stale(self, kind: RemedyKind) -> bool:
        cache = self.remedies.caches.get(kind.remediation)
        return cache is not None and cache.age(self._runtime.monotonic()) > STALE_AFTER

    async def _look(self, asked: Asked, known: RemedyKind | NotServed | None) -> RemedyKind | NotServed:
        """One kind that is gone, or that we may not see, must not make the view of all others old."""
        deadline = self._runtime.monotonic() + READ_WITHIN
        found = await find_kind(self._client, asked, deadline)
        if isinstance(found, RemedyKind):
            page = list_page(found.remediation, EVERYTHING, limit=1)
            if isinstance(refused := await self._client.read(page, Acknowledged, deadline=deadline), Refused):
                found = NotServed(f"the checker may not list {found.remediation}: {refused.message}")
        # Not to be reached says nothing about a kind that was there.
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


async def find_kind(client: ApiClient, asked: Asked, deadline: float) -> RemedyKind | NotServed:
    """Where templates of that kind live, and the remediations that are named like them."""
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
