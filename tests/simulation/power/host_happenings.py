"""The faults of hosts, one by one. Each undoes itself after a while."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.testing.cluster.world import World
from nodemend.testing.metal3.bmc import BmcFaults, Order
from nodemend.testing.metal3.names import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from nodemend.testing.metal3.rack import NAMESPACE, Rack
from nodemend.testing.processes import HostClock, SimulatedProcess
from tests.simulation.walking_path.faults import FAULTS_CEASE

Happening = Callable[[str], None]

_LASTS: Final = (5.0, 40.0, 150.0, 500.0)
_ANOTHER: Final = "reboot.metal3.io/somebody-else"
HANDS: Final = frozenset(
    {
        "switched on by hand",
        "switched off by hand",
        "switched on while paused",
        "on by the bmc",
        "off by the bmc",
        "detour",
        "held by another",
        "wanted off",
        "power off disabled",
        "our hold taken off",
        "firmware work",
    }
)
"""Those in which a machine may go on that is held off by us."""


class HostHappenings:
    def __init__(self, world: World, rack: Rack, chance: random.Random) -> None:
        self._world = world
        self._rack = rack
        self._chance = chance

    def all(self) -> dict[str, Happening]:
        return {
            "bmc silent": partial(self._bmc, unreachable=True),
            "off refused": partial(self._bmc, off_refused=True),
            "bmc says OK and does nothing": partial(self._bmc, off_never_done=True),
            "switched on by hand": lambda name: self._rack.bmcs[name].press(on=True),
            "switched off by hand": lambda name: self._rack.bmcs[name].press(on=False),
            "switched on while paused": partial(self._detour, keys.HOST_PAUSED),
            "on by the bmc": partial(self._order, Order.ON),
            "off by the bmc": partial(self._order, Order.FORCE_OFF),
            "paused": partial(self._annotate, keys.HOST_PAUSED, _LASTS),
            "detached": partial(self._annotate, keys.HOST_DETACHED, _LASTS),
            "detached for a moment": partial(self._annotate, keys.HOST_DETACHED, (1.0, 4.0, 10.0)),
            "detour": partial(self._detour, keys.HOST_DETACHED),
            "firmware work": self._service,
            "held by another": partial(self._annotate, _ANOTHER, _LASTS),
            "wanted off": partial(self._specify, "online", False, True),
            "power off disabled": partial(self._specify, "disablePowerOff", True, False),
            "our hold taken off": self._take_holds_off,
            "operator dies": lambda _: self._rack.operator.process.crash(),
            "operator sleeps": lambda _: self._rack.operator.process.pause(self._chance.choice(_LASTS)),
            "ironic stops": lambda _: self._stop_ironic(),
            "remediation deleted": self._delete_remediation,
            "remediation called off": self._call_off,
        }

    def later(self, undo: Callable[[], None], after: tuple[float, ...] = _LASTS) -> None:
        lasts = self._chance.choice(after)
        self._world.scheduler.at(min(self._world.scheduler.now + lasts, FAULTS_CEASE), undo)

    def cease(self) -> None:
        for bmc in self._rack.bmcs.values():
            bmc.faults = BmcFaults()

    def _stop_ironic(self) -> None:
        ironic = self._rack.ironic
        ironic.stop()

        def start() -> None:
            if not ironic.running:
                ironic.start(SimulatedProcess(self._world.scheduler, "ironic", HostClock()))

        self.later(start)

    def _bmc(self, name: str, **faults: bool) -> None:
        bmc = self._rack.bmcs[name]
        bmc.faults = BmcFaults(**faults)
        self.later(lambda: setattr(bmc, "faults", BmcFaults()))

    def _order(self, order: Order, name: str) -> None:
        self._rack.bmcs[name].take(order)

    def _annotate(self, key: str, lasts: tuple[float, ...], name: str) -> None:
        self._patch(name, {"metadata": {"annotations": {key: ""}}})
        self.later(lambda: self._patch(name, {"metadata": {"annotations": {key: None}}}), lasts)

    def _detour(self, key: str, name: str) -> None:
        """Taken out of metal3's hands, switched on at its BMC, and given back, as if nothing had been."""
        scheduler = self._world.scheduler
        self._patch(name, {"metadata": {"annotations": {key: ""}}})
        scheduler.after(3.0, lambda: self._rack.bmcs[name].press(on=True))
        scheduler.after(8.0, lambda: self._patch(name, {"metadata": {"annotations": {key: None}}}))

    def _service(self, name: str) -> None:
        """Settings have been changed, to be applied at the next reboot."""
        api, metadata = self._world.admin_api, {"metadata": {"name": name}}
        if api.get(HOST_UPDATE_POLICY, name, NAMESPACE) is None:
            api.create(HOST_UPDATE_POLICY, {**metadata, "spec": {"firmwareSettings": "onReboot"}}, NAMESPACE)
            api.create(HOST_FIRMWARE_SETTINGS, metadata, NAMESPACE)
        said = [{"type": kind, "status": "True"} for kind in ("ChangeDetected", "Valid")]
        change = {"status": {"conditions": said}}
        api.patch(HOST_FIRMWARE_SETTINGS, name, change, at=(NAMESPACE, "status"))

    def _specify(self, field: str, value: Any, usual: Any, name: str) -> None:
        self._patch(name, {"spec": {field: value}})
        self.later(lambda: self._patch(name, {"spec": {field: usual}}))

    def _take_holds_off(self, name: str) -> None:
        host = self._world.admin_api.get(BARE_METAL_HOST, name, NAMESPACE)
        annotations = host["metadata"].get("annotations", {}) if host else {}
        ours = [key for key in annotations if key.startswith(keys.OUR_HOLD_PREFIX)]
        if ours:
            self._patch(name, {"metadata": {"annotations": dict.fromkeys(ours)}})

    def _delete_remediation(self, name: str) -> None:
        self._world.admin_api.delete(METAL3_REMEDIATION, name, keys.SYSTEM_NAMESPACE)

    def _call_off(self, name: str) -> None:
        """As medik8s' check does when its time is over; what is left of it is cleared away by hand."""
        change = {"metadata": {"annotations": {keys.TIMED_OUT: "long ago"}}}
        self._world.admin_api.patch(METAL3_REMEDIATION, name, change, at=(keys.SYSTEM_NAMESPACE, ""))
        self.later(lambda: self._delete_remediation(name))

    def ask_as_a_stranger(self, node: str) -> None:
        """Beside our check, in another namespace."""
        api = self._world.admin_api
        if api.get(METAL3_REMEDIATION, node, NAMESPACE) is not None:
            return
        spec = {"strategy": "retry", "powerOffTimeoutSeconds": 300, "powerOnTimeoutSeconds": 120}
        api.create(METAL3_REMEDIATION, {"metadata": {"name": node}, "spec": spec}, NAMESPACE)
        self.later(lambda: api.delete(METAL3_REMEDIATION, node, NAMESPACE), (30.0, 200.0, 600.0))

    def _patch(self, name: str, change: dict[str, object]) -> None:
        self._world.admin_api.patch(BARE_METAL_HOST, name, change, at=(NAMESPACE, ""))
