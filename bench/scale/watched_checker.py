"""The shipped checker in a separate process, measured from outside.

`python -m bench.scale.watched_checker KUBECONFIG` prints one line of JSON when it is in sync, when it leads,
when it has evaluated every node for the first time and when it has counted; then one for each line that it
reads: `cost` for its CPU time and evaluations so far, `held` for its memory, `judged` for the time of each
node's last evaluation, `begun` for the time when the API server had accepted each remediation. Times are
those of the machine's monotonic clock.
"""

import asyncio
import json
import sys
import time
from typing import Any, cast

from bench.clients.measure import cpu_seconds, resident_bytes, settle
from nodemend.guard.state import CheckCounts
from nodemend.health.manager import Checker, CheckerObservers
from nodemend.health.node.controller import AllTargetsKey, Key, TargetKey
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.targets import NodeTarget
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.controller import Outcome
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.leader_runner import ElectionSettings
from nodemend.kube.request import LeaseAddress


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Watched:
    """Election, loop and recorder in one: notes what a bench asks for."""

    def __init__(self) -> None:
        self.decisions = 0
        self.judged_at: dict[str, float] = {}
        self.begun_at: dict[str, float] = {}
        self._counted = 0

    def began(self, _epoch: int) -> None:
        tell(leads=time.monotonic())

    def renewed(self, _left: float) -> None: ...

    def ended(self, _epoch: int, _why: str) -> None: ...

    def stumbled(self, why: str) -> None:
        print(why, file=sys.stderr)

    def took(self, _key: Key, _late: float) -> None: ...

    def finished(self, key: Key, _outcome: Outcome, _seconds: float) -> None:
        if isinstance(key, AllTargetsKey):
            tell(decides=time.monotonic())
        elif isinstance(key, TargetKey):
            self.decisions += 1
            self.judged_at[key.node] = time.monotonic()

    def crashed(self, key: Key, error: Exception, _seconds: float) -> None:
        raise AssertionError(f"reconcile of {key} raised") from error

    def overflowed(self) -> None: ...

    def judged(self, *_: object) -> None: ...

    def asked(self, *_: object) -> None: ...

    def withdrew_orphan(self, *_: object) -> None: ...

    def started(self, target: NodeTarget, *_: object) -> None:
        self.begun_at[target.node.name] = time.monotonic()

    def guarded(self, *_: object) -> None: ...

    def filled(self, *_: object) -> None: ...

    def order_expired(self, *_: object) -> None: ...

    def recovering(self, *_: object) -> None: ...

    def still_held(self, *_: object) -> None: ...

    def overlapped(self, *_: object) -> None: ...

    def stalled(self, *_: object) -> None: ...

    def counted(self, _check: str, counts: CheckCounts | None) -> None:
        if counts is not None and len(counts) != self._counted:
            self._counted = len(counts)
            tell(counted=time.monotonic(), targets=self._counted)


async def watch(kubeconfig: str) -> None:
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(find_connection({}, kubeconfig), runtime), runtime)
    watched = Watched()
    election = ElectionSettings(lease=LeaseAddress("bench", "default"), candidate="bench")
    recorder = cast("NodeHealthCheckRecorder", watched)
    checker = Checker(runtime, transport, election, CheckerObservers(watched, watched, recorder))
    tell(began=time.monotonic())
    working = asyncio.create_task(checker.run())
    sync_report = asyncio.create_task(_tell_sync(checker))
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).strip():
        if line == b"judged":
            tell(judged=watched.judged_at)
        elif line == b"begun":
            tell(begun=watched.begun_at)
        elif line == b"held":
            settle()
            tell(resident=resident_bytes())
        else:
            tell(cpu=cpu_seconds(), decisions=watched.decisions)
    sync_report.cancel()
    working.cancel()
    await asyncio.wait({working, sync_report})
    await transport.close()


async def _tell_sync(checker: Checker) -> None:
    while not checker.synced:  # noqa: ASYNC110 - a bench looks from outside
        await asyncio.sleep(0.01)
    tell(synced=time.monotonic())


if __name__ == "__main__":
    run(watch(sys.argv[1]))
