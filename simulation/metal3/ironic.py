"""A provisioner that behaves like metal3's Ironic: slow, with timeouts, and with a record that may be wrong.

Its behaviour about power follows recordings. It deploys images immediately, tries forever to register a host
whose BMC does not answer, and its firmware work runs the machine for a minute.
"""

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from nodemend.kube.ports import Runtime, Task
from simulation.metal3.bmc import Answer, Bmc, Order, Power
from simulation.metal3.ironic_node import WANTED, IronicSettings, Node, NodeWork, Service, Stage
from simulation.metal3.provisioner import (
    Accepted,
    Failed,
    Finished,
    HostRef,
    PowerAnswer,
    PowerRecord,
    Progress,
    Registration,
    Working,
)


class _Nowhere:
    """Reports every BMC at an unknown address as unreachable."""

    async def power(self) -> Power:
        return Power.UNREACHABLE

    async def reset(self, _order: Order) -> Answer:
        return Answer.UNREACHABLE


class Ironic:
    """The service with its database, independent of the operator that calls it. `bmcs` are by address."""

    def __init__(self, bmcs: Mapping[str, Bmc]) -> None:
        self.running = False
        self._bmcs = bmcs
        self._nodes: dict[str, Node] = {}
        self._tasks: dict[str, list[Task]] = {}
        self._created = 0
        self._runtime: Runtime
        self._settings = IronicSettings()

    def start(self, runtime: Runtime, settings: IronicSettings | None = None) -> None:
        """Start or restart: the database is unchanged, and orders in progress are lost."""
        self._runtime, self._settings = runtime, settings or self._settings
        self.running = True
        for key, node in self._nodes.items():
            node.order, node.failed_polls = None, 0
            if node.service is Service.UNDER_WAY:
                node.service = Service.NONE
            if node.stage is Stage.VERIFYING:
                self._begin(key, self._work(key).verify())
            elif node.stage is Stage.ADOPTING:
                node.stage = Stage.MANAGEABLE
            self._begin(key, self._work(key).keep_alike())

    def stop(self) -> None:
        """Stop immediately, also during work."""
        self.running = False
        for key in self._nodes:
            self._end_work(key)

    def register(self, host: HostRef) -> Registration:
        node, anew = self._nodes.get(host.key), False
        if node is None:
            self._created, anew = self._created + 1, True
            bmc = self._bmcs.get(host.bmc) or _Nowhere()
            node = self._nodes[host.key] = Node(f"node-{self._created}", bmc)
            self._begin(host.key, self._work(host.key).verify())
            self._begin(host.key, self._work(host.key).keep_alike())
        return Registration(node.id, anew, Working() if node.stage is Stage.VERIFYING else Finished())

    def adopt(self, host: HostRef) -> Progress:
        node = self._nodes[host.key]
        if node.stage is Stage.MANAGEABLE:
            node.stage = Stage.ADOPTING
            self._begin(host.key, self._work(host.key).adopt())
        return Finished() if node.stage is Stage.ACTIVE else Working()

    def service(self, host: HostRef) -> Progress:
        """Start firmware work or report its progress; Finished is reported once."""
        node = self._nodes[host.key]
        if node.service is Service.DONE:
            node.service = Service.NONE
            return Finished()
        if node.service is Service.NONE and node.order is None:
            node.service = Service.UNDER_WAY
            self._begin(host.key, self._work(host.key).service())
        return Working()

    def forget(self, host: HostRef) -> None:
        self._end_work(host.key)
        self._nodes.pop(host.key, None)

    def power(self, host: HostRef) -> PowerRecord:
        node = self._nodes[host.key]
        return PowerRecord(node.on, node.power_failure)

    def change_power(self, host: HostRef, order: Order, *, force: bool) -> PowerAnswer:
        node = self._nodes[host.key]
        if node.busy:
            return Working()
        if order is not Order.FORCE_RESTART and node.on == (WANTED[order] is Power.ON):
            return Finished()
        if node.last_error and not force:
            # The error may be of an earlier order that no client waits for. It fails this order all the same.
            return Failed(node.last_error)
        node.order, node.last_error = order, ""
        self._begin(host.key, self._work(host.key).carry_out(order))
        return Accepted()

    def _work(self, key: str) -> NodeWork:
        return NodeWork(self._nodes[key], self._runtime, self._settings)

    def _begin(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        running = [task for task in self._tasks.get(key, ()) if not task.done]
        self._tasks[key] = [*running, self._runtime.spawn(work, f"node of {key}")]

    def _end_work(self, key: str) -> None:
        for task in self._tasks.pop(key, ()):
            task.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """Seconds per answer of Ironic. Each pass of the operator sends three to five requests."""

    least: float = 0.03
    most: float = 0.12


class IronicClient:
    """The Provisioner port of one operator: calls an Ironic and waits for its answers by its own clock."""

    def __init__(
        self,
        ironic: Ironic,
        runtime: Runtime,
        times: AnswerTimes = AnswerTimes(),  # noqa: B008 - frozen
    ) -> None:
        self._ironic = ironic
        self._runtime = runtime
        self._times = times

    async def ready(self) -> bool:
        await self._answer()
        return self._ironic.running

    async def register(self, host: HostRef) -> Registration:
        await self._answer()
        return self._ironic.register(host)

    async def adopt(self, host: HostRef) -> Progress:
        await self._answer()
        return self._ironic.adopt(host)

    async def inspect(self, host: HostRef) -> Progress:
        return Finished()

    async def provision(self, host: HostRef) -> Progress:
        return Finished()

    async def deprovision(self, host: HostRef) -> Progress:
        return Finished()

    async def service(self, host: HostRef) -> Progress:
        await self._answer()
        return self._ironic.service(host)

    async def detach(self, host: HostRef) -> None:
        await self._answer()
        self._ironic.forget(host)

    async def delete(self, host: HostRef) -> None:
        await self._answer()
        self._ironic.forget(host)

    async def power(self, host: HostRef) -> PowerRecord:
        await self._answer()
        return self._ironic.power(host)

    async def power_on(self, host: HostRef, *, force: bool) -> PowerAnswer:
        return await self._change(host, Order.ON, force=force)

    async def power_off(self, host: HostRef, *, hard: bool, force: bool) -> PowerAnswer:
        order = Order.FORCE_OFF if hard else Order.GRACEFUL_SHUTDOWN
        return await self._change(host, order, force=force)

    async def reboot(self, host: HostRef, *, force: bool) -> PowerAnswer:
        return await self._change(host, Order.FORCE_RESTART, force=force)

    async def _change(self, host: HostRef, order: Order, *, force: bool) -> PowerAnswer:
        await self._answer()
        return self._ironic.change_power(host, order, force=force)

    async def _answer(self) -> None:
        spread = self._times.most - self._times.least
        await self._runtime.sleep(self._times.least + spread * self._runtime.random())
