"""What was not recorded of power management, and follows from reading."""

from collections.abc import Coroutine
from typing import Any

from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.metal3.fixture import Fixture
from nodemend.testing.metal3.host import Host
from nodemend.testing.metal3.host_api import HostApi
from nodemend.testing.metal3.look import Again, Look, OperatorSettings, Outcome, Tools
from nodemend.testing.metal3.power import manage_power
from nodemend.testing.metal3.provisioner import Finished, HostRef, PowerAnswer, PowerRecord
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport


class JustDone(Fixture):
    """Had the machine on when it was asked, and off when it was told."""

    async def power(self, host: HostRef) -> PowerRecord:
        return PowerRecord(on=True)

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer:
        return Finished()


def finish(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Of work that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    raise AssertionError("it waits")


def tools() -> Tools:
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "p", HostClock())
    link = Link(process, SimulatedApiServer(scheduler.wall), GOOD_LINK)
    api = HostApi(SimulatedTransport(link), process)
    return Tools(api, JustDone(), process, OperatorSettings())


def test_power_that_changed_between_two_questions_is_taken_for_what_the_owner_wishes() -> None:
    annotations = {"reboot.metal3.io/nodemend": '{"mode":"hard"}'}
    host = Host(
        {
            "metadata": {"name": "h", "namespace": "n", "annotations": annotations},
            "spec": {"online": True},
            "status": {
                "poweredOn": True,
                "errorCount": 3,
                "provisioning": {"ID": "", "state": "provisioned"},
            },
        }
    )
    look = Look(host)

    assert finish(manage_power(look, tools())) == Again(60.0)

    assert look.dirty
    assert host.powered_on
    assert look.errors == 0
