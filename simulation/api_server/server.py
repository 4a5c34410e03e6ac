"""The simulated API server: it answers each request at the instant of the call."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server import creating, deleting, reading, updating
from simulation.api_server.admission import ADMIN, AdmissionRules, Authorizer, User, allow_everything
from simulation.api_server.builtin_kinds import builtin_kinds
from simulation.api_server.calls import Backend, Call, Router
from simulation.api_server.creating import bind
from simulation.api_server.custom_kinds import kinds_of
from simulation.api_server.deleting import delete_collection
from simulation.api_server.garbage import collector_requests
from simulation.api_server.kinds import Kind
from simulation.api_server.reading import open_watch
from simulation.api_server.self_description import describe
from simulation.api_server.statuses import NoSuchPath, Refusal, method_not_allowed
from simulation.api_server.storage import Snapshot, Storage
from simulation.api_server.watching import Lag, SimulatedWatch, WatchCache

FIRST_REVISION: Final = 1000
COLLECTOR: Final = User("system:serviceaccount:kube-system:generic-garbage-collector", ("system:masters",))
NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")


def counted_uids() -> Callable[[], str]:
    """Return a source of UIDs that are the same in every run."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012d}"


class SimulatedApiServer:
    """A kube-apiserver with its etcd, without its own clock, randomness or threads."""

    def __init__(  # noqa: PLR0913 - the parts of the world that a server depends on
        self,
        now: Callable[[], datetime],
        *,
        new_uid: Callable[[], str] | None = None,
        definitions: Iterable[Mapping[str, Any]] = (),
        rules: AdmissionRules | None = None,
        authorizer: Authorizer = allow_everything,
        namespaces: Iterable[str] = NAMESPACES,
        streaming_lists: bool = True,
        compacts_every: timedelta | None = timedelta(minutes=5),
    ) -> None:
        self._storage = Storage(FIRST_REVISION)
        self._caches: dict[Resource, WatchCache] = {}
        self._router = Router(())
        self._backend = Backend(
            self._storage, {}, now, new_uid or counted_uids(), authorizer, streaming_lists
        )
        self._rules = rules or {}
        self._compacts_every = compacts_every
        self._compacted_at = (now(), self._storage.revision)
        self._kinds: list[Kind] = []
        for kind in builtin_kinds():
            self._serve(kind)
        for definition in definitions:
            self.define(definition)
        for name in namespaces:
            self._create_namespace(name)
        self.forget_events()

    def define(self, definition: Mapping[str, Any]) -> None:
        """Serve the kinds of a CustomResourceDefinition document."""
        for kind in kinds_of(definition):
            self._serve(kind)

    def _serve(self, kind: Kind) -> None:
        kind.rules = self._rules.get(kind.resource, ())
        table = kind.table = self._storage.add_table(kind.resource)
        self._backend.tables[kind.resource] = table
        self._caches[kind.resource] = WatchCache(table, self._storage, kind.empty)
        self._router.add(kind)
        self._kinds.append(kind)

    def _create_namespace(self, name: str) -> None:
        body = msgspec.json.encode({"metadata": {"name": name}})
        self.handle(Request(Method.POST, "/api/v1/namespaces", (), body), ADMIN)

    @property
    def revision(self) -> int:
        return self._storage.revision

    def handle(self, request: Request, user: User = ADMIN) -> ApiResponse:
        """Answer any request except a watch."""
        try:
            return self._dispatch(self._call(request, user))
        except Refusal as refusal:
            return refusal.as_answer(self._backend.server_time())
        except NoSuchPath as nowhere:
            described = describe(request, user, self._kinds, self._backend)
            return described or nowhere.as_answer(self._backend.server_time())

    def watch(self, request: Request, user: User = ADMIN) -> SimulatedWatch | ApiResponse:
        """Open a watch. Returns an Answer if it is refused; ERROR events are part of the stream."""
        try:
            call = self._call(request, user)
            call.authorize("watch")
            return open_watch(call, self._caches[call.route.resource])
        except (Refusal, NoSuchPath) as refusal:
            return refusal.as_answer(self._backend.server_time())

    def _call(self, request: Request, user: User) -> Call:
        return Call(request, self._router.find(request.path), user, dict(request.query), self._backend)

    def _dispatch(self, call: Call) -> ApiResponse:
        """Find the verb, authorize the user, and execute the request."""
        named, cache = bool(call.route.name), self._caches[call.route.resource]
        match call.request.method:
            case Method.GET if named:
                call.authorize("get")
                return reading.get(call, cache)
            case Method.GET:
                call.authorize("list")
                return reading.list_objects(call, cache)
            case Method.PATCH if named:
                call.authorize("patch")
                return updating.patch(call)
            case Method.PUT if named:
                call.authorize("update")
                return updating.replace(call)
            case Method.POST if not named:
                call.authorize("create")
                return creating.create(call)
            case Method.POST if call.route.subresource == "binding":
                call.authorize("create")
                return bind(call)
            case Method.DELETE:
                call.authorize("delete" if named else "deletecollection")
                return deleting.delete(call) if named else delete_collection(call, cache)
            case other:
                raise method_not_allowed(call.route.resource, other.lower())

    def compact(self, revision: int | None = None, *, events: bool = True) -> None:
        """Drop history before `revision`; by default all of it.

        Later pages and lists from before it get 410. With `events`, so do watches that resume from before it;
        compaction alone does not cause that, because the watch cache keeps its own history.
        """
        at = self._storage.revision if revision is None else revision
        self._storage.compact(at)
        if events:
            self.forget_events(at)

    def forget_events(self, revision: int | None = None) -> None:
        """Make watches that resume from before `revision` receive an ERROR 410."""
        at = self._storage.revision if revision is None else revision
        for cache in self._caches.values():
            cache.forget_until(at)

    def lag(self, resource: Resource, behind: Lag) -> None:
        """Delay the watch cache of a resource at a revision, or at a function's result. None ends it."""
        self._caches[resource].hold(behind)

    def tick(self) -> None:
        """Do everything that is due: bookmarks, ends of watches, delayed caches that advance, compaction."""
        now = self._backend.now()
        for cache in self._caches.values():
            cache.tick(now)
        last, revision = self._compacted_at
        if self._compacts_every is not None and now - last >= self._compacts_every:
            # Compact up to the revision at the previous compaction, so that at least one interval of history
            # stays.
            self.compact(revision)
            self._compacted_at = (now, self._storage.revision)

    def next_due(self) -> datetime | None:
        """Return the time at which `tick` has something to do, or None."""
        times = (cache.next_due() for cache in self._caches.values())
        return min((time for time in times if time is not None), default=None)

    def break_watches(self, why: str = "the server went away") -> None:
        """End every watch, as a restart of the server does."""
        for cache in self._caches.values():
            for watch in cache.open_watches():
                watch.end(why)

    def snapshot(self) -> Snapshot:
        """Return a backup of the server's etcd."""
        return self._storage.snapshot()

    def restore(self, snapshot: Snapshot, *, bump: int = 0) -> None:
        """Restart the server on an etcd that was restored from a backup.

        `bump` is added to the revision of the backup. Without it, revisions are used a second time, and a
        watch that resumes from a revision not yet reached again receives nothing until it is reached.
        """
        self._storage.restore(snapshot, bump=bump)
        self._compacted_at = (self._backend.now(), self._storage.revision)
        for cache in self._caches.values():
            cache.begin_again()

    def collect_garbage(self) -> int:
        """Run one pass of the garbage collector and return the number of its writes. Repeat until it is 0."""
        answers = [self.handle(request, COLLECTOR) for request in collector_requests(self._storage)]
        return sum(answer.status < 300 for answer in answers)

    def export(self) -> dict[str, bytes]:
        """Return the JSON of every object by path, in a fixed order: equal worlds give equal bytes."""
        return {
            f"{table.resource}/{key}": table.rows[key].body
            for table in self._storage.tables()
            for key in table.keys
        }
