"""Lets writes through only while we lead. Reads always pass."""

from typing import Final

from nodemend.kube.api_reply import Reply, Unsent
from nodemend.kube.api_request import Request
from nodemend.kube.leader_loop import Leadership
from nodemend.kube.ports import Runtime, Stream, Transport

NOT_LEADING: Final = Unsent("not leading")
NOT_CONFIRMED: Final = Unsent("the leader's Lease was not renewed after this was decided")
_LOOKS_EVERY: Final = 0.05


class WriteGate:
    """The Transport port for the work of one term.

    A write is begun only if the term has `needing` seconds left, and is given no more than the term. The
    clock is read in the same step that hands the request over, so a process that slept through the end of its
    term begins nothing when it wakes. What was under way by then meets its preconditions and the epoch rule.

    A write that releases workloads, or by which a leader answers for what others recorded, is begun only
    after the Lease was renewed once more. That renewal names the version that we last wrote. If etcd was
    restored before what this write was decided on was read, there is no such version, and nothing is released
    or answered for on what a backup showed.
    """

    def __init__(
        self, runtime: Runtime, transport: Transport, leadership: Leadership, *, needing: float = 1.0
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._leadership = leadership
        self._needing = needing

    async def send(self, request: Request, deadline: float) -> Reply:
        if request.confirmed and not await self._confirm(deadline):
            return NOT_CONFIRMED
        limit = self._limit(request, deadline)
        return NOT_LEADING if limit is None else await self._transport.send(request, limit)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        limit = self._limit(request, deadline)
        return NOT_LEADING if limit is None else await self._transport.open(request, limit)

    async def _confirm(self, deadline: float) -> bool:
        """Whether the Lease was renewed by a request that was sent after this was asked."""
        asked_at, leadership = self._runtime.monotonic(), self._leadership
        leadership.renew_now()
        while not leadership.renewed_since(asked_at):
            if self._runtime.monotonic() >= min(deadline, leadership.ends_at):
                return False
            await self._runtime.sleep(_LOOKS_EVERY)
        return True

    def _limit(self, request: Request, deadline: float) -> float | None:
        """The deadline that the request gets. None: it must not be sent."""
        if not request.writes:
            return deadline
        if not self._leadership.may_begin(self._runtime.monotonic(), self._needing):
            return None
        return min(deadline, self._leadership.ends_at)
