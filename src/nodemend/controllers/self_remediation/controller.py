"""How a SelfRemediation is carried out."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from nodemend.api.group_versions import SELF_REMEDIATION, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.controllers.remediating.controller import LOOK_SOON, Recorder, RemediationController
from nodemend.controllers.self_remediation.act import request_for
from nodemend.controllers.self_remediation.gather import Gathered, Gatherer
from nodemend.decide import fencing_holds
from nodemend.decide.facts import Seen
from nodemend.decide.holds import Hold
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.self_remediation import decide
from nodemend.decide.self_remediation_status import tells
from nodemend.decide.self_remediation_steps import BeginFencing, NoteProgress, Step
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.kube.api_outcome import Refused
from nodemend.kube.api_request import Request

SelfRecorder = Recorder[SelfRemediation, Step]


class FencingRecorder(Recorder[SelfRemediation, Step], Protocol):
    def agents_seen(self, reporting: int, silent: int) -> None:
        """So many agents report, and so many are silent though their nodes are Ready."""
        ...


SelfController = RemediationController[SelfRemediation, Gathered, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfWay:
    """By the node's own watchdog."""

    resource: ClassVar[Resource] = SELF_REMEDIATION
    type: ClassVar = SelfRemediation

    gatherer: Gatherer
    tenure: Tenure
    system_namespace: str

    async def gather(self, remediation: SelfRemediation, _server_time: float | None) -> Gathered:
        return await self.gatherer.gather(remediation, self.tenure)

    def decide(self, gathered: Gathered) -> Step:
        return decide(gathered.facts)

    def tells(self, remediation: SelfRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, gathered: Gathered, step: Step, now: str) -> Request | None:
        return request_for(gathered, step, namespace=self.system_namespace, now=now)

    def begins(self, gathered: Gathered, step: Step) -> Seen[SwitchFacts] | None:
        return gathered.facts.switch if isinstance(step, BeginFencing) else None

    def wrote(self, gathered: Gathered, step: Step, version: str) -> None:
        if isinstance(step, NoteProgress):
            self.gatherer.counted(gathered, version)

    def refused(self, _remediation: SelfRemediation, _step: Step, _outcome: Refused) -> bool:
        return False

    def again_in(self, hold: Hold) -> float | None:
        """Peers are covered only for some seconds after each look; a new boot is told by nothing else."""
        match hold.reason:
            case fencing_holds.Proving() | fencing_holds.NoTimeProof():
                return LOOK_SOON
            case _:
                return None
