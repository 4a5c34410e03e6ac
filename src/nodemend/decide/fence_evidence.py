"""Evidence E1: whether a host that is held off may be believed to be off now, for this boot of this node."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence, HostOff
from nodemend.api.power_cycle import OffSighting, PowerOffEvent
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, HoldReason, KubeletSpeaks, NodeReady, NoKubeletLease
from nodemend.decide.host_holds import (
    HoldLost,
    HostDoubtful,
    HostOn,
    OffTooFresh,
    OffUndated,
    OrderUntold,
    SpokeAfterOff,
)
from nodemend.decide.host_power import HostFacts, Power, doubt, power_of

SEEN_OFF_FOR: Final = 2.0
"""Seconds. A host is looked at twice, and its `lastUpdated` counts whole seconds: what its operator writes
after that has another one, so that nothing can happen to the host unnoticed."""


@dataclass(frozen=True, slots=True)
class SeenOff:
    """It went off while we held it, and nothing speaks against its being off now."""

    host: HostFacts
    renew_time: str
    """The kubelet's last sign of life."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A host as it was seen, and for how long it has been seen just so."""

    host: HostFacts
    unchanged_for: float
    seen_off: OffSighting | None
    """How it was first seen off, under a hold that was placed on a version in which it was on."""
    baseline: tuple[PowerOffEvent, ...] | None
    """The PowerOff events from before our request; None where none were recorded, as by earlier releases."""
    power_offs: Seen[tuple[PowerOffEvent, ...]] = Unreadable("not asked")  # noqa: RUF009 - frozen
    """Those that exist now."""

    @property
    def first(self) -> OffSighting | None:
        """What was seen off without a baseline was judged by two wall clocks, and is no evidence."""
        return self.seen_off if self.baseline is not None else None


def is_new(event: PowerOffEvent, baseline: tuple[PowerOffEvent, ...]) -> bool:
    """Whether it occurred after the baseline was read. Names repeat and times lie; UIDs and counts do not."""
    return all(event.uid != known.uid or event.count > known.count for known in baseline)


def first_sighting(watched: Watched, lease: Seen[LeaseFacts], node: NodeFacts) -> OffSighting | HoldReason:
    """How it is seen off for the first time, under a hold that was placed while it was on.

    It has to be seen so for a while before that: what its operator writes later then bears another second.
    And metal3 must have published a new PowerOff event: else it may report now what it has slept through, and
    somebody may have switched the machine on since.
    """
    if (against := _against(watched, None)) and not isinstance(against, OffUndated):
        return against
    if watched.host.last_updated == "":
        return OffUndated(str(watched.host))
    if untold := _untold(watched):
        return untold
    match lease:
        case Unreadable(why):
            return CannotRead("the kubelet's Lease", why)
        case Absent():
            return NoKubeletLease(node.name)
        case Present(found):
            return OffSighting(last_updated=watched.host.last_updated, last_renew_time=found.renew_time)


def weigh_off(
    watched: Watched, node: NodeFacts, lease: Seen[LeaseFacts], recorded: Evidence | None
) -> SeenOff | HoldReason:
    """Whether to believe that the boot which `node` reports has ended, by power alone.

    `recorded` is what was concluded earlier. Then nothing may have happened since, to the host or to the
    Lease; and nothing has to be waited for again, such as after a change of leaders.
    """
    if against := _against(watched, recorded):
        return against
    match lease:
        case Unreadable(why):
            return CannotRead("the kubelet's Lease", why)
        case Absent():
            return NoKubeletLease(node.name)
        case Present(found):
            first = watched.first
            if first is None or found.renew_time != first.last_renew_time:
                return SpokeAfterOff(str(watched.host), found.renew_time)
            if recorded is None and not found.silent:
                return KubeletSpeaks(found.unchanged_for, found.lasts)
            if node.ready is ConditionStatus.TRUE:
                return NodeReady(node.name)
            return SeenOff(watched.host, found.renew_time)


def speaks_against(watched: Watched, lease: Seen[LeaseFacts], recorded: Evidence) -> HoldReason | None:
    """What has happened since evidence was recorded, where there is no Node to ask. Not knowing is not that.

    A Lease may go with its Node. One that is there must be the one that was.
    """
    if against := _against(watched, recorded):
        return against
    first = watched.first
    if isinstance(lease, Present) and first is not None and lease.value.renew_time != first.last_renew_time:
        return SpokeAfterOff(str(watched.host), lease.value.renew_time)
    return None


def _untold(watched: Watched) -> HoldReason | None:
    """Why it is not known to be off by an order that came after our request."""
    baseline = watched.baseline
    if baseline is None:
        return OrderUntold(str(watched.host))
    match watched.power_offs:
        case Unreadable(why):
            return CannotRead("the events of its host", why)
        case Present(events) if any(is_new(one, baseline) for one in events):
            return None
        case Present() | Absent():
            return OrderUntold(str(watched.host))


def _against(watched: Watched, recorded: Evidence | None) -> HoldReason | None:
    """What speaks against the host itself."""
    host = watched.host
    if not host.held_by_us:
        return HoldLost(str(host))
    if why := doubt(host):
        return HostDoubtful(str(host), why)
    if power_of(host) is not Power.OFF:
        return HostOn(str(host))
    if watched.first is None and watched.unchanged_for < SEEN_OFF_FOR:
        return OffTooFresh(str(host))
    if watched.first is None or watched.first.last_updated != host.last_updated:
        return OffUndated(str(host))
    if recorded is not None and (recorded.host is None or recorded.host.uid != host.uid):
        return OffUndated(str(host))
    return None


def evidence_of(seen: SeenOff, node: NodeFacts, ties: tuple[str, ...]) -> Evidence:
    """`ties` are what shows that the host is the node's own."""
    host = seen.host
    return Evidence(
        class_="E1",
        node_uid=node.uid,
        boot_id=node.boot_id,
        by=f"BareMetalHost {host}",
        reason=f"its power went off while we held it off, and it is the node's machine by {', '.join(ties)}",
        last_renew_time=seen.renew_time,
        host=HostOff(namespace=host.namespace, name=host.name, uid=host.uid, last_updated=host.last_updated),
    )
