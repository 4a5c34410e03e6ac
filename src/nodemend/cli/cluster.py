"""Gives commands access to the API server, and reads the state of the controllers and the etcd hosts.

A cluster that does not answer ends the command. Commands that evaluate the guard need the nodes that run an
etcd member. The state of a controller is its current leader and the last renewal of the leader's Lease.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TypeVar, assert_never

from nodemend.api.meta import Wire, parse_time
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import LEASE, NODE_HEALTH_CHECK, POD, REMEDIATION_POLICY, Resource
from nodemend.api.upstream_types import Lease
from nodemend.api.well_known import POLICY_NAME
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.text import spell_seconds
from nodemend.kube.client import ApiClient, list_all
from nodemend.kube.outcome import (
    Acknowledged,
    Ok,
    Reason,
    Refused,
    ServerFault,
    Undecodable,
    Unknown,
    Unreachable,
    Unsent,
)
from nodemend.kube.ports import Runtime
from nodemend.kube.request import (
    EVERYTHING,
    Method,
    Request,
    Selection,
    as_dry_run,
    collection_path,
    create,
    get,
    object_of,
)
from nodemend.records.live_reads import LiveReader
from nodemend.records.node import ETCD_PODS, EtcdPodWire, etcd_pod_records
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable

SELF_SUBJECT_REVIEW: Final = Resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
SELF_SUBJECT_ACCESS_REVIEW: Final = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)


class UserInfo(Wire):
    username: str = ""


class SelfSubjectStatus(Wire):
    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Wire):
    status: SelfSubjectStatus = SelfSubjectStatus()


class AccessStatus(Wire):
    allowed: bool = False


class AccessReview(Wire):
    status: AccessStatus = AccessStatus()


class ServerVersion(Wire):
    """The response of /version. Some providers append characters to the numbers ("33+")."""

    major: str = ""
    minor: str = ""
    git_version: str = ""

    @property
    def numbers(self) -> tuple[int, int]:
        return _digits(self.major), _digits(self.minor)


class ServedResource(Wire):
    name: str = ""


class ServedResources(Wire):
    """The resources of one group and version."""

    resources: tuple[ServedResource, ...] = ()


def ask_version() -> Request:
    return Request(Method.GET, "/version")


def ask_served(resource: Resource) -> Request:
    """Request the list of resources served in the same group and version."""
    return Request(Method.GET, collection_path(resource).removesuffix(f"/{resource.plural}"))


def _digits(text: str) -> int:
    digits = "".join(character for character in text if character.isascii() and character.isdigit())
    return int(digits or "0")


T = TypeVar("T")

MANAGER: Final = "kubectl-mend"
MOST_TRIES: Final = 5
"""Attempts per write. A status write of a controller in between causes a conflict."""
_LIST_WITHIN: Final = 60.0
_WRITE_WITHIN: Final = 10.0


@dataclass(slots=True)
class _ServerClock:
    """The API server's clock, extrapolated by the local monotonic clock. Accurate to about one second."""

    said: float
    heard_at: float


