"""Gather, decide, act: at most one write a pass, and the next pass reads everything anew."""

from typing import Protocol

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import METAL3_REMEDIATION
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.timestamps import print_time
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.power_cycle.act import request_for
from nodemend.controllers.power_cycle.gather import Gathered, Gatherer
from nodemend.controllers.remediating.outcomes import AT_ONCE, LOOK_AGAIN, LOOK_SOON, after_write
from nodemend.decide import holds, host_holds
from nodemend.decide.holds import Hold
from nodemend.decide.power_cycle_phases import decide
from nodemend.decide.power_cycle_status import tells
from nodemend.decide.power_cycle_steps import AskOwner, Step
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry


class Recorder(Protocol):
    """Told of every step that was taken and every hold, for events, logs and metrics."""

    def took(self, remediation: Metal3Remediation, step: Step) -> None: ...

    def held(self, remediation: Metal3Remediation, hold: Hold) -> None: ...

    def left_behind(self, host: BareMetalHost, why_kept: str) -> None: ...


class PowerCycleController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(
        self, reader: Reader, client: ApiClient, recorder: Recorder, *, epoch: int, system_namespace: str
    ) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._epoch = epoch
        self._namespace = system_namespace
        self._gatherer = Gatherer(reader, system_namespace)

    async def reconcile(self, key: tuple[str, str]) -> Outcome:
        namespace, name = key
        outcome = await self._reader.get(METAL3_REMEDIATION, name, Metal3Remediation, namespace)
        match outcome:
            case Ok(remediation):
                gathered = await self._gatherer.gather(remediation, self._epoch)
                return await self._act(gathered, decide(gathered.facts))
            case Refused(reason=Reason.NOT_FOUND):
                return Done()
            case failure:
                return Retry(str(failure))

    async def _act(self, gathered: Gathered, step: Step) -> Outcome:
        remediation = gathered.facts.remediation
        if isinstance(step, Hold):
            self._recorder.held(remediation, step)
            if isinstance(step.reason, holds.Deposed):
                return Done()
            if tells(remediation.status, step):
                return RequeueAfter(_again_in(step))
        now = print_time(self._reader.runtime.wall())
        request = request_for(gathered, step, namespace=self._namespace, now=now)
        if request is None:
            return Done()
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        outcome = await self._client.write(request, Acknowledged, deadline=deadline)
        if isinstance(outcome, Ok) and not isinstance(step, Hold):
            self._recorder.took(remediation, step)
        if isinstance(step, AskOwner) and isinstance(outcome, Refused) and outcome.reason is Reason.FORBIDDEN:
            # Nothing that is looked at again would change that: the next look gives the machine up.
            self._gatherer.refusals[remediation.metadata.uid] = outcome.message
            return AT_ONCE
        then = RequeueAfter(_again_in(step)) if isinstance(step, Hold) else AT_ONCE
        return after_write(outcome, then)


def _again_in(hold: Hold) -> float:
    """Watches wake us for what we watch; the rest is looked at again."""
    match hold.reason:
        case holds.KubeletSpeaks(silent_for, needed):
            return min(LOOK_AGAIN, max(needed - silent_for, LOOK_SOON))
        case host_holds.BackingOff(remaining, _):
            return max(remaining, LOOK_SOON)
        case (
            holds.WorkloadsLeaving()
            | holds.CannotRead()
            | host_holds.AwaitingOff()
            | host_holds.OffTooFresh()
            | host_holds.AwaitingOn()
        ):
            return LOOK_SOON
        case _:
            return LOOK_AGAIN
