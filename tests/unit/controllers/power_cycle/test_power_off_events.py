"""Which PowerOff events of a host are read, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nodemend.api.bare_metal_host import BareMetalHost, BareMetalHostStatus
from nodemend.api.group_versions import BARE_METAL_HOST, EVENT
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import (
    Metal3Remediation,
    Metal3RemediationStatus,
    OffSighting,
    Phase,
    PowerOffEvent,
)
from nodemend.api.timestamps import print_micro_time
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.host_reading import our_hold
from nodemend.controllers.power_cycle.power_off_events import read_power_offs
from nodemend.controllers.remediating.surroundings import NOT_ASKED
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_request import Method
from nodemend.kube.paged_list import PAGE_SIZE
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport

ASKED_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = ObjectMeta(name="h1", namespace="metal3", uid="host-1", annotations={our_hold("r-1"): "{}"})
OFF = BareMetalHost(metadata=HELD, status=BareMetalHostStatus(powered_on=False))
ON = BareMetalHost(metadata=HELD.but(annotations={}), status=BareMetalHostStatus(powered_on=True))
ASKED = Metal3RemediationStatus(phase=Phase.POWER_OFF, power_off_events=())
PowerOffs = Seen[tuple[PowerOffEvent, ...]]


class Place:
    """An API server with events, and somebody who asks it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("orders")
        server = SimulatedApiServer(self.scheduler.wall, namespaces=("metal3",))
        self.account = Account(server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "asker", HostClock())
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.reader = Reader(ApiClient(transport, self.process), self.process)

    def tell(
        self,
        event: str,
        *,
        after: float = 0.0,
        reason: str = "PowerOff",
        name: str = "h1",
        uid: str = "host-1",
    ) -> PowerOffEvent:
        at = ASKED_AT + timedelta(seconds=after)
        content: dict[str, Any] = {
            "metadata": {"name": event},
            "eventTime": print_micro_time(at),
            "type": "Normal",
            "reason": reason,
            "action": reason,
            "note": "Host powered off",
            "regarding": {"kind": BARE_METAL_HOST.kind, "name": name, "namespace": "metal3", "uid": uid},
            "reportingController": "metal3.io/baremetal-operator",
            "reportingInstance": "one",
        }
        made = self.api.create(EVENT, content, "metal3")
        return PowerOffEvent(uid=made["metadata"]["uid"])

    def repeat(self, event: str, count: int) -> None:
        """As a recorder does that aggregates: the event stays, and counts on."""
        series = {"count": count, "lastObservedTime": print_micro_time(ASKED_AT)}
        self.api.patch(EVENT, event, {"series": series}, at=("metal3", ""))

    def ask(self, host: BareMetalHost | None = OFF, status: Metal3RemediationStatus = ASKED) -> PowerOffs:
        remediation = Metal3Remediation(metadata=ObjectMeta(name="n1", uid="r-1"), status=status)
        answers: list[PowerOffs] = []

        async def ask() -> None:
            answers.append(await read_power_offs(self.reader, host, remediation))

        self.process.spawn(ask(), "ask")
        self.scheduler.run(self.scheduler.now + 30.0)
        return answers[0]


@pytest.mark.attack("K2")
@pytest.mark.parametrize("off", [-3600.0, -180.0, 180.0, 3600.0])
def test_no_time_is_compared(off: float) -> None:
    place = Place()
    first, second = place.tell("a", after=off), place.tell("b", after=-off)

    assert place.ask() == Present(tuple(sorted((first, second), key=lambda one: one.uid)))


@pytest.mark.attack("K2")
def test_an_event_that_is_aggregated_counts_on() -> None:
    place = Place()
    known = place.tell("a")
    place.repeat("a", 7)

    assert place.ask() == Present((known.but(count=7),))


@pytest.mark.attack("K2")
def test_a_name_that_is_used_again_is_another_event() -> None:
    place = Place()
    gone = place.tell("a")
    place.api.delete(EVENT, "a", "metal3")
    again = place.tell("a")

    assert gone != again
    assert place.ask() == Present((again,))


@pytest.mark.attack("K2")
def test_all_pages_of_a_long_list_are_read() -> None:
    place = Place()
    told = {place.tell(f"e{number}").uid for number in range(PAGE_SIZE + 10)}

    found = place.ask()
    assert isinstance(found, Present)
    assert {one.uid for one in found.value} == told


def test_no_event_is_an_answer() -> None:
    assert Place().ask() == Present(())


@pytest.mark.parametrize(
    "told",
    [{"reason": "PowerOn"}, {"name": "h2"}, {"uid": "a host of that name, before"}],
    ids=["of another order", "of another host", "of an older host"],
)
def test_events_of_something_else_are_left_out(told: dict[str, str]) -> None:
    place = Place()
    place.tell("a", **told)  # type: ignore[arg-type]

    assert place.ask() == Present(())


@pytest.mark.parametrize(
    ("host", "status"),
    [(OFF, ASKED), (ON, ASKED), (ON, Metal3RemediationStatus())],
    ids=["held and off", "to be switched off", "pending"],
)
def test_events_that_may_not_be_read_are_unreadable(
    host: BareMetalHost, status: Metal3RemediationStatus
) -> None:
    place = Place()
    place.account.forbidden.add((Method.GET, "events"))
    answer = place.ask(host, status)

    assert isinstance(answer, Unreadable)
    assert answer != NOT_ASKED


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (None, ASKED),
        (OFF.but(status=BareMetalHostStatus(powered_on=True)), ASKED),
        (ON, ASKED.but(phase=Phase.POWER_ON)),
        (OFF, ASKED.but(seen_off=OffSighting(last_updated="12:01"))),
        (OFF, ASKED.but(power_off_events=None)),
    ],
    ids=["no host", "on", "over", "seen before", "requested by an earlier release"],
)
def test_where_nothing_depends_on_them_they_are_not_read(
    host: BareMetalHost | None, status: Metal3RemediationStatus
) -> None:
    place = Place()
    place.account.forbidden.add((Method.GET, "events"))

    assert place.ask(host, status) == NOT_ASKED
