"""One real run: two candidates of each elector, each behind its own proxy, and one fault for both leaders."""

import asyncio
import os
import signal
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from controlplane.api import Api
from controlplane.run import ControlPlane
from tests.e2e.leader_election.histories import (
    Line,
    Version,
    foreign_actions,
    foreign_writes,
    late_writes,
    overlap,
    read_log,
    terms_of,
    ticked,
)
from tests.e2e.leader_election.object_history import ObjectHistory
from tests.e2e.leader_election.proxy import Fault, FaultyProxy
from tests.e2e.leader_election.timing import OURS

_ROOT: Final = Path(__file__).parents[3]
FAULT_SECONDS: Final = 12.0
AFTER_SECONDS: Final = 9.0
NAMES: Final = ("a", "b")


class ServerFault(StrEnum):
    """The fault of both leaders, in the order of the runs."""

    HANG = "hung path"
    PAUSE = "paused process"
    LOSE_REPLIES = "lost replies"
    HOLD = "path that delivers late"
    PAUSE_AND_HOLD = "paused process behind a path that delivers late"
    DROP = "dropped connections"
    DELETE = "deleted Lease"


_FAULTS: Final = {
    ServerFault.HANG: Fault.HANG,
    ServerFault.HOLD: Fault.HOLD,
    ServerFault.DROP: Fault.DROP,
    ServerFault.LOSE_REPLIES: Fault.LOSE_REPLIES,
    ServerFault.PAUSE_AND_HOLD: Fault.HOLD,
}


@dataclass(slots=True)
class Result:
    """The result of one elector in one run."""

    two_leaders: float = 0.0
    actions: int = 0
    foreign_actions: int = 0
    foreign_writes: int = 0
    late_writes: int = 0
    versions: int = 0
    took_over_after: float | None = None

    @property
    def broken(self) -> bool:
        return bool(self.two_leaders > 0.0 or self.foreign_actions or self.foreign_writes)


@dataclass(slots=True)
class Process:
    """A candidate process that this program starts and ends."""

    name: str
    log: Path
    proxy: FaultyProxy
    process: asyncio.subprocess.Process

    def lines(self) -> list[Line]:
        return read_log(self.log)

    def leads(self) -> bool:
        """True if it has been acting until a moment ago."""
        actions = [line["at"] for line in self.lines() if line["what"] == "action"]
        return bool(actions) and boot_time() - actions[-1] < 1.0

    def signal(self, number: signal.Signals) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)

    async def end(self) -> None:
        self.signal(signal.SIGKILL)
        await self.process.wait()


@dataclass(slots=True)
class Elector:
    """The candidates of one elector, and their Lease."""

    lease: str
    processes: list[Process] = field(default_factory=list)

    def leader(self) -> Process | None:
        return next((process for process in self.processes if process.leads()), None)


