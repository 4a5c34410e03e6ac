"""A small world with one host: API server, operator, provisioner, BMC and machine, in virtual time."""

from collections import Counter
from typing import Final

from nodemend.api.resources import BARE_METAL_HOST, EVENT
from simulation.api_server.admission import ADMIN, User
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.world import Account
from simulation.metal3.bmc import SimulatedBmc
from simulation.metal3.fixture import Fixture
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.host_api import NO_REASON
from simulation.metal3.ironic import Ironic, IronicClient
from simulation.metal3.ironic_node import IronicSettings
from simulation.metal3.operator import HostOperator
from simulation.metal3.reconcile_pass import OperatorSettings
from simulation.network import Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.campaigns.host_conformance.recorded_states import RecordedStates

BMC: Final = "redfish://bmc-1/redfish/v1/Systems/1"
# All parts ran on one machine during the recording.
_LOOPBACK: Final = LinkQuality(delay=(0.001, 0.003))
_SETTINGS: Final = {"fixture": OperatorSettings(poll=3.0), "ironic": OperatorSettings(poll=10.0)}


class LuckyProcess(SimulatedProcess):
    """A process whose random values are all the same."""

    def __init__(self, scheduler: Scheduler, name: str, luck: float) -> None:
        super().__init__(scheduler, name, HostClock())
        self._luck = luck

    def random(self) -> float:
        return self._luck


class PlainMachine:
    """On or off. It was running when metal3 first inspected it, if it has a BMC."""

    def __init__(self) -> None:
        self.powered = True

    def power_off(self) -> None:
        self.powered = False

    def power_on(self) -> None:
        self.powered = True


class Stage:
    """`luck` is the value of every random draw, in [0, 1)."""

    def __init__(self, stack: str, luck: float) -> None:
        self.scheduler = Scheduler(stack)
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=map(a_definition, (BARE_METAL_HOST, HOST_UPDATE_POLICY, HOST_FIRMWARE_SETTINGS)),
        )
        self.api = Direct(Account(self.server, ADMIN))
        self.recorded = RecordedStates(self.scheduler, self.api)
        self.bmc = SimulatedBmc(self._process("bmc", luck), PlainMachine())
        self.failures: list[str] = []
        self._account = Account(self.server, User("system:serviceaccount:metal3:baremetal-operator"))
        self._account.witnesses.append(self.recorded.witness)
        self._stack = stack
        self._luck = luck
        self._fixture = Fixture()
        self._ironic = Ironic({BMC: self.bmc})
        self._processes: list[SimulatedProcess] = []
        self.start_ironic()
        self.start_operator()
        self._chores()

    @property
    def now(self) -> float:
        return self.scheduler.now

    def _process(self, name: str, luck: float) -> LuckyProcess:
        return LuckyProcess(self.scheduler, name, luck)

    def start_operator(self) -> None:
        process = self._process("operator", self._luck)
        self._processes.append(process)
        transport = SimulatedTransport(Link(process, self._account, _LOOPBACK))
        provisioner = IronicClient(self._ironic, process) if self._stack == "ironic" else self._fixture
        operator = HostOperator(process, transport, provisioner, _SETTINGS[self._stack])
        process.spawn(operator.run(), "operator")

    def stop_operator(self) -> None:
        process = self._processes[-1]
        self.failures += [f"{name} raised {error!r}" for name, error in process.unjoined_failures]
        process.crash()

    def start_ironic(self, settings: IronicSettings | None = None) -> None:
        self._ironic.start(self._process("ironic", self._luck), settings)

    def stop_ironic(self) -> None:
        self._ironic.stop()

    def events(self) -> Counter[str]:
        """The number of published events by reason."""
        reasons = Counter(event["reason"] for event in self.api.list(EVENT))
        if NO_REASON in reasons:
            reasons["(empty reason)"] = reasons.pop(NO_REASON)
        return reasons

    def close(self) -> None:
        self.stop_operator()
        self.stop_ironic()

    def _chores(self) -> None:
        """Work of the API server and the garbage collector."""
        self.server.tick()
        self.server.collect_garbage()
        self.scheduler.after(1.0, self._chores)
