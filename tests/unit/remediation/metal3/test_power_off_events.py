"""The PowerOff events of a host: which are read, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nodemend.api.meta import ObjectMeta, print_micro_time
from nodemend.api.metal3_remediation import (
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationStatus,
    OffSighting,
    PowerOffEvent,
)
from nodemend.api.resources import BARE_METAL_HOST, EVENT
from nodemend.api.upstream_types import BareMetalHost, BareMetalHostStatus
from nodemend.kube.client import PAGE_SIZE, ApiClient
from nodemend.kube.request import Method
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.metal3.host_lookup import power_off_request, read_power_offs
from nodemend.remediation.node_state import NOT_ASKED
from nodemend.safety.facts import Present, ReadResult, Unreadable
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

ASKED_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
HELD = ObjectMeta(name="h1", namespace="metal3", uid="host-1", annotations={power_off_request("r-1"): "{}"})
OFF = BareMetalHost(metadata=HELD, status=BareMetalHostStatus(powered_on=False))
ON = BareMetalHost(metadata=HELD.but(annotations={}), status=BareMetalHostStatus(powered_on=True))
ASKED = Metal3RemediationStatus(phase=Metal3RemediationPhase.POWER_OFF, power_off_events=())
PowerOffs = ReadResult[tuple[PowerOffEvent, ...]]


class Place:
    """An API server with events, and a client that reads them."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("orders")
        server = SimulatedApiServer(self.scheduler.wall, namespaces=("metal3",))
        self.account = Account(server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "asker", HostClock())
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.reader = LiveReader(ApiClient(transport, self.process), self.process)

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
        """Aggregate as an event recorder does: the event stays, and its count grows."""
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
    reported = {place.tell(f"e{number}").uid for number in range(PAGE_SIZE + 10)}

    found = place.ask()
    assert isinstance(found, Present)
    assert {one.uid for one in found.value} == reported


def test_no_event_is_an_answer() -> None:
    assert Place().ask() == Present(())


@pytest.mark.parametrize(
    "reported",
    [{"reason": "PowerOn"}, {"name": "h2"}, {"uid": "a host of that name, before"}],
    ids=["of another order", "of another host", "of an older host"],
)
def test_events_of_something_else_are_left_out(reported: dict[str, str]) -> None:
    place = Place()
    place.tell("a", **reported)  # type: ignore[arg-type]

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
        (ON, ASKED.but(phase=Metal3RemediationPhase.POWER_ON)),
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