class RealRun:
    """Owns the processes and proxies of one run."""

    def __init__(self, plane: ControlPlane, official: Path, folder: Path, number: int) -> None:
        self._plane = plane
        self._api: Api = plane.api
        self._official_python = official
        self._folder = folder
        self.ours = Elector(f"ours-{number}")
        self.official = Elector(f"official-{number}")
        self._owned = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with self._owned:
            self._folder.mkdir(parents=True)
            self._api.create(_remediation(self.ours.lease))
            self.history = await self._owned.enter_async_context(
                ObjectHistory(self._plane.kubeconfig, self.ours.lease)
            )
            for name in NAMES:
                await self._start(
                    self.ours, name, [sys.executable, "-m", "tests.e2e.leader_election.our_candidate"]
                )
                await self._start(self.official, name, [str(self._official_python), *_official_arguments()])
            self._owned = self._owned.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._owned.aclose()

    async def play(self, failure: ServerFault) -> tuple[Result, Result]:
        """Apply the fault, and run until well after its end.

        Returns the results of Nodemend's and of the official elector.
        """
        electors = (self.ours, self.official)
        await _until(lambda: all(elector.leader() for elector in electors), "both electors have a leader")
        await asyncio.sleep(1.5)
        struck = [(elector, elector.leader() or elector.processes[0]) for elector in electors]
        began = boot_time()
        for elector, leader in struck:
            self._inject(failure, elector, leader)
        await asyncio.sleep(FAULT_SECONDS)
        for _, leader in struck:
            leader.proxy.set(Fault.NONE)
        # A held path heals first, so that its data arrives while its sender is still paused.
        await asyncio.sleep(0.2)
        for _, leader in struck:
            leader.signal(signal.SIGCONT)
        await asyncio.sleep(AFTER_SECONDS)
        return self._evaluate_ours(began), self._evaluate_official(began)

    def _inject(self, failure: ServerFault, elector: Elector, leader: Process) -> None:
        leader.proxy.set(_FAULTS.get(failure, Fault.NONE))
        if failure in (ServerFault.PAUSE, ServerFault.PAUSE_AND_HOLD):
            leader.signal(signal.SIGSTOP)
        elif failure is ServerFault.DELETE:
            self._api.delete(f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{elector.lease}")

    def _evaluate_ours(self, struck_at: float) -> Result:
        logs = {process.name: process.lines() for process in self.ours.processes}
        terms = [term for who, lines in logs.items() for term in terms_of(who, lines, OURS.renew_deadline)]
        beliefs = [
            [interval for term in terms if term.who == who for interval in term.accepted] for who in logs
        ]
        versions: list[Version] = self.history.versions
        return Result(
            two_leaders=overlap(beliefs),
            actions=sum(line["what"] == "action" for lines in logs.values() for line in lines),
            foreign_actions=sum(foreign_actions(who, lines, terms) for who, lines in logs.items()),
            foreign_writes=foreign_writes(versions),
            late_writes=late_writes(versions, (term.epoch for term in terms)),
            versions=len(versions),
            took_over_after=_first(term.began - struck_at for term in terms),
        )

    def _evaluate_official(self, struck_at: float) -> Result:
        actions = {
            process.name: [line["at"] for line in process.lines() if line["what"] == "action"]
            for process in self.official.processes
        }
        begins = {who: moments[0] for who, moments in actions.items() if moments}
        foreign = sum(
            any(begins[who] < begin <= moment for other, begin in begins.items() if other != who)
            for who, moments in actions.items()
            for moment in moments
        )
        return Result(
            two_leaders=overlap([ticked(process.lines()) for process in self.official.processes]),
            actions=sum(len(moments) for moments in actions.values()),
            foreign_actions=foreign,
            took_over_after=_first(begin - struck_at for begin in begins.values()),
        )

    async def _start(self, elector: Elector, name: str, command: list[str]) -> None:
        proxy = await self._owned.enter_async_context(FaultyProxy(self._plane.port))
        log = self._folder / f"{elector.lease}-{name}.log"
        kubeconfig = self._kubeconfig(f"{elector.lease}-{name}", proxy.port)
        options = {"--name": name, "--kubeconfig": kubeconfig, "--lease": elector.lease, "--log": log}
        arguments = [str(part) for option in options.items() for part in option]
        with (self._folder / f"{elector.lease}-{name}.err").open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *command, *arguments, cwd=_ROOT, stdout=errors, stderr=errors, env={**os.environ}
            )
        candidate = Process(name, log, proxy, process)
        self._owned.push_async_callback(candidate.end)
        elector.processes.append(candidate)

    def _kubeconfig(self, name: str, port: int) -> Path:
        """The admin's kubeconfig, through a proxy."""
        text = self._plane.kubeconfig.read_text().replace(self._plane.url, f"https://127.0.0.1:{port}")
        path = self._folder / f"{name}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(text)
        return path


def boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


async def _until(holds: Any, what: str, within: float = 60.0) -> None:
    end = boot_time() + within
    while not holds():
        if boot_time() > end:
            raise TimeoutError(f"{what}: not within {within} s")
        await asyncio.sleep(0.1)


def _first(moments: Any) -> float | None:
    return min((moment for moment in moments if moment > 0.0), default=None)


def _official_arguments() -> list[str]:
    return [
        str(Path(__file__).with_name("official_candidate.py")),
        *("--lease-duration", str(OURS.lease_duration)),
        *("--renew-deadline", str(int(OURS.renew_deadline))),
        *("--retry-period", str(int(OURS.retry_period))),
    ]


def _remediation(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "ManualRemediation",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
    }
