"""What goes wrong with hosts, their BMCs and those who manage them: drawn from the seed, and counted."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.testing.cluster.world import World
from nodemend.testing.metal3.bmc import BmcFaults, Order
from nodemend.testing.metal3.rack import NAMESPACE, Rack
from nodemend.testing.processes import HostClock, SimulatedProcess
from tests.simulation.walking_path.faults import FAULTS_CEASE

_LASTS: Final = (5.0, 40.0, 150.0, 500.0)
_ANOTHER: Final = "reboot.metal3.io/somebody-else"


class HostFaults:
    """Each is over by itself, and none begins late."""

    def __init__(self, world: World, rack: Rack) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._rack = rack
        self._chance = world.scheduler.chance("host faults")

    def plan(self) -> None:
        for _ in range(self._chance.randint(0, 10)):
            when = self._chance.uniform(60.0, FAULTS_CEASE - 300.0)
            self._world.scheduler.at(when, lambda: self._disturb(self._pick()))
        for _ in range(self._chance.randint(2, 6)):
            when = self._chance.uniform(60.0, FAULTS_CEASE - 500.0)
            self._world.scheduler.at(when, self._break_for_long)
        self._world.remediator.witnesses.append(self._saw_write)
        self._world.scheduler.at(FAULTS_CEASE, self._cease)

    def _break_for_long(self) -> None:
        """For long enough that somebody does something about it. A boot heals a machine that hangs."""
        machine = self._world.machines[self._chance.choice(sorted(self._world.machines))]
        kind = self._chance.choice(("hangs", "is cut off"))
        self.counts[f"machine {kind} for long"] += 1
        self._world.scheduler.note(f"fault: {machine.name} {kind}")
        if kind == "hangs":
            machine.hung = True
        else:
            machine.connected = False
            self._later(lambda: setattr(machine, "connected", True), (400.0, 700.0, 1200.0))

    def _saw_write(self, _user: str, request: Request, _answer: Answer) -> None:
        """A host was held or given back: most of what can go wrong with it matters in the next minute."""
        now, name = self._world.scheduler.now, request.path.rpartition("/")[2]
        if "/baremetalhosts/" in request.path and now < FAULTS_CEASE - 120.0 and self._chance.random() < 0.7:
            self._world.scheduler.after(self._chance.uniform(0.0, 70.0), lambda: self._disturb(name))

    def _disturb(self, name: str) -> None:
        happenings: dict[str, Callable[[str], None]] = {
            "bmc silent": lambda name: self._bmc(name, BmcFaults(unreachable=True)),
            "off refused": lambda name: self._bmc(name, BmcFaults(off_refused=True)),
            "off never done": lambda name: self._bmc(name, BmcFaults(off_never_done=True)),
            "switched on by hand": lambda name: self._rack.bmcs[name].press(on=True),
            "switched off by hand": lambda name: self._rack.bmcs[name].press(on=False),
            "on by the bmc": lambda name: self._order(name, Order.ON),
            "off by the bmc": lambda name: self._order(name, Order.FORCE_OFF),
            "paused": lambda name: self._annotate(name, keys.HOST_PAUSED, ""),
            "detached": lambda name: self._annotate(name, keys.HOST_DETACHED, ""),
            "detour": self._detour,
            "held by another": lambda name: self._annotate(name, _ANOTHER, ""),
            "wanted off": self._want_off,
            "power off disabled": self._disable,
            "our hold taken off": self._take_holds_off,
            "operator dies": lambda _: self._rack.operator.process.crash(),
            "operator sleeps": lambda _: self._rack.operator.process.pause(self._chance.choice(_LASTS)),
            "ironic stops": lambda _: self._stop_ironic(),
            "remediation deleted": self._delete_remediation,
        }
        what = self._chance.choice(sorted(happenings))
        self.counts[f"host {what}"] += 1
        self._world.scheduler.note(f"fault: {what}, {name}")
        happenings[what](name)

    def _pick(self) -> str:
        """Rather one that is under remediation."""
        busy: list[str] = [one["metadata"]["name"] for one in self._world.admin_api.list(METAL3_REMEDIATION)]
        names = sorted(self._world.machines)
        return self._chance.choice(busy if busy and self._chance.random() < 0.8 else names)

    def _later(self, undo: Callable[[], None], after: tuple[float, ...] = _LASTS) -> None:
        lasts = self._chance.choice(after)
        self._world.scheduler.at(min(self._world.scheduler.now + lasts, FAULTS_CEASE), undo)

    def _stop_ironic(self) -> None:
        ironic = self._rack.ironic
        ironic.stop()

        def start() -> None:
            if not ironic.running:
                ironic.start(SimulatedProcess(self._world.scheduler, "ironic", HostClock()))

        self._later(start)

    def _bmc(self, name: str, faults: BmcFaults) -> None:
        bmc = self._rack.bmcs[name]
        bmc.faults = faults
        self._later(lambda: setattr(bmc, "faults", BmcFaults()))

    def _order(self, name: str, order: Order) -> None:
        self._rack.bmcs[name].take(order)

    def _annotate(self, name: str, key: str, value: str) -> None:
        self._patch(name, {"metadata": {"annotations": {key: value}}})
        self._later(lambda: self._patch(name, {"metadata": {"annotations": {key: None}}}))

    def _detour(self, name: str) -> None:
        """Taken out of metal3's hands, switched on at its BMC, and given back, as if nothing had been."""
        scheduler, detached = self._world.scheduler, keys.HOST_DETACHED
        self._patch(name, {"metadata": {"annotations": {detached: ""}}})
        scheduler.after(3.0, lambda: self._rack.bmcs[name].press(on=True))
        scheduler.after(8.0, lambda: self._patch(name, {"metadata": {"annotations": {detached: None}}}))

    def _want_off(self, name: str) -> None:
        self._patch(name, {"spec": {"online": False}})
        self._later(lambda: self._patch(name, {"spec": {"online": True}}))

    def _disable(self, name: str) -> None:
        self._patch(name, {"spec": {"disablePowerOff": True}})
        self._later(lambda: self._patch(name, {"spec": {"disablePowerOff": False}}))

    def _take_holds_off(self, name: str) -> None:
        host = self._world.admin_api.get(BARE_METAL_HOST, name, NAMESPACE)
        annotations = host["metadata"].get("annotations", {}) if host else {}
        ours = [key for key in annotations if key.startswith(keys.OUR_HOLD_PREFIX)]
        if ours:
            self._patch(name, {"metadata": {"annotations": dict.fromkeys(ours)}})

    def _delete_remediation(self, name: str) -> None:
        self._world.admin_api.delete(METAL3_REMEDIATION, name, keys.SYSTEM_NAMESPACE)

    def _patch(self, name: str, change: dict[str, object]) -> None:
        self._world.admin_api.patch(BARE_METAL_HOST, name, change, at=(NAMESPACE, ""))

    def _cease(self) -> None:
        for bmc in self._rack.bmcs.values():
            bmc.faults = BmcFaults()
