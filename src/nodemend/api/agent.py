"""Types that agents, managers and the signer exchange: annotations of Leases, authorities, certificate names.

The annotations agent report, peer proposal and marker are on each node's Lease in the agents' namespace. The
signer keeps the record of its authorities in a Secret. A DNS name in an agent's certificate names its node.
"""

from typing import Annotated, Final

import msgspec

from nodemend.api.meta import KubernetesObject, Wire, about
from nodemend.api.value_forms import AddressText, BootId, NodeName, Number, Uid, WrittenTime, is_node_name


class KeyPair(Wire):
    """A certificate and its key as PEM. With `key` a client can pose as any node to that node's peers."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        """Omit the key, because the result may be logged."""
        return f"KeyPair(certificate={self.certificate!r})"


class FormerAuthority(Wire):
    """An authority that no longer signs. Its key is already deleted."""

    certificate: str
    replaced: float


class AuthorityRecord(Wire):
    """The authorities of the signer. Times are seconds since 1970."""

    signing: KeyPair
    successor: KeyPair | None = None
    published: float | None = None
    former: tuple[FormerAuthority, ...] = ()


class Secret(KubernetesObject):
    """A Secret. Its values are in base64."""

    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name})"


class ConfigMap(KubernetesObject):
    data: dict[str, str] = {}


HARDWARE: Final = "hardware"
SOFTWARE: Final = "software"
UNTESTED: Final = "untested"
"""A hardware device without an observed reset of its machine."""
UNSUPPORTED: Final = "unsupported"
LONGEST_TIME: Final = 86400.0
"""Seconds. A report with a time longer than a day is invalid."""
SLOWEST_PACE: Final = 3600.0
HIGHEST_REVISION: Final = 2**63 - 1
"""The highest revision that etcd can have."""
MOST_PROPOSED: Final = 64
"""Maximum number of peers of one node, also in proposals of later versions."""
MOST_LISTS: Final = 2
"""Maximum number of peer lists in one report: the current list, and the next one during a change."""
LONGEST_LIFE: Final = 10 * 366 * 86400.0
"""Seconds: the maximum validity of a certificate, and the maximum time to a reset."""
LONGEST_REASON: Final = 512
LONGEST_VERSION: Final = 64

_Peers = Annotated[tuple[NodeName, ...], msgspec.Meta(max_length=MOST_PROPOSED)]


class WatchdogReport(Wire):
    """The watchdog that resets the node."""

    class_: Annotated[str, about('"hardware", "untested", "software" or "unsupported".', max_length=16)]
    driver: Annotated[str, about("The name that the driver reports.", max_length=64)] = ""
    written: Annotated[
        float, about("Timeout in seconds that was written to the driver.", ge=0, le=LONGEST_TIME)
    ] = 0.0
    effective: Annotated[
        float, about("Seconds from the last ping to the reset, at most (W).", ge=0, le=LONGEST_TIME)
    ] = 0.0
    why: Annotated[str, about("The reason why no time proof may use it.", max_length=256)] = ""


class CertificateReport(Wire):
    """The certificate by which a node authenticates to its peers."""

    ends: WrittenTime
    """Time of its expiry, by the node's own clock."""
    life: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_LIFE)]
    """Seconds from its start to its expiry."""


class LastReset(Wire):
    """The end of the node's last boot whose feeder stopped feeding the watchdog."""

    boot_id: BootId
    fence_requested: bool = msgspec.field(default=False, name="condemned")
    """True if the feeder requested a reboot from the kernel, because of a marker or a gap between two pings.
    If false, only the watchdog can have reset the node."""
    lived_on: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_LIFE)] = 0.0
    """Seconds from the last ping to the last record of the boot: the measured time to the reset, less at most
    one interval between records."""


