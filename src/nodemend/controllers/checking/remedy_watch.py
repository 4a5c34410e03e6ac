"""Finds the kinds that checks ask for, and watches the remediations of each."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from nodemend.api.group_versions import Resource
from nodemend.controllers.checking.remedies import MANUAL, Asked, NotServed, Remedies, RemedyKind
from nodemend.controllers.fresh_reads import READ_WITHIN
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import EVERYTHING, list_page
from nodemend.kube.discovery import find_resource
from nodemend.kube.object_cache import Change
from nodemend.kube.ports import Runtime, Task, Transport
from nodemend.kube.reflector import Reflector
from nodemend.kube.reflector_loop import run_reflector
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.remediation_record import RemediationRecord, remediation_records
from nodemend.kube.running_together import join_all

LOOK_AGAIN: Final = 15.0
STALE_AFTER: Final = 60.0
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
        self._transport = transport
        self._client = ApiClient(transport, runtime)
        self._timings = timings
        self._changed = changed
        self._wanted: frozenset[Asked] = frozenset({MANUAL})
        self._news = runtime.signal()
        self._tasks: dict[Resource, Task] = {}

    def want(self, wanted: frozenset[Asked]) -> None:
        """These kinds, and always our own: remediations of it may be left from a check that is gone."""
        if wanted | {MANUAL} != self._wanted:
            self._wanted = wanted | {MANUAL}
            self._news.set()

    async def run(self) -> None:
        """Until cancelled, or until one of the watches fails."""
        try:
            while True:
                await self._find_kinds()
                await self._keep_watches()
                await self._news.wait(within=LOOK_AGAIN)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await join_all(list(self._tasks.values()))

    async def _find_kinds(self) -> None:
        kinds = self.remedies.kinds
        for gone in kinds.keys() - self._wanted:
            del kinds[gone]
        for asked in sorted(self._wanted, key=lambda one: (one.api_version, one.kind)):
            known = kinds.get(asked)
            if not isinstance(known, RemedyKind) or self._is_stale(known):
                kinds[asked] = await self._look(asked, known)

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
        for resource in self._tasks.keys() - wanted:
            task = self._tasks.pop(resource)
            task.cancel()
            await task.join()
            del self.remedies.caches[resource]
        for resource in sorted(wanted - self._tasks.keys(), key=str):
            reflector = Reflector(
                remediation_records(resource), chance=self._runtime.random, timings=self._timings
            )
            self.remedies.caches[resource] = reflector.cache
            work = run_reflector(reflector, self._transport, self._runtime, self._changed)
            self._tasks[resource] = self._runtime.spawn(self._telling(work), str(resource))
        for task in self._tasks.values():
            if task.done:
                await task.join()

    async def _telling(self, work: Coroutine[Any, Any, None]) -> None:
        """A watch ends only by failing: then the whole program should."""
        try:
            await work
        finally:
            self._news.set()


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
