"""Reads the objects that concern the remediation of one node, each once.

An object that is not installed, or that the caller may not read, is recorded as such, and the other objects
are still read. A cluster that does not serve NodeHealthChecks ends the command: Nodemend is not installed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api import well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationOrder, RemediationPolicy
from nodemend.api.resources import LEASE, NODE, POD, REMEDIATION_ORDER, VOLUME_ATTACHMENT
from nodemend.api.self_remediation import SelfRemediation
from nodemend.api.upstream_types import BareMetalHost, Lease, Node, Pod, VolumeAttachment
from nodemend.cli.cluster import Cluster, spell_unread
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.listing import (
    AnyRemediation,
    Listing,
    MachineListing,
    is_open,
    list_machines,
    list_remediations,
    node_of,
)
from nodemend.kube.request import Selection
from nodemend.records.live_reads import project, value_of
from nodemend.remediation.metal3.host_lookup import Locator, MachineRef, NoMachine
from nodemend.remediation.node_state import must_leave
from nodemend.remediation.writes import read_lock
from nodemend.rules.request import matches
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable

T = TypeVar("T")
R = TypeVar("R", ManualRemediation, Metal3Remediation, SelfRemediation)

PODS: Final = "Pods"
VOLUMES: Final = "Volume attachments"
_NOTHING: Final = Absent()
_NO_HOST: Final = NoMachine("there is no Node to name it")
_NO_MACHINES: Final = MachineListing()
_NO_REMEDIATIONS: Final = Listing()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCase:
    """The objects around one node at `now`, by the API server's clock."""

    name: str
    now: datetime
    node: ReadResult[Node]
    kubelet: ReadResult[Lease] = _NOTHING
    agent: ReadResult[Lease] = _NOTHING
    """The node's agent Lease."""
    lock: ReadResult[Lease] = _NOTHING
    all_checks: ReadResult[list[NodeHealthCheck]] = _NOTHING
    """Includes checks of other nodes: a check that no longer selects this node may have remediated it."""
    policy: ReadResult[RemediationPolicy] = _NOTHING
    """Its status keeps the history of Machine remediations."""
    order: ReadResult[RemediationOrder] = _NOTHING
    listed: Listing = _NO_REMEDIATIONS
    behind: ReadResult[MachineRef] = _NOTHING
    host: ReadResult[BareMetalHost] | NoMachine = _NO_HOST
    machines: MachineListing | Unreadable = _NO_MACHINES
    pods: ReadResult[list[Pod]] = _NOTHING
    """Pods on the node that a release waits for."""
    volumes: ReadResult[list[VolumeAttachment]] = _NOTHING
    """Attachments to the node."""

    @property
    def checks(self) -> tuple[NodeHealthCheck, ...]:
        """Checks that select the node, sorted by name. The first one owns the node."""
        node = value_of(self.node)
        if node is None:
            return ()
        found = [
            one for one in value_of(self.all_checks) or () if matches(one.spec.selector, node.metadata.labels)
        ]
        return tuple(sorted(found, key=lambda one: one.metadata.name))

    @property
    def remediations(self) -> tuple[AnyRemediation, ...]:
        """Nodemend's remediations of the node: open ones first, then the newest first."""
        newest = sorted(self.listed.visible, key=lambda one: one.metadata.creation_timestamp, reverse=True)
        return tuple(sorted(newest, key=lambda one: not is_open(one)))

    def spell_unread(self, *but: str) -> tuple[str, ...]:
        """Return a sentence for each unreadable object, except those named in `but`.

        Objects that are not installed are not included.
        """
        facts: dict[str, object] = {
            "The Node": self.node,
            "The kubelet's Lease": self.kubelet,
            "Its agent's Lease": self.agent,
            "The lock on the node": self.lock,
            "Health checks": self.all_checks,
            "The RemediationPolicy": self.policy,
            "Orders": self.order,
            **self.listed.by_kind,
            "Its Machine": self.behind,
            "Its BareMetalHost": self.host,
            "Machines": self.machines,
            PODS: self.pods,
            VOLUMES: self.volumes,
        }
        return spell_unread({what: fact for what, fact in facts.items() if what not in but})


async def gather_case(cluster: Cluster, name: str) -> NodeCase:
    """Read the objects.

    Writes nothing. Raises CommandFailure if there is neither a Node nor a remediation.
    """
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
        kubelet=await cluster.find(LEASE, name, Lease, well_known.KUBELET_LEASE_NAMESPACE),
        agent=await cluster.find(LEASE, name, Lease, well_known.AGENT_NAMESPACE),
        lock=await read_lock(cluster.reader, cluster.system_namespace, _uid(known, asked)),
        all_checks=await cluster.health_checks(),
        policy=await cluster.policy(),
        order=await cluster.find(REMEDIATION_ORDER, name, RemediationOrder),
        listed=mine,
        behind=behind,
        host=await _host(locate, behind, known, asked),
        machines=await list_machines(cluster),
        pods=_only(await cluster.all(POD, Pod, Selection(fields=f"spec.nodeName={name}")), must_leave),
        volumes=_only(
            await cluster.all(VOLUME_ATTACHMENT, VolumeAttachment), lambda one: one.spec.node_name == name
        ),
        now=cluster.now,
    )


def _about(name: str, found: ReadResult[list[R]]) -> ReadResult[list[R]]:
    return _only(found, lambda one: node_of(one) == name)


def _only(found: ReadResult[list[T]], wanted: Callable[[T], bool]) -> ReadResult[list[T]]:
    return project(found, lambda listed: [one for one in listed if wanted(one)])


def _uid(node: Node | None, asked: Sequence[AnyRemediation]) -> str:
    """UID of the Node. If the Node was deleted, the UID from its remediation's status."""
    if node is not None:
        return node.metadata.uid
    return next((one.status.node_uid for one in asked if one.status.node_uid), "")


async def _behind(
    locate: Locator, node: Node | None, asked: Sequence[AnyRemediation]
) -> ReadResult[MachineRef]:
    """Find the Machine by the Node; if that does not name one, by the owner of a remediation."""
    found: ReadResult[MachineRef] = await locate.behind_node(node) if node is not None else _NOTHING
    for one in asked:
        if not isinstance(found, Absent):
            break
        found = await locate.behind_remediation(one.metadata)
    return found


async def _host(
    locate: Locator, behind: ReadResult[MachineRef], node: Node | None, asked: Sequence[AnyRemediation]
) -> ReadResult[BareMetalHost] | NoMachine:
    """Return the host of an open power cycle; without one, the host that the Machine or the node names."""
    held = (one.status.host for one in asked if isinstance(one, Metal3Remediation) and is_open(one))
    for host in held:
        if host is not None:
            return await locate.known_host(host)
    if isinstance(behind, Unreadable):
        return behind
    return await locate.host(value_of(behind), node)


def open_remediation(case: NodeCase) -> AnyRemediation | None:
    """Return the open remediation; the newest if there are several."""
    return next(filter(is_open, case.remediations), None)


def is_ready(case: NodeCase) -> bool:
    return isinstance(case.node, Present) and case.node.value.ready == "True"
