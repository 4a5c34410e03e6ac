"""Everything that concerns the healing of one node, read once.

What is not installed, or not the caller's to see, is a fact like any other: no command fails for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import (
    LEASE,
    NODE,
    POD,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    VOLUME_ATTACHMENT,
)
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.remediation_order import RemediationOrder
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.workloads import Pod, VolumeAttachment
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.listed_machines import MachineListing, list_machines
from nodemend.cli.remediations import Listing, Remediation, is_open, list_remediations, node_of
from nodemend.controllers.fresh_reads import project, value_of
from nodemend.controllers.power_cycle.locate import Behind, Locator, Missing
from nodemend.controllers.remediating.locks import read_lock
from nodemend.controllers.remediating.surroundings import must_leave
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.label_match import matches
from nodemend.kube.api_request import Selection

T = TypeVar("T")
R = TypeVar("R", ManualRemediation, Metal3Remediation, SelfRemediation)

PODS: Final = "Pods"
VOLUMES: Final = "Volume attachments"
_NOTHING: Final = Absent()
_NO_HOST: Final = Missing("there is no Node to name it")
_NO_MACHINES: Final = MachineListing()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """As of `now`, by the API server's clock."""

    name: str
    now: datetime
    node: Seen[Node]
    kubelet: Seen[Lease] = _NOTHING
    agent: Seen[Lease] = _NOTHING
    """The Lease that the node has with us."""
    lock: Seen[Lease] = _NOTHING
    all_checks: Seen[list[NodeHealthCheck]] = _NOTHING
    """Also those of other nodes: one that selects it no longer may have had it remediated."""
    policy: Seen[RemediationPolicy] = _NOTHING
    """It keeps what was done for Machines."""
    order: Seen[RemediationOrder] = _NOTHING
    manual: Seen[list[ManualRemediation]] = _NOTHING
    power: Seen[list[Metal3Remediation]] = _NOTHING
    by_itself: Seen[list[SelfRemediation]] = _NOTHING
    behind: Seen[Behind] = _NOTHING
    host: Seen[BareMetalHost] | Missing = _NO_HOST
    machines: MachineListing | Unreadable = _NO_MACHINES
    pods: Seen[list[Pod]] = _NOTHING
    """Those on it that a release would wait for."""
    volumes: Seen[list[VolumeAttachment]] = _NOTHING
    """Those attached to it."""

    @property
    def checks(self) -> tuple[NodeHealthCheck, ...]:
        """Those that select it. The first by name has it."""
        node = value_of(self.node)
        if node is None:
            return ()
        found = [
            one for one in value_of(self.all_checks) or () if matches(one.spec.selector, node.metadata.labels)
        ]
        return tuple(sorted(found, key=lambda one: one.metadata.name))

    @property
    def remediations(self) -> tuple[Remediation, ...]:
        """Those of it, of our kinds: what is under way first, then the newest first."""
        found = Listing(self.manual, self.power, self.by_itself).visible
        found.sort(key=lambda one: one.metadata.creation_timestamp, reverse=True)
        return tuple(sorted(found, key=lambda one: not is_open(one)))

    @property
    def unread(self) -> dict[str, str]:
        """What could not be read, and why. What is not installed is no part of it."""
        named: dict[str, object] = {
            "The Node": self.node,
            "The kubelet's Lease": self.kubelet,
            "Its agent's Lease": self.agent,
            "The lock on the node": self.lock,
            "Health checks": self.all_checks,
            "The RemediationPolicy": self.policy,
            "Orders": self.order,
            "ManualRemediations": self.manual,
            "Metal3Remediations": self.power,
            "SelfRemediations": self.by_itself,
            "Its Machine": self.behind,
            "Its BareMetalHost": self.host,
            "Machines": self.machines,
            PODS: self.pods,
            VOLUMES: self.volumes,
        }
        return {what: fact.why for what, fact in named.items() if isinstance(fact, Unreadable)}

    def spell_unread(self, *but: str) -> tuple[str, ...]:
        """Those sentences, without what does not matter to the reader."""
        return tuple(f"{what} cannot be read: {why}." for what, why in self.unread.items() if what not in but)


async def gather_case(cluster: Cluster, name: str) -> NodeCase:
    """Writes nothing. Raises CommandFailure where nothing is known of such a node."""
    node = await cluster.find(NODE, name, Node)
    listed = await list_remediations(cluster)
    mine = Listing(_about(name, listed.manual), _about(name, listed.power), _about(name, listed.by_itself))
    asked = mine.visible
    if isinstance(node, Absent) and not asked:
        raise CommandFailure(ExitCode.WRONG, f"there is no node {name}.", "kubectl get nodes")
    known, locate = value_of(node), Locator(cluster.reader)
    behind = await _behind(locate, known, asked)
    return NodeCase(
        name=name,
        node=node,
        kubelet=await cluster.find(LEASE, name, Lease, keys.KUBELET_LEASE_NAMESPACE),
        agent=await cluster.find(LEASE, name, Lease, keys.AGENT_NAMESPACE),
        lock=await read_lock(cluster.reader, cluster.system_namespace, _uid(known, asked)),
        all_checks=await cluster.health_checks(),
        policy=await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy),
        order=await cluster.find(REMEDIATION_ORDER, name, RemediationOrder),
        manual=mine.manual,
        power=mine.power,
        by_itself=mine.by_itself,
        behind=behind,
        host=await _host(locate, behind, known, asked),
        machines=await list_machines(cluster),
        pods=_only(await cluster.all(POD, Pod, Selection(fields=f"spec.nodeName={name}")), must_leave),
        volumes=_only(
            await cluster.all(VOLUME_ATTACHMENT, VolumeAttachment), lambda one: one.spec.node_name == name
        ),
        now=cluster.now,
    )


def _about(name: str, found: Seen[list[R]]) -> Seen[list[R]]:
    return _only(found, lambda one: node_of(one) == name)


def _only(found: Seen[list[T]], wanted: Callable[[T], bool]) -> Seen[list[T]]:
    return project(found, lambda listed: [one for one in listed if wanted(one)])


def _uid(node: Node | None, asked: Sequence[Remediation]) -> str:
    """Of the very Node, also where only its remediation remembers it."""
    if node is not None:
        return node.metadata.uid
    return next((one.status.node_uid for one in asked if one.status.node_uid), "")


async def _behind(locate: Locator, node: Node | None, asked: Sequence[Remediation]) -> Seen[Behind]:
    """By the Node where it says so, else by the Machine that a remediation belongs to."""
    found: Seen[Behind] = await locate.behind_node(node) if node is not None else _NOTHING
    for one in asked:
        if not isinstance(found, Absent):
            break
        found = await locate.behind_remediation(one.metadata)
    return found


async def _host(
    locate: Locator, behind: Seen[Behind], node: Node | None, asked: Sequence[Remediation]
) -> Seen[BareMetalHost] | Missing:
    """The one that a power cycle has in its hands, else the one that the Machine or the node names."""
    held = (one.status.host for one in asked if isinstance(one, Metal3Remediation) and is_open(one))
    for host in held:
        if host is not None:
            return await locate.known_host(host)
    if isinstance(behind, Unreadable):
        return behind
    return await locate.host(value_of(behind), node)


def open_remediation(case: NodeCase) -> Remediation | None:
    """The one under way; of several the newest."""
    return next(filter(is_open, case.remediations), None)


def is_ready(case: NodeCase) -> bool:
    return isinstance(case.node, Present) and case.node.value.ready == "True"
