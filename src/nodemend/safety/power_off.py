"""Evidence E1: proof that a host with Nodemend's power-off request is off, for this boot of this node."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.evidence import Evidence, HostOff
from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import OffSighting, PowerOffEvent
from nodemend.safety.facts import Absent, LeaseFacts, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import CannotRead, HoldReason, KubeletActive, NodeReady, NoKubeletLease
from nodemend.safety.host_power import (
    ActiveAfterPowerOff,
    HostFacts,
    HostOn,
    HostPowerUncertain,
    OffTimeUncertain,
    OffTooRecent,
    Power,
    PowerOffRequestLost,
    PowerOffUnreported,
    power_of,
    power_uncertainty,
)

SEEN_OFF_FOR: Final = 2.0
"""Seconds. The host is read twice, and its `lastUpdated` has a resolution of whole seconds: a later write
of its operator has another value, so no change of the host goes unnoticed."""


@dataclass(frozen=True, slots=True)
class SeenOff:
    """The host went off under Nodemend's power-off request, and nothing contradicts that it is off now."""

    host: HostFacts
    renew_time: str
    """The kubelet's last Lease renewal."""


@dataclass(frozen=True, slots=True)
class WatchedHost:
    """A host as observed, and for how many seconds it has been observed unchanged."""

    host: HostFacts
    unchanged_for: float
    seen_off: OffSighting | None
    """First observation of power off, under a power-off request placed on a version in which the host was
    on."""
    baseline: tuple[PowerOffEvent, ...] | None
    """The PowerOff events from before the request; None if none were recorded, as by earlier releases."""
    power_offs: ReadResult[tuple[PowerOffEvent, ...]] = Unreadable("not asked")  # noqa: RUF009 - frozen
    """The PowerOff events that exist now."""

    @property
    def first(self) -> OffSighting | None:
        """Return the first observation of power off; None if it has no baseline.

        Without one it was judged by two wall clocks, and is no evidence.
        """
        return self.seen_off if self.baseline is not None else None


def is_new(event: PowerOffEvent, baseline: tuple[PowerOffEvent, ...]) -> bool:
    """Return whether the event occurred after the baseline was read.

    Names repeat and timestamps may be wrong; UIDs and counts are reliable.
    """
    return all(event.uid != known.uid or event.count > known.count for known in baseline)


def first_sighting(
    watched: WatchedHost, lease: ReadResult[LeaseFacts], node: NodeFacts
) -> OffSighting | HoldReason:
    """Return the first observation of power off, under a request that was placed while the host was on.

    The host must have been observed off for SEEN_OFF_FOR before that, so that a later write of its operator
    has another second. And metal3 must have published a new PowerOff event: otherwise it may report an older
    state that it has not refreshed, and the machine may have been switched on since.
    """
    if (against := _against(watched, None)) and not isinstance(against, OffTimeUncertain):
        return against
    if watched.host.last_updated == "":
        return OffTimeUncertain(str(watched.host))
    if untold := _untold(watched):
        return untold
    match lease:
        case Unreadable(why):
            return CannotRead("the kubelet's Lease", why)
        case Absent():
            return NoKubeletLease(node.name)
        case Present(found):
            return OffSighting(last_updated=watched.host.last_updated, last_renew_time=found.renew_time)


def evaluate_power_off(
    watched: WatchedHost, node: NodeFacts, lease: ReadResult[LeaseFacts], recorded: Evidence | None
) -> SeenOff | HoldReason:
    """Return whether the boot which `node` reports has ended, by power state alone.

    `recorded` is evidence from an earlier pass. With it, neither the host nor the Lease may have changed
    since, and no wait starts again, for example after a change of leaders.
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
                return ActiveAfterPowerOff(str(watched.host), found.renew_time)
            if recorded is None and not found.silent:
                return KubeletActive(found.unchanged_for, found.lasts)
            if node.ready is ConditionStatus.TRUE:
                return NodeReady(node.name)
            return SeenOff(watched.host, found.renew_time)


def speaks_against(
    watched: WatchedHost, lease: ReadResult[LeaseFacts], recorded: Evidence
) -> HoldReason | None:
    """Return what has contradicted recorded evidence when no Node exists. Unknown is no contradiction.

    The Lease may be deleted with its Node. If it exists, its renew time must be the recorded one.
    """
    if against := _against(watched, recorded):
        return against
    first = watched.first
    if isinstance(lease, Present) and first is not None and lease.value.renew_time != first.last_renew_time:
        return ActiveAfterPowerOff(str(watched.host), lease.value.renew_time)
    return None


def _untold(watched: WatchedHost) -> HoldReason | None:
    """Return why it is unproven that the host went off by an order later than the power-off request."""
    baseline = watched.baseline
    if baseline is None:
        return PowerOffUnreported(str(watched.host))
    match watched.power_offs:
        case Unreadable(why):
            return CannotRead("the events of its host", why)
        case Present(events) if any(is_new(one, baseline) for one in events):
            return None
        case Present() | Absent():
            return PowerOffUnreported(str(watched.host))


def _against(watched: WatchedHost, recorded: Evidence | None) -> HoldReason | None:
    """Return what contradicts power off in the host itself."""
    host = watched.host
    if not host.held_by_us:
        return PowerOffRequestLost(str(host))
    if why := power_uncertainty(host):
        return HostPowerUncertain(str(host), why)
    if power_of(host) is not Power.OFF:
        return HostOn(str(host))
    if watched.first is None and watched.unchanged_for < SEEN_OFF_FOR:
        return OffTooRecent(str(host))
    if watched.first is None or watched.first.last_updated != host.last_updated:
        return OffTimeUncertain(str(host))
    if recorded is not None and (recorded.host is None or recorded.host.uid != host.uid):
        return OffTimeUncertain(str(host))
    return None


def evidence_of(seen: SeenOff, node: NodeFacts, matches: tuple[str, ...]) -> Evidence:
    """Return the evidence. `matches` are the identity facts that prove the host to be the node's machine."""
    host = seen.host
    return Evidence(
        class_="E1",
        node_uid=node.uid,
        boot_id=node.boot_id,
        by=f"BareMetalHost {host}",
        reason="its power went off after Nodemend's power-off request, and it is the node's machine by "
        + ", ".join(matches),
        last_renew_time=seen.renew_time,
        host=HostOff(namespace=host.namespace, name=host.name, uid=host.uid, last_updated=host.last_updated),
    )
