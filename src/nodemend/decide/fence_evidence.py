"""Evidence E1: whether a host that is held off may be believed to be off now, for this boot of this node."""

from dataclasses import dataclass
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence, HostOff
from nodemend.decide.facts import Absent, LeaseFacts, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, HoldReason, KubeletSpeaks, NodeReady, NoKubeletLease
from nodemend.decide.host_holds import HoldLost, HostDoubtful, HostOn, OffTooFresh, OffUndated
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
    dated: bool
    """Our hold was placed on a version in which it was on."""


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
            # A node that still speaks when "its" host is off runs on another.
            silent = found.silent if recorded is None else found.renew_time == recorded.last_renew_time
            if not silent:
                return KubeletSpeaks(found.unchanged_for, found.lasts)
            if node.ready is ConditionStatus.TRUE:
                return NodeReady(node.name)
            return SeenOff(watched.host, found.renew_time)


def _against(watched: Watched, recorded: Evidence | None) -> HoldReason | None:
    """What speaks against the host itself."""
    host = watched.host
    if not host.held_by_us:
        return HoldLost(str(host))
    if why := doubt(host):
        return HostDoubtful(str(host), why)
    if power_of(host) is not Power.OFF:
        return HostOn(str(host))
    if not watched.dated or (recorded and not _same_sighting(recorded, host)):
        return OffUndated(str(host))
    if recorded is None and watched.unchanged_for < SEEN_OFF_FOR:
        return OffTooFresh(str(host))
    return None


def _same_sighting(recorded: Evidence, host: HostFacts) -> bool:
    """Every pass of the operator that changes anything is dated: a detour through "detached" is, too."""
    said = recorded.host
    return said is not None and (said.uid, said.last_updated) == (host.uid, host.last_updated)


def evidence_of(seen: SeenOff, node: NodeFacts) -> Evidence:
    host = seen.host
    return Evidence(
        class_="E1",
        node_uid=node.uid,
        boot_id=node.boot_id,
        by=f"BareMetalHost {host}",
        reason="its power went off while we held it off",
        last_renew_time=seen.renew_time,
        host=HostOff(namespace=host.namespace, name=host.name, uid=host.uid, last_updated=host.last_updated),
    )
