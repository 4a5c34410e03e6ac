"""Informers start and stop with the checks that use their kinds."""

from collections.abc import Iterator, Sequence

import pytest

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION
from nodemend.health.remediation_index import NotServed, RemediationInformers, RemedyKind, TemplateKind
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from nodemend.kube.store import Change
from nodemend.records.remediation import RemediationRecord
from simulation.api_server.admission import User
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch
from simulation.cluster.direct import Direct
from simulation.cluster.foreign_kinds import a_definition, foreign
from simulation.cluster.world import DEFINITIONS, Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.unit.health.node.stories import REBOOT

REBOOT_TEMPLATE = foreign("RebootTemplate")
ASKED = TemplateKind("example.com/v1", "RebootTemplate")
AT = ("default", "")
UNKNOWN = TemplateKind("example.com/v1", "FenceTemplate")


class Door:
    """The checker's endpoint; some resources are refused."""

    def __init__(self, server: SimulatedApiServer, forbidden: set[str]) -> None:
        self._account = Account(server, User("checker"))
        self._forbidden = forbidden

    def handle(self, request: Request) -> ApiResponse:
        return self._refusal(request) or self._account.handle(request)

    def watch(self, request: Request) -> SimulatedWatch | ApiResponse:
        return self._refusal(request) or self._account.watch(request)

    def _refusal(self, request: Request) -> ApiResponse | None:
        body = b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no right"}'
        return ApiResponse(403, body) if request.path.rpartition("/")[2] in self._forbidden else None


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
        self.reported = 0
        self.watch = RemediationInformers(self.process, SimulatedTransport(link), self._note)
        self.task = self.process.spawn(self.watch.run(), "remedies")

    def _note(self, changes: Sequence[Change[RemediationRecord]]) -> None:
        self.reported += 1
        self.changes += [f"{change.key} {'is there' if change.new else 'is gone'}" for change in changes]

    def run(self, seconds: float = 5.0) -> "Story":
        end = self.scheduler.now + seconds
        while self.scheduler.now < end:
            # A steady stream of writes to other objects, which bookmarks report.
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


def test_nodemend_s_own_kind_is_always_watched(story: Story) -> None:
    assert story.watched == {MANUAL_REMEDIATION.kind}
    assert story.watch.remedies.synced


def test_a_requested_kind_is_discovered_watched_and_released_again(story: Story) -> None:
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


def test_a_change_in_a_kind_s_state_is_reported(story: Story) -> None:
    before = story.reported
    story.watch.want("test", frozenset({UNKNOWN}))
    assert story.run().reported == before + 1
    assert story.run(60.0).reported == before + 1


def test_an_unserved_kind_is_discovered_again_and_blocks_no_other(story: Story) -> None:
    story.watch.want("test", frozenset({UNKNOWN}))
    story.run()
    assert story.watch.remedies.kinds[UNKNOWN] == NotServed("example.com/v1 has no kind FenceTemplate")
    assert story.watch.remedies.synced
    assert story.watch.remedies.age(story.process.monotonic()) < 60


def test_a_kind_that_may_not_be_listed_blocks_no_other_until_it_may_be(story: Story) -> None:
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


def test_a_kind_with_an_old_view_is_requested_again(story: Story) -> None:
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
