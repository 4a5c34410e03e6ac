"""Judges one target at a time, and asks for what the verdict needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, assert_never

from nodemend.api.timestamps import print_time
from nodemend.controllers.fresh_reads import WRITE_WITHIN, Reader
from nodemend.controllers.node_health_check import act, gather, report
from nodemend.controllers.node_health_check.condition_ages import ConditionAges
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.ledger import HEALTHY, Entry, Ledger, Standing
from nodemend.controllers.node_health_check.second_look import SecondLook
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import Create, Leave, Request, Withdraw, decide
from nodemend.kube import api_request
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown
from nodemend.kube.api_reply import Unsent
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter, Retry

LOOK_AGAIN = 10.0
REPORT_AT_MOST_EVERY = 1.0
A_MOMENT = 0.02
"""A deadline may be a rounding error away: without a pause we would ask for it again and again."""


@dataclass(frozen=True, slots=True)
class TargetKey:
    node: str


@dataclass(frozen=True, slots=True)
class CheckKey:
    check: str


Key = TargetKey | CheckKey


class Recorder(Protocol):
    """Told of verdicts and of what was done, for events, logs and metrics."""

    def judged(self, target: Target, before: Entry | None, now: Entry) -> None: ...

    def asked(self, target: Target, request: Create | Withdraw) -> None: ...

    def counted(self, check: str, ledger: Ledger | None) -> None:
        """Where the targets of a check stand; None when the check is gone."""
        ...


class NodeHealthCheckController:
    """Serves one leadership. `client` must refuse writes once that is over."""

    def __init__(
        self,
        view: View,
        ages: ConditionAges,
        reader: Reader,
        client: ApiClient,
        recorder: Recorder,
        ask_for: Callable[[Key, float], None],
    ) -> None:
        self._view = view
        self._ages = ages
        self._reader = reader
        self._client = client
        self._recorder = recorder
        self._ask_for = ask_for
        self._ledgers: dict[str, Ledger] = {}
        self._second_look = SecondLook(reader, view)

    async def reconcile(self, key: Key) -> Outcome:
        match key:
            case TargetKey(node):
                return await self._reconcile_target(node)
            case CheckKey(check):
                return await self._report(check)

    async def _reconcile_target(self, name: str) -> Outcome:
        target = gather.find_target(self._view, name)
        self._strike_elsewhere(name, target.check.metadata.name if target else None)
        if target is None:
            return Done()
        now = self._reader.runtime.monotonic()
        health = gather.judge_target(target, self._ages, now)
        guarded = gather.guard_from_view(self._view, target, now)
        existing = gather.open_remediation(self._view, target)
        request = decide(health, existing, guarded, gather.healthy_delay(target))
        # The book is written before the deed: a deed that fails is tried again, and the book still stands.
        self._enter(target, _entry(health, request, remediating=existing is not None))
        return await self._act(target, request)

    async def _act(self, target: Target, request: Request) -> Outcome:
        match request:
            case Create():
                write = await self._second_look.before_create(target)
            case Withdraw():
                write = await self._second_look.before_withdraw(target)
            case Leave(again_in):
                return Done() if again_in is None else RequeueAfter(max(again_in, A_MOMENT))
            case Hold():
                return RequeueAfter(LOOK_AGAIN)
            case _:
                assert_never(request)
        if isinstance(write, Hold):
            self._enter(target, Entry(Standing.HELD, str(explain(write.reason))))
            return RequeueAfter(LOOK_AGAIN)
        outcome = await self._write(write)
        if outcome == Done():
            self._recorder.asked(target, request)
        return outcome

    async def _write(self, request: api_request.Request) -> Outcome:
        """Done when it was applied. Watches bring what comes of it."""
        deadline = self._reader.runtime.monotonic() + WRITE_WITHIN
        match await self._client.write(request, Acknowledged, deadline=deadline):
            case Ok() | Undecodable():
                return Done()
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                return RequeueAfter(REPORT_AT_MOST_EVERY)
            case Refused(message=why) | Unknown(why) | Unsent(why):
                return Retry(why)

    async def _report(self, name: str) -> Outcome:
        check = self._view.checks.get(name)
        if check is None:
            self._ledgers.pop(name, None)
            self._recorder.counted(name, None)
            return Done()
        runtime = self._reader.runtime
        guarded = gather.guard_any(self._view, runtime.monotonic())
        ledger = self._ledgers.get(name, Ledger())
        self._recorder.counted(name, ledger)
        status = report.status_of(check, ledger, guarded, print_time(runtime.wall()))
        if status == check.status:
            return Done()
        return await self._write(act.report_status(check, report.as_fields(status)))

    def _enter(self, target: Target, entry: Entry) -> None:
        check = target.check.metadata.name
        ledger = self._ledgers.setdefault(check, Ledger())
        before = ledger.find(target.node.name)
        if ledger.enter(target.node.name, entry):
            self._recorder.judged(target, before, entry)
            self._ask_for(CheckKey(check), REPORT_AT_MOST_EVERY)

    def _strike_elsewhere(self, node: str, check: str | None) -> None:
        for name, ledger in self._ledgers.items():
            if name != check and ledger.strike(node):
                self._ask_for(CheckKey(name), REPORT_AT_MOST_EVERY)


def _entry(health: NodeHealth, request: Request, *, remediating: bool) -> Entry:
    """Where the target stands, in words that do not change while nothing does."""
    if remediating or isinstance(request, Create):
        return Entry(Standing.REMEDIATING)
    if isinstance(request, Hold):
        return Entry(Standing.HELD, str(explain(request.reason)))
    match health:
        case Healthy():
            return HEALTHY
        case Suspect(match):
            message = f"{match.type}={match.status} for less than {match.period:.0f} s"
            return Entry(Standing.SUSPECT, message)
        case Unhealthy(match):
            return Entry(Standing.UNHEALTHY, f"{match.type}={match.status} for {match.period:.0f} s")
        case Unjudged(why):
            return Entry(Standing.UNJUDGED, why)
        case _:
            assert_never(health)
