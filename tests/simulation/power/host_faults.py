"""The faults of hosts. Each reverts itself after a while."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION
from simulation.cluster.world import World
from simulation.metal3.bmc import BmcFaults, Order
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.rack import NAMESPACE, Rack
from simulation.processes import HostClock, SimulatedProcess
from tests.simulation.walking_path.faults import FAULTS_CEASE

HostFault = Callable[[str], None]

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
"""Faults that may power a machine on although Nodemend requests power off."""


class HostHappenings:
    def __init__(self, world: World, rack: Rack, chance: random.Random) -> None:
        self._world = world
        self._rack = rack
        self._chance = chance

    def all(self) -> dict[str, HostFault]:
        return {
            "bmc silent": partial(self._bmc, unreachable=True),
            "off refused": partial(self._bmc, off_refused=True),
            "bmc says OK and does nothing": partial(self._bmc, off_never_done=True),
            "switched on by hand": lambda name: self._rack.bmcs[name].press(on=True),
            "switched off by hand": lambda name: self._rack.bmcs[name].press(on=False),
            "switched on while paused": partial(self._detour, well_known.HOST_PAUSED),
            "on by the bmc": partial(self._order, Order.ON),
            "off by the bmc": partial(self._order, Order.FORCE_OFF),
            "paused": partial(self._annotate, well_known.HOST_PAUSED, _LASTS),
            "detached": partial(self._annotate, well_known.HOST_DETACHED, _LASTS),
            "detached for a moment": partial(self._annotate, well_known.HOST_DETACHED, (1.0, 4.0, 10.0)),
            "detour": partial(self._detour, well_known.HOST_DETACHED),
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
        """Pause or detach a host, power it on at its BMC, and remove the annotation again."""
        scheduler = self._world.scheduler
        self._patch(name, {"metadata": {"annotations": {key: ""}}})
        scheduler.after(3.0, lambda: self._rack.bmcs[name].press(on=True))
        scheduler.after(8.0, lambda: self._patch(name, {"metadata": {"annotations": {key: None}}}))

    def _service(self, name: str) -> None:
        """Change settings that are applied at the next reboot."""
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
        ours = [key for key in annotations if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)]
        if ours:
            self._patch(name, {"metadata": {"annotations": dict.fromkeys(ours)}})

    def _delete_remediation(self, name: str) -> None:
        self._world.admin_api.delete(METAL3_REMEDIATION, name, well_known.SYSTEM_NAMESPACE)

    def _call_off(self, name: str) -> None:
        """Time the remediation out as medik8s' check does, and delete it by hand later."""
        change = {"metadata": {"annotations": {well_known.TIMED_OUT: "long ago"}}}
        self._world.admin_api.patch(METAL3_REMEDIATION, name, change, at=(well_known.SYSTEM_NAMESPACE, ""))
        self.later(lambda: self._delete_remediation(name))

    def ask_as_a_stranger(self, node: str) -> None:
        """Create a remediation in another namespace, beside that of Nodemend's check."""
        api = self._world.admin_api
        if api.get(METAL3_REMEDIATION, node, NAMESPACE) is not None:
            return
        spec = {"strategy": "retry", "powerOffTimeoutSeconds": 300, "powerOnTimeoutSeconds": 120}
        api.create(METAL3_REMEDIATION, {"metadata": {"name": node}, "spec": spec}, NAMESPACE)
        self.later(lambda: api.delete(METAL3_REMEDIATION, node, NAMESPACE), (30.0, 200.0, 600.0))

    def _patch(self, name: str, change: dict[str, object]) -> None:
        self._world.admin_api.patch(BARE_METAL_HOST, name, change, at=(NAMESPACE, ""))
