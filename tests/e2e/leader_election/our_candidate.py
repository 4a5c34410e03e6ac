"""One candidate of the shipped elector as a separate process. Its log has times of CLOCK_BOOTTIME."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.client import ApiClient
from nodemend.kube.credentials_io import LiveCredentials, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.leader_runner import ElectionSettings, Leadership, LeaderTransport, WorkOverranError, lead
from nodemend.kube.outcome import Ok, Reply
from nodemend.kube.ports import Stream, Transport
from nodemend.kube.request import LeaseAddress, Precondition, Request, get, merge_patch
from tests.e2e.leader_election.timing import OURS

NAMESPACE = "default"
TICK = 0.05
TICKS_PER_WRITE = 6


class Log:
    """The observer's calls, and the actions of the work, as lines of JSON."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.leadership: Leadership | None = None

    def write(self, what: str, **more: Any) -> None:
        line = {"at": time.clock_gettime(time.CLOCK_BOOTTIME), "what": what, **more}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def began(self, epoch: int) -> None:
        """Does nothing: the work logs this, with the end of its term."""

    def renewed(self, left: float) -> None:
        if self.leadership is not None:
            self.write(
                "leads", epoch=self.leadership.epoch, until=self.leadership.ends_at, left=round(left, 3)
            )

    def ended(self, epoch: int, why: str) -> None:
        self.write("ended", epoch=epoch, why=why)

    def stumbled(self, why: str) -> None:
        self.write("stumbled", why=why)


class Witness:
    """A transport between the gate and the network: a request that passes here has started."""

    def __init__(self, transport: Transport, log: Log, epoch: int) -> None:
        self._transport = transport
        self._log = log
        self._epoch = epoch

    async def send(self, request: Request, deadline: float) -> Reply:
        if request.writes:
            self._log.write("action", epoch=self._epoch)
        return await self._transport.send(request, deadline)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        return await self._transport.open(request, deadline)


class Work:
    """Acts as often as it may: directly on every tick, and through the gate on some."""

    def __init__(self, runtime: AsyncioRuntime, transport: Transport, log: Log, object_: str) -> None:
        self._runtime = runtime
        self._transport = transport
        self._log = log
        self._object = object_

    async def __call__(self, leadership: Leadership) -> None:
        self._log.leadership = leadership
        self._log.write("leads", epoch=leadership.epoch, until=leadership.ends_at, began=True)
        witness = Witness(self._transport, self._log, leadership.epoch)
        client = ApiClient(LeaderTransport(self._runtime, witness, leadership, needing=0.2), self._runtime)
        ticks = 0
        while True:
            if leadership.may_begin(self._runtime.monotonic(), 0.0):
                self._log.write("action", epoch=leadership.epoch)
            if ticks % TICKS_PER_WRITE == 0:
                await self._write(client, leadership.epoch)
            ticks += 1
            await self._runtime.sleep(TICK)

    async def _write(self, client: ApiClient, epoch: int) -> None:
        """Stamp the object before the first write to it, each under compare-and-swap."""
        deadline = self._runtime.monotonic() + 3.0
        request = get(MANUAL_REMEDIATION, self._object, NAMESPACE)
        seen = await client.read(request, ManualRemediation, deadline=deadline)
        if isinstance(seen, Ok) and seen.value.status.epoch < epoch:
            seen = await self._patch(client, seen.value, epoch, "stamped")
        if isinstance(seen, Ok) and seen.value.status.epoch == epoch:
            await self._patch(client, seen.value, epoch, f"at {deadline}")

    async def _patch(self, client: ApiClient, seen: ManualRemediation, epoch: int, message: str) -> Any:
        request = merge_patch(
            MANUAL_REMEDIATION,
            self._object,
            NAMESPACE,
            change={"status": {"epoch": epoch, "message": message}},
            only_if=Precondition(seen.metadata.uid, seen.metadata.resource_version),
            manager="elector-campaign",
            subresource="status",
        )
        return await client.write(request, ManualRemediation, deadline=self._runtime.monotonic() + 3.0)


async def campaign(name: str, kubeconfig: str, lease: str, log: Log) -> None:
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(find_connection({}, kubeconfig), runtime), runtime)
    settings = ElectionSettings(lease=LeaseAddress(lease, NAMESPACE), candidate=name, timing=OURS)
    log.write("started")
    try:
        await lead(runtime, transport, settings, Work(runtime, transport, log, lease), log)
    except WorkOverranError as error:
        log.write("overran", why=str(error))
        # No process may survive whose work outlived its lease.
        os._exit(3)
    finally:
        await transport.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--name", "--kubeconfig", "--lease", "--log"):
        parser.add_argument(option, required=True)
    asked = parser.parse_args()
    with Path(asked.log).open("a") as file:
        run(campaign(asked.name, asked.kubeconfig, asked.lease, Log(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
