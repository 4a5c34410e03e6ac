"""Looks after CAPM3's remediations every few seconds.

There are few, and what each waits for happens to others: so they are listed, and not watched, and a cluster
without that kind is no special case.
"""

from typing import Final, Protocol

from nodemend.api.capm3_remediation import Capm3Remediation
from nodemend.api.group_versions import CAPM3_REMEDIATION, METAL3_REMEDIATION
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.timestamps import print_time
from nodemend.controllers.capm3_remediation.act import request_for, withdraw
from nodemend.controllers.capm3_remediation.gather import Gatherer
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.decide.capm3_remediation import Step, decide, stands_in_for
from nodemend.decide.facts import Absent, Seen
from nodemend.decide.holds import Hold
from nodemend.decide.neighbour_lease import NeighbourLease
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, ReadFailure, Reason, Refused
from nodemend.kube.api_request import Request
from nodemend.kube.paged_list import list_all

LOOK_EVERY: Final = 5.0
GO_ON_AFTER: Final = 0.2


class Capm3Recorder(Protocol):
    """Told of every step and every hold, and of what cannot be served at all."""

    def took(self, theirs: Capm3Remediation, step: Step) -> None: ...

    def held(self, theirs: Capm3Remediation, hold: Hold) -> None: ...

    def unserved(self, why: str) -> None:
        """Empty when they can be listed."""
        ...


class Capm3Service:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(self, reader: Reader, client: ApiClient, recorder: Capm3Recorder) -> None:
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._gatherer = Gatherer(reader)

    async def run(self) -> None:
        """Until cancelled. What cannot be read or written now is looked at again the next time."""
        while True:
            wrote = await self.look()
            await self._reader.runtime.sleep(GO_ON_AFTER if wrote else LOOK_EVERY)

    async def look(self) -> bool:
        """At most one write for each of them; whether there was any."""
        # Stand-ins first: whatever one of them stands for is listed after it, or gone.
        ours = await list_all(
            self._reader.client, METAL3_REMEDIATION, Metal3Remediation, deadline=self._reader.deadline
        )
        theirs = await list_all(
            self._reader.client, CAPM3_REMEDIATION, Capm3Remediation, deadline=self._reader.deadline
        )
        self._recorder.unserved("" if isinstance(theirs, Ok) else _why(theirs))
        if not isinstance(theirs, Ok):
            return False
        wrote = False
        leases = await self._gatherer.leases() if theirs.value.items else Absent()
        for one in theirs.value.items:
            wrote |= await self._tend(one, leases)
        uids = {one.metadata.uid for one in theirs.value.items}
        for stand_in in ours.value.items if isinstance(ours, Ok) else ():
            stands_for, ending = stands_in_for(stand_in), stand_in.metadata.deleting
            if stands_for and stands_for not in uids and not ending:
                wrote |= await self._write(withdraw(stand_in))
        return wrote

    async def _tend(self, theirs: Capm3Remediation, leases: Seen[tuple[NeighbourLease, ...]]) -> bool:
        step = decide(await self._gatherer.gather(theirs, leases))
        if isinstance(step, Hold):
            self._recorder.held(theirs, step)
            return False
        request = request_for(theirs, step, print_time(self._reader.runtime.wall()))
        if request is None or not await self._write(request):
            return False
        self._recorder.took(theirs, step)
        return True

    async def _write(self, request: Request) -> bool:
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        return isinstance(await self._client.write(request, Acknowledged, deadline=deadline), Ok)


def _why(failure: ReadFailure) -> str:
    match failure:
        case Refused(reason=Reason.NOT_FOUND):
            return "the API server does not serve them: CAPM3's kinds are not installed"
        case _:
            return str(failure)
