"""The line to the API server of one other cluster, and what can be wrong with it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api.group_versions import NODE
from nodemend.controllers.fresh_reads import READ_WITHIN
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import (
    Acknowledged,
    Ok,
    ReadOutcome,
    Reason,
    Refused,
    ServerFault,
    Undecodable,
    Unreachable,
)
from nodemend.kube.api_reply import Answer, Reply, Unanswered, Unsent
from nodemend.kube.api_request import EVERYTHING, Request, list_page
from nodemend.kube.ports import Runtime, Stream, Transport


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a cluster is not seen, in words that do not change while nothing does. `detail` is for a log."""

    why: str
    detail: str = ""


REFUSED: Final = Trouble("its API server does not take the credentials of its Secret (401)")
SILENT: Final = "its API server does not answer"


class Line:
    """A connection to the API server of one cluster. Notices when that takes our credentials no longer."""

    def __init__(self, transport: Transport, runtime: Runtime, told: Callable[[], None]) -> None:
        self.opened_at = self.answered_at = runtime.monotonic()
        self.refused = False
        self.reads = 0
        self.client = ApiClient(self, runtime)
        self._transport = transport
        self._runtime = runtime
        self._told = told

    async def try_out(self) -> Trouble | None:
        """Whether it answers, and lets us list Nodes: a short question before a long one."""
        within = self._runtime.monotonic() + READ_WITHIN
        question = list_page(NODE, EVERYTHING, limit=1)
        return _trouble_in(await self.client.read(question, Acknowledged, deadline=within))

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = await self._transport.send(request, deadline)
        self._note(reply)
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        opened = await self._transport.open(request, deadline)
        self._note(opened)
        return opened

    def _note(self, reply: Stream | Reply) -> None:
        if isinstance(reply, Unsent | Unanswered):
            return
        if not isinstance(reply, Answer) or reply.status == 200:
            self.answered_at = self._runtime.monotonic()
        elif reply.status == 401:
            self.refused = True
            self._told()


def _trouble_in(outcome: ReadOutcome[Acknowledged]) -> Trouble | None:
    """In our own words: what another server says does not belong into our statuses."""
    match outcome:
        case Ok():
            return None
        case Refused(reason=Reason.UNAUTHORIZED):
            return REFUSED
        case Refused(reason=Reason.FORBIDDEN, message=detail):
            return Trouble("its API server does not let us list Nodes (403)", detail)
        case Unreachable(detail):
            return Trouble(SILENT, detail)
        case Refused(message=detail) | ServerFault(message=detail) | Undecodable(detail):
            return Trouble("its API server does not answer as one", detail)
        case _:
            assert_never(outcome)
