"""Kinds come and go with the checks that ask for them."""

from collections.abc import Iterator, Sequence

import pytest

from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION
from nodemend.controllers.checking.remedies import Asked, NotServed, RemedyKind
from nodemend.controllers.checking.remedy_watch import RemedyWatch
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.kube.object_cache import Change
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.kube.remediation_record import RemediationRecord
from nodemend.testing.api_server.admission import User
from nodemend.testing.api_server.server import NAMESPACES, SimulatedApiServer
from nodemend.testing.api_server.watching import SimulatedWatch
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.foreign_kinds import a_definition, foreign
from nodemend.testing.cluster.world import DEFINITIONS, Account
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport
from tests.unit.controllers.node_health_check.stories import REBOOT

REBOOT_TEMPLATE = foreign("RebootTemplate")
ASKED = Asked("example.com/v1", "RebootTemplate")
AT = ("default", "")
UNKNOWN = Asked("example.com/v1", "FenceTemplate")


class Door:
    """The checker's way in, closed for some resources."""

    def __init__(self, server: SimulatedApiServer, forbidden: set[str]) -> None:
        self._account = Account(server, User("checker"))
        self._forbidden = forbidden

    def handle(self, request: Request) -> Answer:
        return self._refusal(request) or self._account.handle(request)

    def watch(self, request: Request) -> SimulatedWatch | Answer:
        return self._refusal(request) or self._account.watch(request)

    def _refusal(self, request: Request) -> Answer | None:
        body = b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no right"}'
        return Answer(403, body) if request.path.rpartition("/")[2] in self._forbidden else None


class Story:
    def __init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=(*DEFINITIONS, a_definition(REBOOT), a_definition(REBOOT_TEMPLATE)),
            namespaces=NAMESPACES,
        )
        self.api = Direct(Account(self.server, User("admin")))
        self.api.create(LEASE, {"metadata": {"name": "busy"}, "spec": {}}, "default")
        self.process = SimulatedProcess(self.scheduler, "p", HostClock())
        self.forbidden: set[str] = set()
        link = Link(self.process, Door(self.server, self.forbidden), GOOD_LINK)
        self.changes: list[str] = []
        self.told = 0
        self.watch = RemedyWatch(self.process, SimulatedTransport(link), ReflectorTimings(), self._note)
        self.task = self.process.spawn(self.watch.run(), "remedies")

    def _note(self, changes: Sequence[Change[RemediationRecord]]) -> None:
        self.told += 1
        self.changes += [f"{change.key} {'is there' if change.new else 'is gone'}" for change in changes]

    def run(self, seconds: float = 5.0) -> "Story":
        end = self.scheduler.now + seconds
        while self.scheduler.now < end:
            # Somewhere something is always written: bookmarks tell of it.
            self.api.patch(
                LEASE, "busy", {"metadata": {"labels": {"at": f"{self.scheduler.now:.0f}"}}}, at=AT
            )
            self.server.tick()
            self.scheduler.run(min(self.scheduler.now + 1.0, end))
        return self

    @property
    def watched(self) -> set[str]:
        return {resource.kind for resource in self.watch.remedies.caches}


@pytest.fixture
def story() -> Iterator[Story]:
    begun = Story().run()
    yield begun
    begun.process.crash()


def test_our_own_kind_is_always_watched(story: Story) -> None:
    assert story.watched == {MANUAL_REMEDIATION.kind}
    assert story.watch.remedies.synced


def test_a_kind_that_is_asked_for_is_found_and_watched_and_let_go_again(story: Story) -> None:
    story.watch.want("test", frozenset({ASKED}))
    story.run()
    assert story.watch.remedies.kinds[ASKED] == RemedyKind(REBOOT_TEMPLATE, REBOOT)
    assert (story.watched, story.watch.remedies.synced) == ({"ManualRemediation", "Reboot"}, True)
    story.api.create(REBOOT, {"metadata": {"name": "n1"}, "spec": {}}, "default")
    story.run()
    assert story.changes == ["default/n1 is there"]
    assert [record.name for record in story.watch.remedies.all()] == ["n1"]

    story.watch.want("test", frozenset())
    story.run()
    assert story.watched == {"ManualRemediation"}
    assert not list(story.watch.remedies.all())


def test_a_kind_that_no_check_names_is_watched_until_what_a_check_asked_for_is_gone(story: Story) -> None:
    story.watch.want("test", frozenset({ASKED}))
    asked_for = {"name": "n1", "annotations": {"nodemend.io/check-uid": "c1"}}
    story.run().api.create(REBOOT, {"metadata": asked_for, "spec": {}}, "default")
    story.run().watch.want("test", frozenset())
    assert story.run(20.0).watched == {"ManualRemediation", "Reboot"}
    story.api.delete(REBOOT, "n1", "default")
    assert story.run(20.0).watched == {"ManualRemediation"}


def test_but_not_when_its_view_has_grown_old(story: Story) -> None:
    story.watch.want("test", frozenset({ASKED}))
    asked_for = {"name": "n1", "annotations": {"nodemend.io/check-uid": "c1"}}
    story.run().api.create(REBOOT, {"metadata": asked_for, "spec": {}}, "default")
    story.run().watch.want("test", frozenset())
    story.forbidden.add(REBOOT.plural)
    assert story.run(800.0).watched == {"ManualRemediation"}


def test_that_what_is_known_of_a_kind_has_changed_is_told(story: Story) -> None:
    before = story.told
    story.watch.want("test", frozenset({UNKNOWN}))
    assert story.run().told == before + 1
    assert story.run(60.0).told == before + 1


def test_a_kind_that_is_not_served_is_looked_for_again_and_holds_up_nobody(story: Story) -> None:
    story.watch.want("test", frozenset({UNKNOWN}))
    story.run()
    assert story.watch.remedies.kinds[UNKNOWN] == NotServed("example.com/v1 has no kind FenceTemplate")
    assert story.watch.remedies.synced
    assert story.watch.remedies.age(story.process.monotonic()) < 60


def test_a_kind_that_may_not_be_listed_holds_up_nobody_either_until_it_may_be(story: Story) -> None:
    story.forbidden.add(REBOOT.plural)
    story.watch.want("test", frozenset({ASKED}))
    story.run()
    kind = story.watch.remedies.kinds[ASKED]
    assert isinstance(kind, NotServed)
    assert kind.why.startswith("the checker may not list reboots.example.com")
    assert (story.watched, story.watch.remedies.synced) == ({"ManualRemediation"}, True)

    story.forbidden.clear()
    story.run(20.0)
    assert story.watched == {"ManualRemediation", "Reboot"}


def test_a_kind_whose_view_has_grown_old_is_asked_for_again(story: Story) -> None:
    story.watch.want("test", frozenset({ASKED}))
    story.run()
    story.forbidden.add(REBOOT.plural)
    story.run(800.0)
    assert isinstance(story.watch.remedies.kinds[ASKED], NotServed)
    assert story.watch.remedies.age(story.process.monotonic()) < 60


def test_when_it_is_cancelled_its_watches_end_with_it(story: Story) -> None:
    story.task.cancel()
    story.run()
    assert story.task.done
    story.api.create(MANUAL_REMEDIATION, {"metadata": {"name": "n1"}, "spec": {}}, "default")
    story.run()
    assert story.changes == []
