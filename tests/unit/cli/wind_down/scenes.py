"""What `kubectl mend wind-down` finds, built by hand, and one run of it in a simulated world."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from nodemend.api import keys
from nodemend.api.agent_lease import Marker
from nodemend.api.bare_metal_host import BareMetalHost, BareMetalHostSpec, BareMetalHostStatus
from nodemend.api.lease import Lease, LeaseSpec
from nodemend.api.node import Node, NodeSpec, NodeTaint
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import HeldHost, Metal3Remediation, Metal3RemediationStatus, Phase
from nodemend.api.self_remediation import Phase as SelfPhase
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.cli.cluster import Cluster
from nodemend.cli.leaders import LeaderState, LeaderView
from nodemend.cli.remediations import Listing
from nodemend.cli.wind_down.facts import Known, OpenFacts, WindDownFacts
from nodemend.cli.wind_down.leftovers import Leftover
from nodemend.cli.wind_down.view import WindDownView, wind_down_view
from nodemend.cli.wind_down.waiting import Course, WindDown
from nodemend.decide.facts import Absent, Present
from tests.unit.cli.simulated_caller import SimulatedCaller

WHERE: Final = "nodemend-system"
BEGUN: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
BEFORE: Final = "2026-01-31T11:00:00Z"
AFTER: Final = "2026-01-31T12:00:09Z"
ALIVE: Final = LeaderView(
    component="remediator", state=LeaderState.ALIVE, holder="remediator-0", renewed_ago=1.0
)
NOBODY: Final = LeaderView(component="remediator", state=LeaderState.NOBODY)


def open_facts(leader: LeaderView = ALIVE, **changes: Any) -> OpenFacts:
    """A cluster in which hosts are not switched and nodes do not fence themselves, but for the changes."""
    return OpenFacts(Listing(**{"manual": Present([]), **changes}), leader)


def facts(*, known: Known | None = None, open_: OpenFacts | None = None, **changes: Any) -> WindDownFacts:
    """A cluster without metal3 in which nothing of ours is left, but for the changes."""
    usual: dict[str, Any] = {
        "hosts": Absent(),
        "nodes": Present([]),
        "locks": Present([]),
        "agents": Present([]),
    }
    return WindDownFacts(
        **usual | changes, open=open_ or open_facts(), known=known or Known(BEGUN, refused={}, switched={})
    )


def power_cycle(name: str, *, created: str = BEFORE, **status: Any) -> Metal3Remediation:
    metadata = ObjectMeta(
        name=name,
        namespace="metal3",
        uid=f"rem-{name}",
        creation_timestamp=created,
        finalizers=(keys.SAFE_END,),
        deletion_timestamp=AFTER,
    )
    usual: dict[str, Any] = {
        "phase": Phase.POWER_OFF,
        "node_name": "edge-07",
        "node_uid": "uid-edge-07",
        "host": HeldHost(namespace="metal3", name="rack-7", uid="uid-rack-7"),
        "message": "Host metal3/rack-7 is being switched off. It may take 5 minutes.",
    }
    return Metal3Remediation(metadata=metadata, status=Metal3RemediationStatus(**usual | status))


def host(*held_by: str, online: bool = True, powered_on: bool | None = False) -> BareMetalHost:
    holds = {f"{keys.OUR_HOLD_PREFIX}{uid}": keys.HARD_HOLD for uid in held_by}
    return BareMetalHost(
        metadata=ObjectMeta(name="rack-7", namespace="metal3", uid="uid-rack-7", annotations=holds),
        spec=BareMetalHostSpec(online=online),
        status=BareMetalHostStatus(powered_on=powered_on),
    )


def node(*, taint: str = "", voided: bool = False) -> Node:
    taints = (NodeTaint(key=keys.OUT_OF_SERVICE, value=taint, effect=keys.NO_EXECUTE),) if taint else ()
    annotations = {keys.RELEASE_VOIDED: "rem-1.55"} if voided else {}
    metadata = ObjectMeta(name="edge-07", uid="uid-edge-07", annotations=annotations)
    return Node(metadata=metadata, spec=NodeSpec(taints=taints))


def marked_lease(remediation_uid: str, *, garbled: bool = False) -> Lease:
    marker = Marker(node_uid="uid-edge-07", boot_id="boot-1", remediation_uid=remediation_uid)
    text = "{" if garbled else msgspec.json.encode(marker).decode()
    metadata = ObjectMeta(
        name="edge-07",
        namespace=keys.AGENT_NAMESPACE,
        uid="lease",
        resource_version="7",
        annotations={keys.MARKER: text},
    )
    return Lease(metadata=metadata)


def fences_itself(**status: Any) -> SelfRemediation:
    metadata = ObjectMeta(
        name="edge-07",
        namespace=WHERE,
        uid="rem-edge-07",
        creation_timestamp=BEFORE,
        finalizers=(keys.SAFE_END,),
        deletion_timestamp=AFTER,
    )
    usual = {"phase": SelfPhase.FENCING, "node_uid": "uid-edge-07", "boot_id": "boot-1", **status}
    return SelfRemediation(metadata=metadata, status=SelfRemediationStatus(**usual))


def lock(holder: str) -> Lease:
    return Lease(
        metadata=ObjectMeta(name="node-uid-edge-07", namespace=WHERE), spec=LeaseSpec(holder_identity=holder)
    )


@dataclass
class Run:
    """One run of the command, and what it told on the way."""

    course: Course = field(default_factory=Course)
    told: list[str] = field(default_factory=list)
    left: tuple[Leftover, ...] = ()

    def by(self, caller: SimulatedCaller, wait: float = 900.0) -> WindDownView:
        async def act(cluster: Cluster) -> tuple[Leftover, ...]:
            return await WindDown(cluster, self.course, self.told.append).run(wait)

        self.left = caller.run(act, within=wait + 60.0)
        return wind_down_view(self.course.paused_for or "", self.course.ended, self.left, WHERE)
