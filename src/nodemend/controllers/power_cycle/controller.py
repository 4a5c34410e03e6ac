"""How a Metal3Remediation is carried out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import METAL3_REMEDIATION, Resource
from nodemend.api.power_cycle import Metal3Remediation, Phase
from nodemend.controllers.power_cycle.act import request_for
from nodemend.controllers.power_cycle.gather import Gathered, Gatherer
from nodemend.controllers.remediating.controller import LOOK_SOON, Recorder, RemediationController
from nodemend.decide import host_holds
from nodemend.decide.facts import Seen
from nodemend.decide.holds import Hold
from nodemend.decide.power_cycle_phases import decide
from nodemend.decide.power_cycle_status import tells
from nodemend.decide.power_cycle_steps import AskOwner, DeleteNode, Restore, Step, WantOff
from nodemend.decide.remediation_life import Tenure
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.kube.api_outcome import Reason, Refused
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Runtime
from nodemend.telemetry.host_book import HeldFor

_FOR_GOOD = (Reason.FORBIDDEN, Reason.INVALID)

PowerController = RemediationController[Metal3Remediation, Gathered, Step]


class PowerRecorder(Recorder[Metal3Remediation, Step], Protocol):
    """Told of hosts, and of holds without their remediation, too."""

    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None: ...

    def left_behind(self, host: BareMetalHost, why_kept: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerWay:
    """By switching the node's host off and on."""

    resource: ClassVar[Resource] = METAL3_REMEDIATION
    type: ClassVar = Metal3Remediation

    runtime: Runtime
    gatherer: Gatherer
    tenure: Tenure
    system_namespace: str

    async def gather(self, remediation: Metal3Remediation, _server_time: float | None) -> Gathered:
        return await self.gatherer.gather(remediation, self.tenure)

    def decide(self, gathered: Gathered) -> Step:
        return decide(gathered.facts)

    def tells(self, remediation: Metal3Remediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, gathered: Gathered, step: Step, now: str) -> Request | None:
        return request_for(gathered, step, namespace=self.system_namespace, now=now)

    def begins(self, gathered: Gathered, step: Step) -> Seen[SwitchFacts] | None:
        """It says once more that the host shall be off when that has changed: that is no new beginning."""
        asked_for = gathered.facts.remediation.status.phase is Phase.POWER_OFF
        return gathered.facts.switch if isinstance(step, WantOff) and not asked_for else None

    def wrote(self, _gathered: Gathered, _step: Step, _version: str) -> None:
        """Everything is read anew anyway."""

    def refused(self, remediation: Metal3Remediation, step: Step, outcome: Refused) -> bool:
        """Without the right to these, nothing would change by trying again."""
        if not isinstance(step, AskOwner | DeleteNode | Restore) or outcome.reason not in _FOR_GOOD:
            return False
        uid, now = remediation.metadata.uid, self.runtime.monotonic()
        self.gatherer.refusals.note(uid, step, outcome.message, now=now)
        return True

    def again_in(self, hold: Hold) -> float | None:
        match hold.reason:
            case host_holds.BackingOff(remaining, _):
                return max(remaining, LOOK_SOON)
            case host_holds.AwaitingOff() | host_holds.OffTooFresh() | host_holds.AwaitingOn():
                return LOOK_SOON
            case _:
                return None
