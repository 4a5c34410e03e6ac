"""How a ManualRemediation is carried out."""

from typing import ClassVar

from nodemend.api.group_versions import MANUAL_REMEDIATION, Resource
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.manual_remediation.act import request_for
from nodemend.controllers.manual_remediation.gather import Gathered, Gatherer
from nodemend.controllers.remediating.controller import Recorder, RemediationController
from nodemend.controllers.remediating.surroundings import Surroundings
from nodemend.controllers.remediating.switch_guard import SwitchGuard
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


class ManualWay:
    """By a person's word."""

    resource: ClassVar[Resource] = MANUAL_REMEDIATION
    type: ClassVar = ManualRemediation

    def __init__(
        self,
        reader: Reader,
        around: Surroundings,
        switch: SwitchGuard,
        *,
        tenure: Tenure,
        system_namespace: str,
    ) -> None:
        self._tenure = tenure
        self._namespace = system_namespace
        self._gatherer = Gatherer(reader, around, switch, system_namespace)

    async def gather(self, remediation: ManualRemediation, server_time: float | None) -> Gathered:
        return await self._gatherer.gather(remediation, server_time, self._tenure)

    def decide(self, gathered: Gathered) -> Step:
        return decide(gathered.facts)

    def tells(self, remediation: ManualRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, gathered: Gathered, step: Step, now: str) -> Request | None:
        return request_for(gathered, step, namespace=self._namespace, now=now)

    def begins(self, gathered: Gathered, step: Step) -> Seen[SwitchFacts] | None:
        return gathered.facts.switch if isinstance(step, RecordEvidence) else None

    def wrote(self, _gathered: Gathered, _step: Step, _version: str) -> None:
        """Everything is read anew anyway."""

    def refused(self, _remediation: ManualRemediation, _step: Step, _outcome: Refused) -> bool:
        return False

    def again_in(self, _hold: Hold) -> float | None:
        return None
