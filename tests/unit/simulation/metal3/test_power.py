"""Power management: behaviour that was not recorded, and follows from reading the source."""

from collections.abc import Coroutine
from typing import Any

from simulation.api_server.server import SimulatedApiServer
from simulation.metal3.fixture import Fixture
from simulation.metal3.host import Host
from simulation.metal3.host_api import HostApi
from simulation.metal3.power import manage_power
from simulation.metal3.provisioner import Finished, HostRef, PowerAnswer, PowerRecord
from simulation.metal3.reconcile_pass import Again, Look, OperatorSettings, Outcome, Tools
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport


class JustDone(Fixture):
    """The machine was on when it was asked, and off by the time of the order."""

    async def power(self, host: HostRef) -> PowerRecord:
        return PowerRecord(on=True)

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer:
        return Finished()


def finish(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """The result of a coroutine that never suspends."""
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


def test_a_power_change_between_two_bmc_reads_counts_as_the_owner_s_request() -> None:
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
    observation = Look(host)

    assert finish(manage_power(observation, tools())) == Again(60.0)

    assert observation.dirty
    assert host.powered_on
    assert observation.errors == 0