class Cluster:
    """API access for commands.

    Returns a failure as a value if a command can continue, otherwise raises CommandFailure.
    """

    def __init__(self, client: ApiClient, runtime: Runtime, system_namespace: str) -> None:
        self.reader = LiveReader(client, runtime)
        self.system_namespace = system_namespace
        self.runtime = runtime
        self._client = client
        self._clock: _ServerClock | None = None

    @property
    def now(self) -> datetime:
        """The API server's clock; the local clock until the first response with a server time."""
        if self._clock is None:
            return self.runtime.wall()
        passed = self.runtime.monotonic() - self._clock.heard_at
        return datetime.fromtimestamp(self._clock.said + passed, UTC)

    async def find(self, resource: Resource, name: str, kind: type[T], namespace: str = "") -> ReadResult[T]:
        return await self.ask(get(resource, name, namespace), kind)

    async def ask(self, request: Request, kind: type[T]) -> ReadResult[T]:
        outcome = await self._client.read(request, kind, deadline=self.reader.deadline)
        if not isinstance(outcome, Ok):
            return _failed(outcome)
        if outcome.server_time is not None:
            self._clock = _ServerClock(outcome.server_time, self.runtime.monotonic())
        return Present(outcome.value)

    async def all(
        self, resource: Resource, kind: type[T], of: Selection = EVERYTHING
    ) -> Present[list[T]] | Absent | Unreadable:
        deadline = self.runtime.monotonic() + _LIST_WITHIN
        outcome = await list_all(self._client, resource, kind, of=of, deadline=deadline)
        if isinstance(outcome, Ok):
            return Present(outcome.value)
        return _failed(outcome)

    async def health_checks(self) -> Present[list[NodeHealthCheck]] | Unreadable:
        """List all NodeHealthChecks.

        Raises CommandFailure if Nodemend is not installed: its kinds are then not served.
        """
        found = await self.all(NODE_HEALTH_CHECK, NodeHealthCheck)
        if isinstance(found, Absent):
            raise not_installed()
        return found

    async def policy(self) -> ReadResult[RemediationPolicy]:
        return await self.find(REMEDIATION_POLICY, POLICY_NAME, RemediationPolicy)

    async def write(self, request: Request, kind: type[T], *, dry_run: bool = False) -> T | Refused | None:
        """Send a write and return the stored object, or Refused.

        Returns None if the write was applied and the response could not be decoded. Raises CommandFailure if
        it was not sent or if its outcome is unknown.
        """
        deadline = self.runtime.monotonic() + _WRITE_WITHIN
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
                    f"it is unknown whether the change was applied: {why}.",
                    "before you try again: kubectl mend status",
                )
            case _:
                assert_never(outcome)

    async def change(
        self, request: Request, undone: str, *, dry_run: bool, missing: CommandFailure | None = None
    ) -> bool:
        """Send a write that the caller repeats, after another read, if this returns False.

        False if another writer changed the object first. Raises CommandFailure for every other refusal:
        `missing`, if given, for an object or a kind that does not exist. `undone` says that nothing was done.
        """
        match await self.write(request, Acknowledged, dry_run=dry_run):
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS):
                return False
            case Refused(reason=Reason.NOT_FOUND) if request.method is Method.DELETE:
                return False
            case Refused(reason=Reason.NOT_FOUND) if missing is not None:
                raise missing
            case Refused(message=why):
                raise CommandFailure(ExitCode.WRONG, f"the API server refused: {why}. {undone}")
            case _:
                return True

    async def caller(self) -> str:
        """Return the user name that the API server assigns to the caller."""
        kind = SELF_SUBJECT_REVIEW
        review = await self.write(create(kind, object_of(kind, {}), manager=MANAGER), SelfSubjectReview)
        if isinstance(review, SelfSubjectReview) and review.status.user_info.username:
            return review.status.user_info.username
        why = review.message if isinstance(review, Refused) else "the response has no user name"
        raise CommandFailure(ExitCode.WRONG, f"the API server did not return your user name: {why}.")

    async def may(self, verb: str, resource: Resource, namespace: str = "", name: str = "") -> bool:
        attributes = {
            "verb": verb,
            "group": resource.group,
            "resource": resource.plural,
            "namespace": namespace,
            "name": name,
        }
        body = object_of(SELF_SUBJECT_ACCESS_REVIEW, {"spec": {"resourceAttributes": attributes}})
        review = await self.write(create(SELF_SUBJECT_ACCESS_REVIEW, body, manager=MANAGER), AccessReview)
        return isinstance(review, AccessReview) and review.status.allowed


def _failed(failure: Refused | Unreachable | ServerFault | Undecodable) -> Absent | Unreadable:
    match failure:
        case Refused(reason=Reason.NOT_FOUND):
            return Absent()
        case Refused(reason=Reason.UNAUTHORIZED, message=why):
            raise CommandFailure(ExitCode.WRONG, f"the API server rejected your credentials: {why}.")
        case Refused(message=why) | Undecodable(why):
            return Unreadable(why)
        case Unreachable(why):
            raise CommandFailure(ExitCode.NO_ANSWER, f"no answer from the cluster: {why}.")
        case ServerFault(status, message):
            raise CommandFailure(ExitCode.NO_ANSWER, f"the API server failed with {status}: {message}.")
        case _:
            assert_never(failure)


def unread_of(facts: Mapping[str, object]) -> dict[str, str]:
    """Return the reason for each fact that could not be read."""
    return {what: fact.why for what, fact in facts.items() if isinstance(fact, Unreadable)}


