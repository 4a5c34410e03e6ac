"""Reads the PowerOff events of a host, which metal3 publishes when it has accepted a power-off."""

from collections.abc import Iterable
from typing import Final

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, EVENT
from nodemend.api.power_cycle import Metal3Remediation, Phase, PowerOffEvent
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.host_reading import is_held
from nodemend.controllers.remediating.surroundings import NOT_ASKED
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.api_request import Selection
from nodemend.kube.event_record import EventWire
from nodemend.kube.paged_list import list_all

POWER_OFF: Final = "PowerOff"
"""The reason that metal3 gives."""


async def read_power_offs(
    reader: Reader, host: BareMetalHost | None, remediation: Metal3Remediation
) -> Seen[tuple[PowerOffEvent, ...]]:
    """The PowerOff events of this host, ordered by UID. Read only where they decide something.

    No time in an event is used: it is another machine's wall clock.
    """
    if host is None or not _matters(host, remediation):
        return NOT_ASKED
    about = f"regarding.kind={BARE_METAL_HOST.kind},regarding.name={host.metadata.name}"
    found = await list_all(
        reader.client,
        EVENT,
        EventWire,
        of=Selection(host.metadata.namespace, fields=about),
        deadline=reader.deadline,
    )
    if not isinstance(found, Ok):
        return Unreadable(str(found))
    return Present(_power_offs(found.value.items, host.metadata.uid))


def _matters(host: BareMetalHost, remediation: Metal3Remediation) -> bool:
    """Before the power-off request is placed, and from then on until the host was seen off."""
    status = remediation.status
    if is_held(host, remediation.metadata.uid):
        awaited = status.power_off_events is not None and status.seen_off is None
        return awaited and not host.status.powered_on
    return status.phase in (Phase.PENDING, Phase.POWER_OFF)


def _power_offs(events: Iterable[EventWire], host_uid: str) -> tuple[PowerOffEvent, ...]:
    found = [one for one in events if one.reason == POWER_OFF and one.regarding.uid == host_uid]
    known = (PowerOffEvent(uid=one.metadata.uid, count=max(one.count, 0)) for one in found)
    return tuple(sorted(known, key=lambda one: one.uid))
