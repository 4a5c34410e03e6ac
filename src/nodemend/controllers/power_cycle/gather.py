"""All facts about one Metal3Remediation, read fresh."""

from dataclasses import dataclass
from typing import Final

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.capm3_remediation import Capm3Remediation
from nodemend.api.group_versions import CAPM3_REMEDIATION
from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import HeldHost, Metal3Remediation, Phase
from nodemend.controllers.fresh_reads import Reader, node_facts, project, seen, value_of
from nodemend.controllers.power_cycle.hand_over import machine_facts
from nodemend.controllers.power_cycle.host_reading import host_clues, host_facts, is_held
from nodemend.controllers.power_cycle.locate import Behind, Locator, Missing
from nodemend.controllers.power_cycle.node_deletion import belongings_of
from nodemend.controllers.power_cycle.power_off_events import read_power_offs
from nodemend.controllers.power_cycle.refusals import Refusable, Refusals
from nodemend.controllers.remediating.grounds import grounds_of
from nodemend.controllers.remediating.locks import held_by, is_ours, read_lock
from nodemend.controllers.remediating.node_claims import Claims
from nodemend.controllers.remediating.node_names import is_machine, node_clues
from nodemend.controllers.remediating.surroundings import NOT_ASKED, Surroundings, void_mark
from nodemend.controllers.remediating.switch_guard import Question, SwitchGuard
from nodemend.controllers.sightings import Sightings
from nodemend.decide.facts import Absent, LeaseFacts, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.host_identity import Clues, Identity, Unproven, claims, identify
from nodemend.decide.host_power import HostFacts
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_steps import AskOwner, DeleteNode, Restore
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.remediation_steps import Left
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.kube.machine_dialect import CLUSTER_API

_OVER: Final = (
    Phase.POWER_ON,
    Phase.CONTRADICTED,
    Phase.DELETING_MACHINE,
    Phase.SUCCEEDED,
    Phase.FAILED,
)
"""Phases from which no host is switched off in the same pass."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, and the objects whose versions the writes will name."""

    facts: PowerFacts
    node: Node | None
    lock: Lease | None
    host: BareMetalHost | None
    behind: Behind | None

    @property
    def lock_uid(self) -> str:
        """Whose lock it is: the node's, or the host's where there is no node."""
        return lock_uid(self.facts.remediation)


