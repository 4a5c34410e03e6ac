"""All remediations of every kind that is served, straight from the API server."""

from typing import Final

from nodemend.controllers.checking.remedies import Remedies, RemedyKind
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.facts import Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.at_once import AtOnce
from nodemend.kube.paged_list import list_all
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record

GOOD_FOR: Final = 1.0
"""Seconds for which a list is used, from when it was asked for."""
AHEAD: Final = 0.5
"""Seconds before a deadline at which it is asked for."""

Listed = list[RemediationRecord] | Unreadable


class OpenRemediations:
    """One leadership's lists of them, for all that begin something.

    An API server answers such a list from its cache, once that has caught up with everything that was ever
    written: after 60 to 100 ms where something was, anywhere, just before. So whoever has a deadline asks a
    little ahead of it. Nothing rests on a list that is a second old, nor on one that was asked for before
    anything of ours was written or any change came in.
    """

    def __init__(self, reader: Reader, remedies: Remedies) -> None:
        self._reader = reader
        self._remedies = remedies
        self._news = 0
        self._kept: tuple[float, Listed] | None = None

    async def listed(self) -> Listed:
        """Of every kind: one node, one remediation, whatever its kind."""
        return await self._not_older_than(GOOD_FOR)

    async def look_ahead(self) -> None:
        """Have a list at hand, as new as can be, for somebody whose deadline is near."""
        await self._not_older_than(GOOD_FOR - AHEAD)

    def forget(self) -> None:
        """Something is being written, or has changed: whatever was listed, or is about to be, is old."""
        self._news += 1
        self._kept = None

    async def _not_older_than(self, age: float) -> Listed:
        asked_at, news = self._reader.runtime.monotonic(), self._news
        if self._kept is not None and asked_at - self._kept[0] <= age:
            return self._kept[1]
        found = await self._list()
        if news == self._news and not isinstance(found, Unreadable):
            self._kept = asked_at, found
        return found

    async def _list(self) -> Listed:
        remedies, reader = self._remedies, self._reader
        resources = [kind.remediation for kind in remedies.kinds.values() if isinstance(kind, RemedyKind)]
        async with AtOnce(reader.runtime) as questions:
            lists = [
                questions.ask(list_all(reader.client, resource, RemediationWire, deadline=reader.deadline))
                for resource in resources
            ]
        records: list[RemediationRecord] = []
        for resource, listed in zip(resources, lists, strict=True):
            if not isinstance(listed.answer, Ok):
                return Unreadable(str(listed.answer))
            records += [as_record(resource, wire) for wire in listed.answer.value.items]
        return records
