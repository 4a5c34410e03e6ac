"""One write, and what the reconcile loop makes of its outcome."""

from nodemend.controllers.fresh_reads import WRITE_WITHIN
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Runtime
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

AFTER_A_CONFLICT = 1.0


class Writer:
    """`client` must refuse writes once the leadership is over."""

    def __init__(self, client: ApiClient, runtime: Runtime) -> None:
        self._client = client
        self._runtime = runtime

    async def write(self, request: Request) -> Outcome:
        """Done when it was applied. Watches bring what comes of it."""
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        match await self._client.write(request, Acknowledged, deadline=deadline):
            case Ok() | Undecodable():
                return Done()
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                return RequeueAfter(AFTER_A_CONFLICT)
            case Refused(reason=Reason.THROTTLED, retry_after=seconds):
                # Nothing is wrong with it: a thousand reports are due at once when a leader begins.
                return RequeueAfter(max(seconds or 0.0, AFTER_A_CONFLICT))
            case Unknown(why) | Unsent(why):
                return Retry(why)
            case Refused(message=why):
                return Retry(why, refused=True)