class AgentReport(Wire):
    """The report that an agent writes with every renewal.

    `peers` has the list of peers that the node uses and, during a change, the list that it will use next.
    """

    node_uid: Uid
    boot_id: BootId
    sequence: Number
    acknowledged: Number
    steady_since: Number
    feed_lease: Annotated[float, about("G, in seconds.", ge=0, le=LONGEST_TIME)]
    """After a clean API check the node may run for this long without another one."""
    contact_age: Annotated[float, about("K, in seconds.", ge=0, le=LONGEST_TIME)]
    """After this long without an acknowledged renewal, the node reports to peers that it cannot reach the
    API server."""
    watchdog: WatchdogReport
    ride_through: Annotated[float, about("Seconds of G.", ge=0, le=LONGEST_TIME)] = 0.0
    """The part of G that an admin added, so that nodes keep running while an uplink is lost."""
    peers: Annotated[tuple[_Peers, ...], msgspec.Meta(max_length=MOST_LISTS)] = ()
    address: AddressText = ""
    """HOST:PORT at which it answers peers; empty if peers would not accept its certificate."""
    boot_gate: bool = False
    """True if the kubelet starts only after a check for a marker."""
    version: Annotated[str, msgspec.Meta(max_length=LONGEST_VERSION)] = ""
    certificate: CertificateReport | None = None
    """None if it has no certificate that peers would accept."""
    held_back: Annotated[str, msgspec.Meta(max_length=LONGEST_REASON)] = ""
    """The reason why its boot gate stays closed without a marker; empty if the gate is not held back."""
    last_reset: LastReset | None = None
    replaces: Annotated[int, about("A revision.", ge=0, le=HIGHEST_REVISION)] = 0
    """The version of the Lease that this renewal replaced; 0 if it created the Lease."""
    remembers_from: Annotated[int, about("A revision.", ge=0, le=HIGHEST_REVISION)] = 0
    """The Lease version of the earliest renewal that this agent remembers; 0 before that. It restarts if the
    Lease shows an older report than the acknowledged one, because then etcd was restored."""
    answers: Annotated[int, about("An epoch.", ge=0, le=HIGHEST_REVISION)] | None = None
    """The epoch of the marker that the boot gate has read. Only a closed boot gate writes it."""


class PeerEntry(Wire):
    name: NodeName
    address: AddressText


class PeerProposal(Wire):
    """The peers that a manager proposes for a node, and the interval of its renewals."""

    peers: Annotated[
        tuple[PeerEntry, ...],
        about("The peers, ordered so that failure domains alternate.", max_length=MOST_PROPOSED),
    ] = ()
    every: Annotated[float, about("Seconds between two renewals.", ge=0, le=SLOWEST_PACE)] = 5.0


class Marker(Wire):
    """A request that this boot of this node ends. A manager writes it for one remediation, and removes it."""

    node_uid: Uid
    boot_id: BootId
    remediation_uid: Uid
    drill: bool = False
    """Only the watchdog must end the boot, to measure the reset: the feeder requests no kernel reboot."""
    epoch: Annotated[int, about("The epoch of a leader.", ge=0, le=HIGHEST_REVISION)] = 0
    """The leader that needs the boot gate's answer. In one history of etcd each leader has its own epoch."""

    def fences(self, node_uid: str, boot_id: str) -> bool:
        return (self.node_uid, self.boot_id) == (node_uid, boot_id)


_SUFFIX: Final = ".agent.nodemend.io"
"""Appended to a node's name, so that no node name can be parsed as an IP address."""


CERTIFICATE_USAGES: Final = frozenset({"client auth", "digital signature", "server auth"})
"""The usages that an agent requests for its certificate, and the only ones that the signer accepts."""


def certified_name(node: str) -> str:
    """The DNS name in the certificate of this node's agent."""
    return node + _SUFFIX


def node_of(names: tuple[str, ...]) -> str | None:
    """Return the node that a certificate with these DNS names is for; None unless it is exactly one."""
    found = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return found[0] if len(found) == 1 == len(names) and is_node_name(found[0]) else None
