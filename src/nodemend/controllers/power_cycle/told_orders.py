"""What a host's operator has told of its orders: events, which it publishes when an order is accepted."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, EVENT
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.timestamps import written_moment
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.host_reading import is_held
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.event_record import EventWire
from nodemend.kube.paged_list import list_all

ORDERED_OFF: Final = "PowerOff"
"""The reason that metal3 gives."""


class ToldOrders:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def told_after(self, host: BareMetalHost | None, remediation: Metal3Remediation) -> Seen[float]:
        """Seconds from our asking to the last power-off told of this host. Read only where it matters."""
        status = remediation.status
        if host is None or host.status.powered_on or status.seen_off is not None:
            return Absent()
        if not is_held(host, remediation.metadata.uid):
            return Absent()
        asked_at = written_moment(status.off_asked_at)
        if asked_at is None:
            return Absent()
        about = f"regarding.kind={BARE_METAL_HOST.kind},regarding.name={host.metadata.name}"
        found = await list_all(
            self._reader.client,
            EVENT,
            EventWire,
            of=Selection(host.metadata.namespace, fields=about),
            deadline=self._reader.deadline,
        )
        if not isinstance(found, Ok):
            return Unreadable(str(found))
        times = _times(found.value.items, host.metadata.uid)
        return Present((max(times) - asked_at).total_seconds()) if times else Absent()


def _times(events: Iterable[EventWire], uid: str) -> list[datetime]:
    orders = [one for one in events if one.reason == ORDERED_OFF and one.regarding.uid == uid]
    return [time for one in orders if (time := written_moment(one.last_time)) is not None]