class Gatherer:
    """Reads the Node before its host, its Lease and its pods.

    Whatever happens to the Node after that voids what the later reads allow.
    """

    def __init__(
        self,
        reader: Reader,
        around: Surroundings,
        claims_of_nodes: Claims,
        switch: SwitchGuard,
        system_namespace: str,
        *,
        may_delete_nodes: bool,
    ) -> None:
        self._reader = reader
        self._claims = claims_of_nodes
        self._switch = switch
        self._namespace = system_namespace
        self._may_delete_nodes = may_delete_nodes
        self._around = around
        self._locate = Locator(reader)
        self._phases = Sightings()
        self._hosts = Sightings()
        self.refusals = Refusals()

    async def gather(self, remediation: Metal3Remediation, tenure: Tenure) -> Gathered:
        metadata, status = remediation.metadata, remediation.status
        behind = await self._locate.behind_remediation(metadata)
        node = await self._node(remediation, behind)
        if isinstance(behind, Absent) and isinstance(node, Present):
            behind = await self._locate.behind_node(node.value)
        asked_at = self._reader.runtime.monotonic()
        host = await self._host(status.host, behind, value_of(node))
        answered_at = self._reader.runtime.monotonic()
        lock = await read_lock(self._reader, self._namespace, lock_uid(remediation))
        known = host.value if isinstance(host, Present) else None
        policy = await self._reader.policy()
        node_name = node.value.metadata.name if isinstance(node, Present) else status.node_name
        lease = await self._lease(node_name)
        held = await held_by(self._reader, lock, metadata)
        facts = PowerFacts(
            remediation=remediation,
            epoch=tenure.epoch,
            remembers_from=tenure.remembers_from,
            node=project(node, node_facts),
            void_mark=void_mark(node),
            belongings=value_of(project(node, belongings_of)),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, node, known, lease, policy)
            if is_ours(held)
            else NOT_ASKED,
            left=await self._left(node, remediation),
            host=_seen_host(host, metadata.uid),
            host_missing=host.why if isinstance(host, Missing) else "",
            identity=self._identity(known, value_of(node), value_of(behind), remediation),
            machine=project(
                behind,
                lambda found: machine_facts(
                    found, known, value_of(policy), self._refused(metadata.uid, AskOwner)
                ),
            ),
            in_phase_for=self._in_phase_for(remediation, known),
            host_unchanged_for=self._unchanged_for(known, asked_at, answered_at),
            power_offs=await read_power_offs(self._reader, known, remediation),
            unasked=await self._unasked(metadata),
            may_delete_nodes=self._may_delete_nodes,
            deletion_refused=self._refused(metadata.uid, DeleteNode),
            restore_refused=self._refused(metadata.uid, Restore),
        )
        return Gathered(facts, value_of(node), value_of(lock), known, value_of(behind))

    async def _node(self, remediation: Metal3Remediation, behind: Seen[Behind]) -> Seen[Node]:
        if isinstance(behind, Unreadable):
            return behind
        name = remediation.status.node_name
        if not name and isinstance(behind, Present):
            name = behind.value.machine.node
        elif not name:
            metadata = remediation.metadata
            name = metadata.annotations.get(keys.NODE_OF_REMEDIATION, metadata.name)
        return await self._reader.node(name) if name else Absent()

    async def _host(
        self, held: HeldHost | None, behind: Seen[Behind], node: Node | None
    ) -> Seen[BareMetalHost] | Missing:
        if held is not None:
            return await self._locate.known_host(held)
        if isinstance(behind, Unreadable):
            return behind
        return await self._locate.host(value_of(behind), node)

    async def _left(self, node: Seen[Node], remediation: Metal3Remediation) -> Seen[Left]:
        """Also by the name of a Node that has vanished: another may come by it, and find its pods."""
        status = remediation.status
        if isinstance(node, Absent) and status.node_name and not status.released:
            return await self._around.left_on(status.node_name, None)
        return await self._around.left(node)

    async def _ask_switch(
        self,
        remediation: Metal3Remediation,
        node: Seen[Node],
        host: BareMetalHost | None,
        lease: Seen[LeaseFacts],
        policy: Seen[PolicyFacts],
    ) -> Seen[SwitchFacts]:
        """Asked only as long as the host might be held."""
        metadata, status = remediation.metadata, remediation.status
        over = status.phase in _OVER or status.released or metadata.deleting
        if over or is_held(host, metadata.uid) or isinstance(node, Unreadable):
            return NOT_ASKED
        found = value_of(node)
        question = Question(
            uid=metadata.uid,
            name=found.metadata.name if found is not None else status.node_name,
            node=found,
            lease=lease,
            policy=policy,
            grounds=await grounds_of(self._reader, metadata, found),
            begun=status.phase is Phase.POWER_OFF,
            members=self._around.control_plane,
        )
        return await self._switch.ask(question)

    async def _lease(self, node: str) -> Seen[LeaseFacts]:
        return await self._around.kubelet_lease(node) if node else NOT_ASKED

    async def _unasked(self, metadata: ObjectMeta) -> str:
        """A stand-in that is made late must not switch off what nobody wants off any more."""
        stands_for = metadata.annotations.get(keys.STAND_IN_FOR)
        if stands_for is None:
            return ""
        match seen(
            await self._reader.get(CAPM3_REMEDIATION, metadata.name, Capm3Remediation, metadata.namespace)
        ):
            case Unreadable(why):
                return why
            case Present(theirs) if theirs.metadata.uid == stands_for and not theirs.metadata.deleting:
                return ""
            case _:
                return "it is gone, or going"

    def _identity(
        self,
        host: BareMetalHost | None,
        node: Node | None,
        behind: Behind | None,
        remediation: Metal3Remediation,
    ) -> Identity:
        if host is None:
            return Unproven("there is no host")
        status, owners = remediation.status, remediation.metadata.owner_references
        group = behind.resource.group if behind else CLUSTER_API
        clues = Clues(
            host=host_clues(host),
            node=node_clues(node, group) if node else None,
            machine=behind.clues if behind else None,
            asked_uid=next((owner.uid for owner in owners if is_machine(owner)), ""),
            recorded=bool(status.node_uid) and status.host is not None,
        )
        others = self._claims.others(claims(clues), node.metadata.name if node else status.node_name)
        return identify(clues, others)

    def _refused(self, uid: str, step: type[Refusable]) -> str:
        return self.refusals.find(uid, step, now=self._reader.runtime.monotonic())

    def _in_phase_for(self, remediation: Metal3Remediation, host: BareMetalHost | None) -> float:
        """The wait for power to come back begins anew when our hold is gone, and when the end has come."""
        status, metadata = remediation.status, remediation.metadata
        held = is_held(host, metadata.uid)
        now, ending = self._reader.runtime.monotonic(), metadata.deleting or status.released
        what = (status.phase, status.retry_count, metadata.deleting, held if ending else None)
        return self._phases.unchanged_for(metadata.uid, what, asked_at=now, answered_at=now)

    def _unchanged_for(self, host: BareMetalHost | None, asked_at: float, answered_at: float) -> float:
        if host is None:
            return 0.0
        what = host.metadata.resource_version
        return self._hosts.unchanged_for(host.metadata.uid, what, asked_at=asked_at, answered_at=answered_at)


def lock_uid(remediation: Metal3Remediation) -> str:
    status = remediation.status
    return status.node_uid or (status.host.uid if status.host else "")


def _seen_host(host: Seen[BareMetalHost] | Missing, uid: str) -> Seen[HostFacts]:
    return Absent() if isinstance(host, Missing) else project(host, lambda found: host_facts(found, uid))
