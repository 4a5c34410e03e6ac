"""Gather, decide, act: at most one write a pass, and the next pass reads everything anew."""

from typing import Final, Generic, Protocol, TypeVar

from nodemend.api.group_versions import Resource
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.timestamps import print_time
from nodemend.api.wire import Wire
from nodemend.controllers.checking.waiting_room import A_MOMENT
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.remediating.switch_guard import SwitchGuard
from nodemend.decide import guard_holds, holds
from nodemend.decide.facts import Seen
from nodemend.decide.holds import Hold
from nodemend.decide.switch_guard import SwitchFacts
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import (
    Ok,
    Reason,
    Refused,
    Undecodable,
    Unknown,
    WriteOutcome,
)
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import Request
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

R = TypeVar("R", bound="Remediation")
G = TypeVar("G")
S = TypeVar("S")
R_contra = TypeVar("R_contra", contravariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

AT_ONCE: Final = RequeueAfter(0.0)
LOOK_AGAIN: Final = 10.0
LOOK_SOON: Final = 2.0


class Remediation(Protocol):
    """Of whichever kind."""

    @property
    def metadata(self) -> ObjectMeta: ...


class Written(Wire):
    """What matters of an answer to a write: the version that it made."""

    metadata: ObjectMeta = ObjectMeta()


class Recorder(Protocol[R_contra, S_contra]):
    """Told of every step that was taken and every hold, for events, logs and metrics."""

    def took(self, remediation: R_contra, step: S_contra) -> None: ...

    def held(self, remediation: R_contra, hold: Hold) -> None: ...


class Way(Protocol[R, G, S]):
    """How remediations of one kind are carried out. `G` is what was gathered about one, `S` its steps."""

    @property
    def resource(self) -> Resource: ...
    @property
    def type(self) -> type[R]: ...

    async def gather(self, remediation: R, server_time: float | None) -> G: ...

    def decide(self, gathered: G) -> S | Hold: ...

    def tells(self, remediation: R, hold: Hold) -> bool:
        """Whether its status says so already."""
        ...

    def request_for(self, gathered: G, step: S | Hold, now: str) -> Request | None:
        """The write that makes `step` true; None for a step without one."""
        ...

    def begins(self, gathered: G, step: S) -> Seen[SwitchFacts] | None:
        """What the guard was asked about, where by `step` a remediation begins; else None."""
        ...

    def wrote(self, gathered: G, step: S | Hold, version: str) -> None:
        """Told of every write that was acknowledged, with the version of what was written."""
        ...

    def refused(self, remediation: R, step: S | Hold, outcome: Refused) -> bool:
        """Whether it took note of a refusal, so that the next look decides otherwise."""
        ...

    def again_in(self, hold: Hold) -> float | None:
        """Seconds until a hold of this kind is worth another look; None where there is nothing special."""
        ...


class RemediationController(Generic[R, G, S]):
    """Serves one leadership. `client` must refuse writes once that is over. All kinds share `switch`."""

    def __init__(
        self,
        way: Way[R, G, S],
        reader: Reader,
        client: ApiClient,
        recorder: Recorder[R, S],
        switch: SwitchGuard,
    ) -> None:
        self._way = way
        self._switch = switch
        self._reader = reader
        self._client = client
        self._recorder = recorder

    async def reconcile(self, key: tuple[str, str]) -> Outcome:
        namespace, name = key
        match await self._reader.get(self._way.resource, name, self._way.type, namespace):
            case Ok(remediation, server_time):
                with self._switch.at_work.one_pass(remediation.metadata.uid):
                    gathered = await self._way.gather(remediation, server_time)
                    return await self._act(remediation, gathered, self._way.decide(gathered))
            case Refused(reason=Reason.NOT_FOUND):
                return Done()
            case failure:
                return Retry(str(failure))

    async def _act(self, remediation: R, gathered: G, wanted: S | Hold) -> Outcome:
        step = self._claim(remediation.metadata.uid, gathered, wanted)
        if isinstance(step, Hold):
            self._recorder.held(remediation, step)
            if isinstance(step.reason, holds.Deposed):
                return Done()
            if self._way.tells(remediation, step):
                return RequeueAfter(self._again_in(step))
        now = print_time(self._reader.runtime.wall())
        request = self._way.request_for(gathered, step, now)
        if request is None:
            return Done()
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        outcome = await self._client.write(request, Written, deadline=deadline)
        if isinstance(outcome, Ok):
            self._way.wrote(gathered, step, outcome.value.metadata.resource_version)
        if isinstance(outcome, Unknown) and not isinstance(step, Hold):
            self._switch.at_work.unanswered(remediation.metadata.uid)
        self._switch.answered(remediation.metadata.uid, refused=isinstance(outcome, Refused | Unsent))
        return self._judge(remediation, step, outcome)

    def _claim(self, uid: str, gathered: G, step: S | Hold) -> S | Hold:
        """Nothing may be awaited between this and the write: another pass could claim the same moment."""
        begins = None if isinstance(step, Hold) else self._way.begins(gathered, step)
        return step if begins is None else self._switch.claim(uid, begins) or step

    def _judge(self, remediation: R, step: S | Hold, outcome: WriteOutcome[Written]) -> Outcome:
        match outcome:
            case Ok():
                if isinstance(step, Hold):
                    return RequeueAfter(self._again_in(step))
                self._recorder.took(remediation, step)
                return AT_ONCE
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                # Somebody wrote first: what we decided on is out of date. Read everything anew, never retry.
                return AT_ONCE
            case Refused() if self._way.refused(remediation, step, outcome):
                return AT_ONCE
            case Unknown(why) | Undecodable(why) | Unsent(why) | Refused(message=why):
                return Retry(why)

    def _again_in(self, hold: Hold) -> float:
        """Watches wake us for what we watch; the rest is looked at again."""
        match hold.reason:
            case holds.KubeletSpeaks(silent_for, needed):
                return min(LOOK_AGAIN, max(needed - silent_for, LOOK_SOON))
            case holds.WorkloadsLeaving() | holds.TaintedByAnother() | holds.CannotRead():
                return LOOK_SOON
            case guard_holds.Pacing(remaining) | guard_holds.Settling(remaining):
                return _when_over(remaining)
            case guard_holds.ApiUnsettled(passed, needed) | guard_holds.NotReadyBriefly(passed, needed):
                return _when_over(needed - passed)
            case _:
                special = self._way.again_in(hold)
                return LOOK_AGAIN if special is None else special


def _when_over(remaining: float) -> float:
    """What ends at a known moment is looked at again just then, and not later than anything else is."""
    return min(LOOK_AGAIN, max(0.0, remaining) + A_MOMENT)
