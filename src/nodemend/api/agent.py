"""What stands on the Lease that each node has with us: the agent's report, the peers proposed, the marker.

What the signer keeps of its authorities in its Secret, and the objects that it uses for that.

By which name a node's agent is certified, and which node such a name is of.
"""

from typing import Annotated, Final

import msgspec

from nodemend.api.meta import ObjectMeta, Wire, about
from nodemend.api.value_forms import AddressText, BootId, NodeName, Number, Uid, WrittenTime, is_node_name


class KeyPair(Wire):
    """PEM, both. Whoever has `key` can be any node to its peers."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        """Without the key: what is printed may be logged."""
        return f"KeyPair(certificate={self.certificate!r})"


class FormerAuthority(Wire):
    """It signs nothing any more, so that its key is gone already."""

    certificate: str
    replaced: float


class AuthorityRecord(Wire):
    """Times are seconds since 1970."""

    signing: KeyPair
    successor: KeyPair | None = None
    published: float | None = None
    former: tuple[FormerAuthority, ...] = ()


class Secret(Wire):
    """Its values are in base64."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name})"


class ConfigMap(Wire):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}


HARDWARE: Final = "hardware"
SOFTWARE: Final = "software"
UNTESTED: Final = "untested"
"""A device of its own that was never seen to reset its machine."""
UNSUPPORTED: Final = "unsupported"
LONGEST_TIME: Final = 86400.0
"""Seconds. What is said to take longer than a day is nonsense, and is not reckoned with."""
SLOWEST_PACE: Final = 3600.0
HIGHEST_REVISION: Final = 2**63 - 1
"""etcd counts no further."""
MOST_PROPOSED: Final = 64
"""Of one node, whatever a later version may propose."""
MOST_LISTS: Final = 2
"""Of peers in one report: those in use, and those that follow."""
LONGEST_LIFE: Final = 10 * 366 * 86400.0
"""Seconds, of a certificate, or of a boot whose watchdog did not reset it."""
LONGEST_REASON: Final = 512
LONGEST_VERSION: Final = 64

_Peers = Annotated[tuple[NodeName, ...], msgspec.Meta(max_length=MOST_PROPOSED)]


class WatchdogReport(Wire):
    """What will reset the node."""

    class_: Annotated[str, about('"hardware", "untested", "software" or "unsupported".', max_length=16)] = (
        msgspec.field(name="class")
    )
    driver: Annotated[str, about("As it names itself.", max_length=64)] = ""
    written: Annotated[
        float, about("Seconds, as they were written to the driver.", ge=0, le=LONGEST_TIME)
    ] = 0.0
    effective: Annotated[
        float, about("Seconds from the last ping to the reset, at most (W).", ge=0, le=LONGEST_TIME)
    ] = 0.0
    why: Annotated[str, about("Why no time proof may rest on it.", max_length=256)] = ""


class CertificateReport(Wire):
    """By which a node proves to its peers who it is."""

    ends: WrittenTime
    """When it runs out, by the node's own clock."""
    life: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_LIFE)]
    """Seconds, from its beginning to its end."""


class LastReset(Wire):
    """How the last boot of the node ended that was not fed any more."""

    boot_id: BootId = msgspec.field(name="bootID")
    condemned: bool = False
    """A marker ended it, and its feeder asked the kernel for a reboot; else only its watchdog can have."""
    lived_on: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_LIFE)] = 0.0
    """Seconds from its last ping to its last sign of life: the time to reset, as it was, but for a moment."""


class AgentReport(Wire):
    """What an agent says of itself with every renewal.

    The names of peers are those by which the node goes, and during a change also those by which it will go.
    """

    node_uid: Uid = msgspec.field(name="nodeUID")
    boot_id: BootId = msgspec.field(name="bootID")
    sequence: Number
    acknowledged: Number
    steady_since: Number
    feed_lease: Annotated[float, about("G, in seconds.", ge=0, le=LONGEST_TIME)]
    """After a clean look the node may live for so long without another."""
    contact_age: Annotated[float, about("K, in seconds.", ge=0, le=LONGEST_TIME)]
    """Without an acknowledged renewal for so long the node tells peers that it cannot reach the API."""
    watchdog: WatchdogReport
    ride_through: Annotated[float, about("Seconds of G.", ge=0, le=LONGEST_TIME)] = 0.0
    """So much of G an admin has asked for, to ride out the loss of an uplink."""
    peers: Annotated[tuple[_Peers, ...], msgspec.Meta(max_length=MOST_LISTS)] = ()
    address: AddressText = ""
    """HOST:PORT at which it answers peers; empty where they would not believe who it is."""
    boot_gate: bool = False
    """Whether kubelet starts only after the marker was looked for."""
    version: Annotated[str, msgspec.Meta(max_length=LONGEST_VERSION)] = ""
    certificate: CertificateReport | None = None
    """None where it has none that peers would believe."""
    held_back: Annotated[str, msgspec.Meta(max_length=LONGEST_REASON)] = ""
    """Why its boot gate stays closed though nobody asks for its end; empty where it does not."""
    last_reset: LastReset | None = None
    replaces: Annotated[int, about("A revision.", ge=0, le=HIGHEST_REVISION)] = 0
    """The version of the Lease that this renewal replaced; 0 where it placed the Lease."""
    remembers_from: Annotated[int, about("A revision.", ge=0, le=HIGHEST_REVISION)] = 0
    """The version that the first renewal made which this agent remembers; 0 before that. It begins again when
    the Lease shows less than what was acknowledged: then etcd was restored."""
    answers: Annotated[int, about("An epoch.", ge=0, le=HIGHEST_REVISION)] | None = None
    """Written by a boot gate alone, while it stays closed: the epoch of the marker that it has seen."""


class PeerEntry(Wire):
    name: NodeName
    address: AddressText


class PeerProposal(Wire):
    """Whom a manager proposes as peers, in turns of failure domains, and how often to renew."""

    peers: Annotated[tuple[PeerEntry, ...], about("In the order of turns.", max_length=MOST_PROPOSED)] = ()
    every: Annotated[float, about("Seconds between two renewals.", ge=0, le=SLOWEST_PACE)] = 5.0


class Marker(Wire):
    """This boot of this node is to end. Written by a manager, for one remediation, and taken off by it."""

    node_uid: Uid = msgspec.field(name="nodeUID")
    boot_id: BootId = msgspec.field(name="bootID")
    remediation_uid: Uid = msgspec.field(name="remediationUID")
    drill: bool = False
    """Its watchdog alone is to end it, so that this can be timed: nobody asks its kernel for a reboot."""
    epoch: Annotated[int, about("A leadership.", ge=0, le=HIGHEST_REVISION)] = 0
    """Who wants an answer from the boot gate. No two leaders in one history of etcd have the same."""

    def fences(self, node_uid: str, boot_id: str) -> bool:
        return (self.node_uid, self.boot_id) == (node_uid, boot_id)


_SUFFIX: Final = ".agent.nodemend.io"
"""Behind a node's name, so that no name of a node reads as an address."""


def certified_name(node: str) -> str:
    """The DNS name in the certificate of this node's agent."""
    return node + _SUFFIX


def node_of(names: tuple[str, ...]) -> str | None:
    """Which node a certificate with these DNS names is of; None unless it is of exactly one."""
    found = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return found[0] if len(found) == 1 == len(names) and is_node_name(found[0]) else None