def spell_unread(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return a sentence for each fact that could not be read."""
    return tuple(f"{what} cannot be read: {why}." for what, why in unread_of(facts).items())


def too_busy(what: str, outcome: str, next_step: str = "try again.") -> CommandFailure:
    """Return the failure of a command whose writes all conflicted. `outcome` says what was done."""
    return CommandFailure(ExitCode.WRONG, f"{what} changed at every attempt. {outcome}", next_step)


def not_installed() -> CommandFailure:
    return CommandFailure(
        ExitCode.WRONG,
        "Nodemend is not installed in this cluster, so it watches no node here.",
        "kubectl mend check",
    )


def may_have(fact: ReadResult[T], what: str) -> T | None:
    """Return the value; None if it is absent. Raises CommandFailure if it is unreadable."""
    return None if isinstance(fact, Absent) else must_have(fact, what)


def must_have(fact: ReadResult[T], what: str, missing: CommandFailure | None = None) -> T:
    """Return the value. Raises CommandFailure if it is absent (`missing`, if given) or unreadable."""
    match fact:
        case Present(value):
            return value
        case Absent():
            raise missing or CommandFailure(ExitCode.WRONG, f"there is no {what}.")
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"{what} cannot be read: {why}.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason that prevents an action now, and the next step for the operator."""

    why: str
    next_step: str


def accepted(checked: T | Refusal, undone: str) -> T:
    """Return the value. Raises CommandFailure for a refusal; `undone` states that nothing was done."""
    if isinstance(checked, Refusal):
        raise CommandFailure(ExitCode.WRONG, f"{checked.why} {undone}", checked.next_step)
    return checked


@dataclass(frozen=True, slots=True)
class EtcdHosts:
    """Nodes with etcd pods.

    If these cannot be read, `unread` gives the reason, and only labels identify the control plane.
    """

    nodes: frozenset[str] = frozenset()
    unread: str = ""

    @property
    def note(self) -> str:
        return f"Pods of etcd cannot be read ({self.unread}): only labels identify the control plane."


async def find_etcd_hosts(cluster: Cluster) -> EtcdHosts:
    found = await cluster.all(POD, EtcdPodWire, ETCD_PODS)
    if isinstance(found, Unreadable):
        return EtcdHosts(unread=found.why)
    pods, project = found.value if isinstance(found, Present) else [], etcd_pod_records().project
    return EtcdHosts(frozenset(record.node for pod in pods if (record := project(pod, None)).node))


COMPONENTS: Final = ("checker", "remediator")
_REREAD_AFTER: Final = 3.0
"""Seconds; longer than a leader's renewal interval."""
_TOKEN: Final = re.compile(r"_[0-9a-f]{24}$")
_DEFAULT_DURATION: Final = 15


class LeaderState(StrEnum):
    ALIVE = "Alive"
    SILENT = "Silent"
    NO_HOLDER = "NoHolder"
    NEVER = "Never"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderView:
    """One component. `renewed_ago` compares two clocks: the leader's and the API server's."""

    component: str
    state: LeaderState
    holder: str = ""
    renewed_ago: float | None = None
    clock_differs: bool = False
    why: str = ""

    @property
    def absent(self) -> bool:
        """True if there is certainly no leader. A Lease that cannot be read proves nothing."""
        return self.state in (LeaderState.SILENT, LeaderState.NO_HOLDER, LeaderState.NEVER)

    @property
    def sentence(self) -> str:
        match self.state:
            case LeaderState.ALIVE if self.clock_differs:
                return f"{self.component}: {self.holder} leads; its clock differs from the API server's"
            case LeaderState.ALIVE:
                ago = spell_seconds(self.renewed_ago or 0.0)
                return f"{self.component}: {self.holder} leads, renewed {ago} ago"
            case LeaderState.SILENT:
                ago = spell_seconds(self.renewed_ago or 0.0)
                return f"{self.component}: {self.holder} led, but has not renewed its Lease for {ago}"
            case LeaderState.NO_HOLDER:
                return f"{self.component}: no replica leads"
            case LeaderState.NEVER:
                return f"{self.component}: no replica has ever led; it may not be installed"
            case LeaderState.UNKNOWN:
                return f"{self.component}: cannot be read: {self.why}"


@dataclass(frozen=True, slots=True)
class LeaseReading:
    """A Lease at one moment of the API server's clock."""

    lease: ReadResult[Lease]
    at: datetime


async def read_leaders(cluster: Cluster) -> tuple[LeaderView, ...]:
    """Read the Leases once, and again after a pause if a leader seems silent."""
    first = [await _see(cluster, component) for component in COMPONENTS]
    views = tuple(map(evaluate_leader, COMPONENTS, first))
    if all(view.state is not LeaderState.SILENT for view in views):
        return views
    await cluster.runtime.sleep(_REREAD_AFTER)
    second = [await _see(cluster, component) for component in COMPONENTS]
    return tuple(map(evaluate_leader, COMPONENTS, second, first))


def evaluate_leader(component: str, seen: LeaseReading, earlier: LeaseReading | None = None) -> LeaderView:
    """Evaluate one leader. A leader that renewed between two reads is alive, even if its clock is wrong."""
    match seen.lease:
        case Absent():
            return LeaderView(component=component, state=LeaderState.NEVER)
        case Unreadable(why):
            return LeaderView(component=component, state=LeaderState.UNKNOWN, why=why)
        case Present(lease):
            holder = _TOKEN.sub("", lease.spec.holder_identity or "")
            if not holder or not lease.spec.renew_time:
                return LeaderView(component=component, state=LeaderState.NO_HOLDER)
            ago = (seen.at - parse_time(lease.spec.renew_time)).total_seconds()
            lasts = lease.spec.lease_duration_seconds or _DEFAULT_DURATION
            plausible = abs(ago) <= lasts
            renewed = earlier is not None and _renewal(earlier.lease) not in ("", lease.spec.renew_time)
            return LeaderView(
                component=component,
                state=LeaderState.ALIVE if plausible or renewed else LeaderState.SILENT,
                holder=holder,
                renewed_ago=ago,
                clock_differs=not plausible and renewed,
            )


def unread_leaders(leaders: Iterable[LeaderView]) -> Iterator[str]:
    """Yield a sentence for each component whose state is unknown."""
    for leader in leaders:
        if leader.state is LeaderState.UNKNOWN:
            yield f"The leader of the {leader.component} cannot be read: {leader.why}."


async def _see(cluster: Cluster, component: str) -> LeaseReading:
    lease = await cluster.find(LEASE, f"nodemend-{component}", Lease, cluster.system_namespace)
    return LeaseReading(lease, cluster.now)


def _renewal(lease: ReadResult[Lease]) -> str:
    return (lease.value.spec.renew_time or "") if isinstance(lease, Present) else ""
