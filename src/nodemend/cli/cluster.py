"""The cluster as a command sees it. A cluster that does not answer ends the command."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar, assert_never

from nodemend.api.group_versions import NODE_HEALTH_CHECK, Resource
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.reviews import AccessReview, SelfSubjectReview, ask_name, ask_right
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import (
    Ok,
    ReadOutcome,
    Reason,
    Refused,
    ServerFault,
    Undecodable,
    Unknown,
    Unreachable,
)
from nodemend.kube.api_reply import Unsent
from nodemend.kube.api_request import EVERYTHING, Request, Selection, as_dry_run, get
from nodemend.kube.paged_list import list_all
from nodemend.kube.ports import Runtime

T = TypeVar("T")

MANAGER: Final = "kubectl-mend"
_LIST_WITHIN: Final = 60.0
_WRITE_WITHIN: Final = 10.0


@dataclass(slots=True)
class _ServerClock:
    """The API server's clock, carried on by ours. Good to about a second."""

    said: float
    heard_at: float


class Cluster:
    """Reads and writes, with their failures as facts where a command can go on, and as its end where not."""

    def __init__(self, client: ApiClient, runtime: Runtime, system_namespace: str) -> None:
        self.reader = Reader(client, runtime)
        self.system_namespace = system_namespace
        self._client = client
        self._runtime = runtime
        self._clock: _ServerClock | None = None

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    @property
    def now(self) -> datetime:
        """By the API server's clock; by our own before it has told its."""
        if self._clock is None:
            return self._runtime.wall()
        passed = self._runtime.monotonic() - self._clock.heard_at
        return datetime.fromtimestamp(self._clock.said + passed, UTC)

    async def find(self, resource: Resource, name: str, kind: type[T], namespace: str = "") -> Seen[T]:
        return await self.ask(get(resource, name, namespace), kind)

    async def ask(self, request: Request, kind: type[T]) -> Seen[T]:
        outcome = await self._client.read(request, kind, deadline=self.reader.deadline)
        if isinstance(outcome, Ok) and outcome.server_time is not None:
            self._clock = _ServerClock(outcome.server_time, self._runtime.monotonic())
        return _fact(outcome)

    async def all(
        self, resource: Resource, kind: type[T], of: Selection = EVERYTHING
    ) -> Present[list[T]] | Absent | Unreadable:
        deadline = self._runtime.monotonic() + _LIST_WITHIN
        outcome = await list_all(self._client, resource, kind, of=of, deadline=deadline)
        if isinstance(outcome, Ok):
            return Present(outcome.value.items)
        return _failed(outcome)

    async def health_checks(self) -> Present[list[NodeHealthCheck]] | Unreadable:
        """All of them. Raises CommandFailure where Nodemend is not installed: its kinds are always served."""
        found = await self.all(NODE_HEALTH_CHECK, NodeHealthCheck)
        if isinstance(found, Absent):
            raise not_installed()
        return found

    async def write(self, request: Request, kind: type[T], *, dry_run: bool = False) -> T | Refused | None:
        """What stands there now; None when it was written and the answer could not be read."""
        deadline = self._runtime.monotonic() + _WRITE_WITHIN
        request = as_dry_run(request) if dry_run else request
        outcome = await self._client.write(request, kind, deadline=deadline)
        match outcome:
            case Ok(value):
                return value
            case Refused():
                return outcome
            case Undecodable():
                return None
            case Unsent(why):
                raise CommandFailure(
                    ExitCode.NO_ANSWER, f"no answer from the cluster: {why}. Nothing was changed."
                )
            case Unknown(why):
                raise CommandFailure(
                    ExitCode.NO_ANSWER,
                    f"the cluster did not say whether it took the change: {why}.",
                    "before you try again: kubectl mend status",
                )
            case _:
                assert_never(outcome)

    async def caller(self) -> str:
        """The user name by which the API server knows us."""
        review = await self.write(ask_name(MANAGER), SelfSubjectReview)
        if isinstance(review, SelfSubjectReview) and review.status.user_info.username:
            return review.status.user_info.username
        why = review.message if isinstance(review, Refused) else "it did not say"
        raise CommandFailure(ExitCode.WRONG, f"the API server does not tell who you are: {why}.")

    async def may(self, verb: str, resource: Resource, namespace: str = "", name: str = "") -> bool:
        review = await self.write(ask_right(verb, resource, namespace, name, MANAGER), AccessReview)
        return isinstance(review, AccessReview) and review.status.allowed


def _fact(outcome: ReadOutcome[T]) -> Seen[T]:
    return Present(outcome.value) if isinstance(outcome, Ok) else _failed(outcome)


def _failed(failure: Refused | Unreachable | ServerFault | Undecodable) -> Absent | Unreadable:
    match failure:
        case Refused(reason=Reason.NOT_FOUND):
            return Absent()
        case Refused(reason=Reason.UNAUTHORIZED, message=why):
            raise CommandFailure(ExitCode.WRONG, f"the API server does not know you: {why}.")
        case Refused(message=why) | Undecodable(why):
            return Unreadable(why)
        case Unreachable(why):
            raise CommandFailure(ExitCode.NO_ANSWER, f"no answer from the cluster: {why}.")
        case ServerFault(status, message):
            raise CommandFailure(ExitCode.NO_ANSWER, f"the API server failed with {status}: {message}.")
        case _:
            assert_never(failure)


def not_installed() -> CommandFailure:
    return CommandFailure(
        ExitCode.WRONG,
        "Nodemend is not installed in this cluster, so it watches no node here.",
        "kubectl mend check",
    )


def must_have(fact: Seen[T], what: str) -> T:
    """The value, or the end of the command."""
    match fact:
        case Present(value):
            return value
        case Absent():
            raise CommandFailure(ExitCode.WRONG, f"there is no {what}.")
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"{what} cannot be read: {why}.")
