"""Facts of `kubectl mend wind-down`, built by hand, and one run of it in a simulated world."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.agent import Marker
from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import (
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationStatus,
    TargetHost,
)
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.api.self_remediation import SelfRemediationPhase as SelfPhase
from nodemend.api.upstream_types import (
    BareMetalHost,
    BareMetalHostSpec,
    BareMetalHostStatus,
    Lease,
    LeaseSpec,
    Node,
    NodeSpec,
    NodeTaint,
)
from nodemend.cli.cluster import Cluster, LeaderState, LeaderView
from nodemend.cli.listing import Listing
from nodemend.cli.wind_down.leftovers import Known, Leftover, OpenFacts, WindDownFacts
from nodemend.cli.wind_down.view import WindDownView, wind_down_view
from nodemend.cli.wind_down.waiting import WindDown, WindDownProgress
from nodemend.safety.facts import Absent, Present
from tests.unit.cli.simulated_caller import SimulatedCaller

WHERE: Final = "nodemend-system"
BEGUN: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
BEFORE: Final = "2026-01-31T11:00:00Z"
AFTER: Final = "2026-01-31T12:00:09Z"
ALIVE: Final = LeaderView(
    component="remediator", state=LeaderState.ALIVE, holder="remediator-0", renewed_ago=1.0
)
NO_LEADER: Final = LeaderView(component="remediator", state=LeaderState.NO_HOLDER)


def open_facts(leader: LeaderView = ALIVE, **changes: Any) -> OpenFacts:
    """A cluster without power control and without self-fencing, with these changes."""
    return OpenFacts(Listing(**{"manual": Present([]), **changes}), leader)


def facts(*, known: Known | None = None, open_: OpenFacts | None = None, **changes: Any) -> WindDownFacts:
    """A cluster without metal3 and without any of Nodemend's objects, with these changes."""
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
        finalizers=(well_known.SAFE_END,),
        deletion_timestamp=AFTER,
    )
    usual: dict[str, Any] = {
        "phase": Metal3RemediationPhase.POWER_OFF,
        "node_name": "edge-07",
        "node_uid": "uid-edge-07",
        "host": TargetHost(namespace="metal3", name="rack-7", uid="uid-rack-7"),
        "message": "Host metal3/rack-7 is being switched off. It may take 5 minutes.",
    }
    return Metal3Remediation(metadata=metadata, status=Metal3RemediationStatus(**usual | status))


def host(*held_by: str, online: bool = True, powered_on: bool | None = False) -> BareMetalHost:
    holds = {f"{well_known.POWER_OFF_REQUEST_PREFIX}{uid}": well_known.HARD_HOLD for uid in held_by}
    return BareMetalHost(
        metadata=ObjectMeta(name="rack-7", namespace="metal3", uid="uid-rack-7", annotations=holds),
        spec=BareMetalHostSpec(online=online),
        status=BareMetalHostStatus(powered_on=powered_on),
    )


def node(*, taint: str = "", revoked: bool = False) -> Node:
    taints = (
        (NodeTaint(key=well_known.OUT_OF_SERVICE, value=taint, effect=well_known.NO_EXECUTE),)
        if taint
        else ()
    )
    annotations = {well_known.RELEASE_REVOKED: "rem-1.55"} if revoked else {}
    metadata = ObjectMeta(name="edge-07", uid="uid-edge-07", annotations=annotations)
    return Node(metadata=metadata, spec=NodeSpec(taints=taints))


def marked_lease(remediation_uid: str, *, garbled: bool = False) -> Lease:
    marker = Marker(node_uid="uid-edge-07", boot_id="boot-1", remediation_uid=remediation_uid)
    text = "{" if garbled else msgspec.json.encode(marker).decode()
    metadata = ObjectMeta(
        name="edge-07",
        namespace=well_known.AGENT_NAMESPACE,
        uid="lease",
        resource_version="7",
        annotations={well_known.MARKER: text},
    )
    return Lease(metadata=metadata)


def fences_itself(**status: Any) -> SelfRemediation:
    metadata = ObjectMeta(
        name="edge-07",
        namespace=WHERE,
        uid="rem-edge-07",
        creation_timestamp=BEFORE,
        finalizers=(well_known.SAFE_END,),
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
    """One run of the command, and the lines that it printed."""

    course: WindDownProgress = field(default_factory=WindDownProgress)
    reported: list[str] = field(default_factory=list)
    left: tuple[Leftover, ...] = ()

    def by(self, caller: SimulatedCaller, wait: float = 900.0) -> WindDownView:
        async def act(cluster: Cluster) -> tuple[Leftover, ...]:
            return await WindDown(cluster, self.course, self.reported.append).run(wait)

        self.left = caller.run(act, within=wait + 60.0)
        return wind_down_view(self.course.paused_for or "", self.course.ended, self.left, WHERE)
