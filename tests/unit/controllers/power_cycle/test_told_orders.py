"""Since when a host's operator has told of a power-off, by its events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nodemend.api.bare_metal_host import BareMetalHost, BareMetalHostStatus
from nodemend.api.group_versions import BARE_METAL_HOST, EVENT
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import Metal3Remediation, Metal3RemediationStatus, OffSighting
from nodemend.api.timestamps import print_micro_time, print_time
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.host_reading import our_hold
from nodemend.controllers.power_cycle.told_orders import ToldOrders
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_request import Method
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
ASKED = Metal3RemediationStatus(off_asked_at=print_time(ASKED_AT))


class Place:
    """An API server with events, and somebody who asks it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("orders")
        server = SimulatedApiServer(self.scheduler.wall, namespaces=("metal3",))
        self.account = Account(server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "asker", HostClock())
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.orders = ToldOrders(Reader(ApiClient(transport, self.process), self.process))

    def tell(self, after: float, *, reason: str = "PowerOff", name: str = "h1", uid: str = "host-1") -> None:
        at = ASKED_AT + timedelta(seconds=after)
        event: dict[str, Any] = {
            "metadata": {"name": f"told-{abs(after):g}"},
            "eventTime": print_micro_time(at),
            "type": "Normal",
            "reason": reason,
            "action": reason,
            "note": "Host powered off",
            "regarding": {"kind": BARE_METAL_HOST.kind, "name": name, "namespace": "metal3", "uid": uid},
            "reportingController": "metal3.io/baremetal-operator",
            "reportingInstance": "one",
        }
        self.api.create(EVENT, event, "metal3")

    def ask(
        self, host: BareMetalHost | None = OFF, status: Metal3RemediationStatus = ASKED
    ) -> Seen[float] | None:
        remediation = Metal3Remediation(metadata=ObjectMeta(name="n1", uid="r-1"), status=status)
        answers: list[Seen[float]] = []

        async def ask() -> None:
            answers.append(await self.orders.told_after(host, remediation))

        self.process.spawn(ask(), "ask")
        self.scheduler.run(self.scheduler.now + 30.0)
        return answers[0]


def test_the_last_one_counts() -> None:
    place = Place()
    place.tell(-600.0)
    place.tell(2.5)
    place.tell(-30.0)

    assert place.ask() == Present(2.5)


def test_none_told_is_not_known() -> None:
    assert Place().ask() == Absent()


@pytest.mark.parametrize(
    "told",
    [{"reason": "PowerOn"}, {"name": "h2"}, {"uid": "a host of that name, before"}],
    ids=["of another order", "of another host", "of an older host"],
)
def test_what_is_told_of_something_else_does_not_count(told: dict[str, str]) -> None:
    place = Place()
    place.tell(2.0, **told)

    assert place.ask() == Absent()


def test_events_that_may_not_be_read_tell_nothing() -> None:
    place = Place()
    place.account.forbidden.add((Method.GET, "events"))

    assert isinstance(place.ask(), Unreadable)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (None, ASKED),
        (OFF.but(status=BareMetalHostStatus(powered_on=True)), ASKED),
        (OFF.but(metadata=HELD.but(annotations={})), ASKED),
        (OFF, ASKED.but(seen_off=OffSighting(last_updated="12:01"))),
        (OFF, ASKED.but(off_asked_at="")),
        (OFF, ASKED.but(off_asked_at="2026-01-01T12:00:00")),
    ],
    ids=["no host", "on", "not held", "seen before", "asked by an older release", "no time zone"],
)
def test_where_nothing_depends_on_it_nobody_is_asked(
    host: BareMetalHost | None, status: Metal3RemediationStatus
) -> None:
    place = Place()
    place.account.forbidden.add((Method.GET, "events"))

    assert place.ask(host, status) == Absent()
