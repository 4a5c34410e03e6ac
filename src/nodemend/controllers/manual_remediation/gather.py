"""All facts about one ManualRemediation, read fresh."""

from dataclasses import dataclass

from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node import Node
from nodemend.controllers.fresh_reads import Reader, node_facts, project, value_of
from nodemend.controllers.manual_remediation.observations import word_age
from nodemend.controllers.remediating.grounds import grounds_of
from nodemend.controllers.remediating.locks import held_by, is_ours, read_lock
from nodemend.controllers.remediating.surroundings import NOT_ASKED, Surroundings, void_mark
from nodemend.controllers.remediating.switch_guard import Question, SwitchGuard
from nodemend.controllers.sightings import Sightings
from nodemend.decide.facts import LeaseFacts, PolicyFacts, Seen
from nodemend.decide.manual_remediation import ManualFacts
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.switch_guard import SwitchFacts, may_release


@dataclass(frozen=True, slots=True)
class Gathered:
    """The facts, and the objects whose versions the writes will name."""

    facts: ManualFacts
    node: Node | None
    lock: Lease | None


class Gatherer:
    """Reads the Node first: whatever happens to it after that voids what the later reads allow."""

    def __init__(
        self, reader: Reader, around: Surroundings, switch: SwitchGuard, system_namespace: str
    ) -> None:
        self._reader = reader
        self._switch = switch
        self._system_namespace = system_namespace
        self._around = around
        self._words = Sightings()

    async def gather(
        self, remediation: ManualRemediation, server_time: float | None, tenure: Tenure
    ) -> Gathered:
        now = self._reader.runtime.monotonic()
        metadata, status = remediation.metadata, remediation.status
        node = await self._reader.node(metadata.name)
        lock = await read_lock(self._reader, self._system_namespace, status.node_uid)
        undecided = remediation.spec.confirmation is not None and not status.released
        lease = await self._around.kubelet_lease(metadata.name)
        held = await held_by(self._reader, lock, metadata)
        policy = await self._reader.policy() if undecided else NOT_ASKED
        facts = ManualFacts(
            remediation=remediation,
            epoch=tenure.epoch,
            remembers_from=tenure.remembers_from,
            remembers_for=now - tenure.remembers_since,
            node=project(node, node_facts),
            void_mark=void_mark(node),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, value_of(node), lease, policy)
            if undecided and is_ours(held)
            else NOT_ASKED,
            left=await self._around.left(node),
            word_age=word_age(remediation, server_time, self._words, now),
        )
        return Gathered(facts, value_of(node), value_of(lock))

    async def _ask_switch(
        self,
        remediation: ManualRemediation,
        node: Node | None,
        lease: Seen[LeaseFacts],
        policy: Seen[PolicyFacts],
    ) -> Seen[SwitchFacts]:
        """Before evidence is recorded. The control plane is not asked: the machine is off already."""
        metadata = remediation.metadata
        if remediation.status.evidence is not None:
            return NOT_ASKED
        question = Question(
            uid=metadata.uid,
            name=metadata.name,
            node=node,
            lease=lease,
            policy=policy,
            grounds=await grounds_of(self._reader, metadata, node),
            asks=may_release,
        )
        return await self._switch.ask(question)
