"""What `kubectl mend wind-down` looks at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.cli.leaders import LeaderView
from nodemend.cli.remediations import Listing, Remediation
from nodemend.decide.facts import Seen


@dataclass(frozen=True, slots=True)
class OpenFacts:
    """Every remediation of ours, over or not: each has a finalizer that only our remediator takes off."""

    listed: Listing
    leader: LeaderView
    """Of the remediator: without one nothing ends."""

    @property
    def remediations(self) -> tuple[Remediation, ...]:
        """Those that could be read."""
        return tuple(self.listed.visible)


@dataclass(frozen=True, slots=True)
class Known:
    """What the winding down itself has brought to light."""

    begun: datetime
    """When it began, by the API server's clock."""
    refused: Mapping[str, str]
    """Remediations that could not be told to end, by UID, and why."""
    switched: Mapping[str, str]
    """The nodes of hosts that remediations had to do with, by NAMESPACE/NAME of the host."""


@dataclass(frozen=True, slots=True)
class WindDownFacts:
    """Hosts, nodes, locks and the Leases that nodes have with us, read before the remediations: what one of
    these left there is seen with it."""

    hosts: Seen[list[BareMetalHost]]
    nodes: Seen[list[Node]]
    locks: Seen[list[Lease]]
    agents: Seen[list[Lease]]
    open: OpenFacts
    known: Known
