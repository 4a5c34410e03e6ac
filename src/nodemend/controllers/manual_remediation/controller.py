"""How a ManualRemediation is carried out."""

from dataclasses import dataclass
from typing import ClassVar

from nodemend.api.group_versions import MANUAL_REMEDIATION, Resource
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.controllers.manual_remediation.act import request_for
from nodemend.controllers.manual_remediation.gather import Gathered, Gatherer
from nodemend.controllers.remediating.controller import Recorder, RemediationController
from nodemend.decide.facts import Seen
from nodemend.decide.holds import Hold
from nodemend.decide.manual_remediation import decide
from nodemend.decide.manual_remediation_status import tells
from nodemend.decide.manual_remediation_steps import Step
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.remediation_steps import RecordEvidence
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.kube.api_outcome import Refused
from nodemend.kube.api_request import Request

ManualRecorder = Recorder[ManualRemediation, Step]
ManualController = RemediationController[ManualRemediation, Gathered, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualWay:
    """By a person's word."""

    resource: ClassVar[Resource] = MANUAL_REMEDIATION
    type: ClassVar = ManualRemediation

    gatherer: Gatherer
    tenure: Tenure
    system_namespace: str

    async def gather(self, remediation: ManualRemediation, server_time: float | None) -> Gathered:
        return await self.gatherer.gather(remediation, server_time, self.tenure)

    def decide(self, gathered: Gathered) -> Step:
        return decide(gathered.facts)

    def tells(self, remediation: ManualRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, gathered: Gathered, step: Step, now: str) -> Request | None:
        return request_for(gathered, step, namespace=self.system_namespace, now=now)

    def begins(self, gathered: Gathered, step: Step) -> Seen[SwitchFacts] | None:
        return gathered.facts.switch if isinstance(step, RecordEvidence) else None

    def wrote(self, _gathered: Gathered, _step: Step, _version: str) -> None:
        """Everything is read anew anyway."""

    def refused(self, _remediation: ManualRemediation, _step: Step, _outcome: Refused) -> bool:
        return False

    def again_in(self, _hold: Hold) -> float | None:
        return None
