"""Machines, BMCs, hosts, the operator and kubelets beside one control plane."""

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane.api import Object
from controlplane.ports import free_port
from controlplane.process import Process
from controlplane.rounds import Rounds
from controlplane.run import STORAGE, ControlPlane
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import bind
from machine_room.bmc import Bmc
from machine_room.chassis import Chassis
from machine_room.hosts import HOSTS, NAMESPACE, bare_metal_host, provider_id, secret
from machine_room.kubelets import Computer, Kubelets

OPERATOR = "baremetal-operator"


class MachineRoom:
    """A context manager. `pace` is the operator's: see operator_program.py."""

    def __init__(self, plane: ControlPlane, *, pace: float) -> None:
        self.plane = plane
        self.pace = pace
        self.bmcs: dict[str, Bmc] = {}
        self.operator: Process
        self._folder = plane.directory / "machine-room"
        self._owned = ExitStack()
        for part in ("", "registers", "machines", "bmcs"):
            (self._folder / part).mkdir(exist_ok=True)
        self.kubelets = Kubelets(plane.client(STORAGE), plane.nodes, self._folder / "registers")

    def __enter__(self) -> Self:
        install_kinds(self.plane, "metal3-hosts")
        api, account = self.plane.api, {"name": OPERATOR, "namespace": NAMESPACE}
        api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        bind(self.plane, "cluster-admin", NAMESPACE, OPERATOR)
        self._owned.callback(Rounds("kubelets", self.kubelets.serve).close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()

    def furnish(self, groups: Mapping[str, Mapping[str, str]], *, within: float = 60.0) -> list[str]:
        """Create a node on a separate machine for each group, with these labels; returns when their hosts are
        managed.
        """
        nodes = [self._add(group, labels) for group, labels in groups.items()]
        addresses = [bmc.address for bmc in self.bmcs.values()]
        kubeconfig = self.plane.service_account_kubeconfig(NAMESPACE, OPERATOR)
        flags = ["-m", "machine_room.operator_program", kubeconfig, self.pace]
        self.operator = self.plane.run(
            OPERATOR, [str(flag) for flag in (*flags, *addresses)], program=Path(sys.executable)
        )
        for node in nodes:
            what = f"{node} is managed"
            wait_until(what, partial(self._is_on, node), within=within, processes=[self.operator])
        return nodes

    def computer(self, node: str) -> Computer:
        return self.kubelets.computers[node]

    def host(self, node: str) -> Object:
        found: Object = self.plane.api.get(f"{HOSTS}/{node}")
        return found

    def change_host(self, node: str, change: Object) -> None:
        self.plane.api.patch(f"{HOSTS}/{node}", change)

    def annotate_host(self, node: str, key: str, value: str | None) -> None:
        self.change_host(node, {"metadata": {"annotations": {key: value}}})

    def _add(self, group: str, labels: Mapping[str, str]) -> str:
        node = f"{group}-0"
        chassis = Chassis(node, self._folder / "machines" / node)
        self._owned.callback(chassis.close)
        chassis.switch_on()
        bmc = self.bmcs[node] = Bmc(chassis, self._folder / "bmcs" / node, free_port())
        self._owned.callback(bmc.close)
        self.plane.nodes.add(group, labels=labels, spec={"providerID": provider_id(node)})
        self.kubelets.computers[node] = Computer(node, group, chassis, reported=chassis.boot)
        for document in (secret(node), bare_metal_host(node, bmc.address)):
            self.plane.api.create(document)
        return node

    def _is_on(self, node: str) -> bool:
        status = self.host(node).get("status", {})
        return bool(status.get("poweredOn")) and status.get("operationalStatus") == "OK"
