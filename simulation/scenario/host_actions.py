"""Incidents of hosts, their BMCs, the software that manages them, and the Machines of hosts."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    LEASE,
    METAL3_REMEDIATION,
    NODE,
    REMEDIATION_POLICY,
    SECRET,
    Resource,
)
from nodemend.kube.request import Method
from simulation.cluster.machines import system_uuid
from simulation.metal3.bmc import BmcFaults
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.rack import METAL3_MACHINE, NAMESPACE, PROJECTS, machine_of, owned_by, secret_for
from simulation.processes import HostClock, SimulatedProcess
from simulation.scenario.stage import Actions, Deed, Stage

_ANOTHER: Final = "reboot.metal3.io/somebody-else"


def _patch_host(stage: Stage, host: str, change: Mapping[str, Any]) -> None:
    stage.world.admin_api.patch(BARE_METAL_HOST, host, change, at=(NAMESPACE, ""))


def _annotated(key: str, value: str | None = "") -> Deed:
    return lambda stage, host: _patch_host(stage, host, {"metadata": {"annotations": {key: value}}})


def _specified(**spec: Any) -> Deed:
    return lambda stage, host: _patch_host(stage, host, {"spec": spec})


def _faulty(**faults: bool) -> Deed:
    def break_bmc(stage: Stage, host: str) -> None:
        stage.rack.bmcs[host].faults = BmcFaults(**faults)

    return break_bmc


def _pressed(stage: Stage, host: str, *, on: bool) -> None:
    stage.rack.bmcs[host].press(on=on)


def _take_holds_off(stage: Stage, host: str) -> None:
    found = stage.world.admin_api.get(BARE_METAL_HOST, host, NAMESPACE) or {"metadata": {}}
    ours = [
        key
        for key in found["metadata"].get("annotations", {})
        if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)
    ]
    _patch_host(stage, host, {"metadata": {"annotations": dict.fromkeys(ours)}})


def _delete_host(stage: Stage, host: str) -> None:
    stage.world.admin_api.delete(BARE_METAL_HOST, host, NAMESPACE)


def _lose_secret(stage: Stage, host: str) -> None:
    """Delete the Secret, including its finalizers."""
    name = f"{host}-bmc"
    change = {"metadata": {"finalizers": None}}
    stage.world.admin_api.patch(SECRET, name, change, at=(NAMESPACE, ""))
    stage.world.admin_api.delete(SECRET, name, NAMESPACE)


def _find_secret(stage: Stage, host: str) -> None:
    stage.world.admin_api.create(SECRET, secret_for(host), NAMESPACE)


def _let_firmware_wait(stage: Stage, host: str) -> None:
    """Create changed firmware settings that are applied at the next reboot."""
    api, metadata = stage.world.admin_api, {"metadata": {"name": host}}
    api.create(HOST_UPDATE_POLICY, {**metadata, "spec": {"firmwareSettings": "onReboot"}}, NAMESPACE)
    api.create(HOST_FIRMWARE_SETTINGS, metadata, NAMESPACE)
    said = [{"type": kind, "status": "True"} for kind in ("ChangeDetected", "Valid")]
    change = {"status": {"conditions": said}}
    api.patch(HOST_FIRMWARE_SETTINGS, host, change, at=(NAMESPACE, "status"))


def _start_ironic(stage: Stage, _nothing: str) -> None:
    stage.rack.ironic.start(SimulatedProcess(stage.world.scheduler, "ironic", HostClock()))


def _stop_operator(stage: Stage, seconds: str) -> None:
    stage.rack.operator.process.pause(float(seconds))


def _crash_remediator(stage: Stage, _nothing: str) -> None:
    for replica in stage.world.replicas:
        if replica.name.startswith("remediator"):
            replica.process.crash()


def _keep_volumes(stage: Stage, node: str) -> None:
    stage.world.engine.stuck.add(node)


def _let_volumes_go(stage: Stage, node: str) -> None:
    stage.world.engine.stuck.discard(node)


def _fall_behind(stage: Stage, seconds: str) -> None:
    stage.world.engine.fall_behind(float(seconds))


def _place(node: str, stage: Stage) -> tuple[str, str]:
    """Return name and namespace of the node's Metal3Remediation, for any requester."""
    found = stage.world.admin_api.list(METAL3_REMEDIATION)
    names = {one["metadata"]["name"]: one["metadata"]["namespace"] for one in found}
    name = node if node in names else machine_of(node)
    return name, names.get(name, well_known.SYSTEM_NAMESPACE)


def _delete_remediation(stage: Stage, node: str) -> None:
    stage.world.admin_api.delete(METAL3_REMEDIATION, *_place(node, stage))


def _force_remediation_away(stage: Stage, node: str) -> None:
    name, namespace = _place(node, stage)
    change = {"metadata": {"finalizers": None}}
    stage.world.admin_api.patch(METAL3_REMEDIATION, name, change, at=(namespace, ""))
    stage.world.admin_api.delete(METAL3_REMEDIATION, name, namespace)


def _call_off(stage: Stage, node: str) -> None:
    """Annotate the remediation as medik8s' NodeHealthCheck does when its timeout for a remedy is over."""
    name, namespace = _place(node, stage)
    change = {"metadata": {"annotations": {well_known.TIMED_OUT: "2026-01-01T00:00:00Z"}}}
    stage.world.admin_api.patch(METAL3_REMEDIATION, name, change, at=(namespace, ""))


def _tell_uuid(stage: Stage, said: str) -> None:
    host, machine = said.split(": ")
    _annotated(well_known.HOST_SYSTEM_UUID, system_uuid(machine))(stage, host)


def _show(stage: Stage, said: str) -> None:
    """Set a field of the host's status, as an unknown version of the host operator might."""
    host, shown = said.split(" shows ")
    path, value = shown.split("=")
    change: Any = value
    for key in reversed(("status", *path.split("."))):
        change = {key: change}
    stage.world.admin_api.patch(BARE_METAL_HOST, host, change, at=(NAMESPACE, "status"))


def _forbid_reading(stage: Stage, plural: str) -> None:
    stage.world.remediator.forbidden.add((Method.GET, plural))


def _allow_reading(stage: Stage, plural: str) -> None:
    stage.world.remediator.forbidden.discard((Method.GET, plural))


def _delete_lease(stage: Stage, node: str) -> None:
    stage.world.admin_api.delete(LEASE, node, well_known.KUBELET_LEASE_NAMESPACE)


HOST_ACTIONS: Final[Actions] = (
    (re.compile(r"anna pauses the host of (\S+)"), _annotated(well_known.HOST_PAUSED)),
    (re.compile(r"anna unpauses the host of (\S+)"), _annotated(well_known.HOST_PAUSED, None)),
    (re.compile(r"anna detaches the host of (\S+)"), _annotated(well_known.HOST_DETACHED)),
    (re.compile(r"anna attaches the host of (\S+)"), _annotated(well_known.HOST_DETACHED, None)),
    (re.compile(r"anna deletes the host of (\S+)"), _delete_host),
    (re.compile(r"anna forbids that (\S+) is powered off"), _specified(disablePowerOff=True)),
    (re.compile(r"anna allows that (\S+) is powered off"), _specified(disablePowerOff=None)),
    (re.compile(r"anna wants the host of (\S+) off"), _specified(online=False)),
    (re.compile(r"anna wants the host of (\S+) on"), _specified(online=True)),
    (re.compile(r"somebody else holds the host of (\S+) off"), _annotated(_ANOTHER)),
    (re.compile(r"somebody else lets go of the host of (\S+)"), _annotated(_ANOTHER, None)),
    (re.compile(r"somebody takes our hold off (\S+)"), _take_holds_off),
    (re.compile(r"somebody presses the button of (\S+): on"), partial(_pressed, on=True)),
    (re.compile(r"somebody presses the button of (\S+): off"), partial(_pressed, on=False)),
    (re.compile(r"the Secret of (\S+) is gone"), _lose_secret),
    (re.compile(r"the Secret of (\S+) is there again"), _find_secret),
    (re.compile(r"firmware work waits for (\S+)"), _let_firmware_wait),
    (re.compile(r"the BMC of (\S+) is dead"), _faulty(unreachable=True)),
    (re.compile(r"the BMC of (\S+) refuses to switch off"), _faulty(off_refused=True)),
    (re.compile(r"the BMC of (\S+) says OK and does nothing"), _faulty(off_never_done=True)),
    (re.compile(r"the BMC of (\S+) works again"), _faulty()),
    (re.compile(r"Ironic stops()"), lambda stage, _: stage.rack.ironic.stop()),
    (re.compile(r"Ironic starts()"), _start_ironic),
    (re.compile(r"the operator of hosts dies()"), lambda stage, _: stage.rack.operator.process.crash()),
    (re.compile(r"the operator of hosts sleeps for (\d+)s"), _stop_operator),
    (re.compile(r"our remediator dies()"), _crash_remediator),
    (re.compile(r"volumes of (\S+) are not detached"), _keep_volumes),
    (re.compile(r"volumes of (\S+) are detached after all"), _let_volumes_go),
    (re.compile(r"Kubernetes knows Nodes only as they were (\d+)s ago"), _fall_behind),
    (re.compile(r"anna deletes the power cycle of (\S+)"), _delete_remediation),
    (re.compile(r"no more time is given to the power cycle of (\S+)"), _call_off),
    (re.compile(r"anna forces the power cycle of (\S+) away"), _force_remediation_away),
    (re.compile(r"the system UUID told of the host of (\S+: \S+)"), _tell_uuid),
    (
        re.compile(r"nobody tells the system UUID of the host of (\S+)"),
        _annotated(well_known.HOST_SYSTEM_UUID, None),
    ),
    (re.compile(r"the host of (\S+ shows \S+)"), _show),
    (re.compile(r"we can no longer read (\S+)"), _forbid_reading),
    (re.compile(r"we can read (\S+) again"), _allow_reading),
    (re.compile(r"the Lease of (\S+) is gone"), _delete_lease),
)


def _machines(stage: Stage) -> Resource:
    return PROJECTS[stage.project][0]


def _ask(stage: Stage, node: str) -> None:
    """Create a remediation as a MachineHealthCheck does: named like the Machine and owned by it."""
    machine = stage.world.admin_api.get(_machines(stage), machine_of(node), NAMESPACE) or {}
    metadata = {"name": machine_of(node), "ownerReferences": [owned_by(_machines(stage), machine)]}
    body = {"metadata": metadata, "spec": stage.power_spec}
    stage.world.admin_api.create(METAL3_REMEDIATION, body, NAMESPACE)


def _delete(stage: Stage, node: str) -> None:
    stage.world.admin_api.delete(_machines(stage), machine_of(node), NAMESPACE)


def _disown(stage: Stage, node: str) -> None:
    change = {"metadata": {"ownerReferences": None}}
    stage.world.admin_api.patch(_machines(stage), machine_of(node), change, at=(NAMESPACE, ""))


def _name_node(stage: Stage, node: str, *, named: Mapping[str, Any] | None) -> None:
    change = {"status": {"nodeRef": named}}
    stage.world.admin_api.patch(_machines(stage), machine_of(node), change, at=(NAMESPACE, "status"))


def _rename_consumer(stage: Stage, host: str) -> None:
    consumer = {"kind": METAL3_MACHINE.kind, "name": "m-9", "namespace": NAMESPACE}
    change = {"spec": {"consumerRef": consumer}}
    stage.world.admin_api.patch(BARE_METAL_HOST, host, change, at=(NAMESPACE, ""))


def _belong_elsewhere(stage: Stage, said: str) -> None:
    """Move the Machine's Node to a workload cluster.

    Cluster API's facts about that Node stay unknown. A Node with that name in this cluster belongs to no
    Machine.
    """
    machine, node = said.split(", and its Node is called ")
    _name_node(stage, machine, named={"name": node})
    change = {"status": {"nodeInfo": None}}
    stage.world.admin_api.patch(_machines(stage), machine_of(machine), change, at=(NAMESPACE, "status"))
    if node in stage.world.machines:
        _forget_machine(stage, node)


def _forget_machine(stage: Stage, node: str) -> None:
    machine = stage.world.machines[node]
    change = {"metadata": {"annotations": dict.fromkeys(machine.annotations)}}
    machine.annotations = {}
    stage.world.admin_api.patch(NODE, node, change)


def _claim(stage: Stage, said: str) -> None:
    """Register a node with another node's provider ID, like a compromised kubelet or a cloned disk."""
    node, other = said.split(" states the provider ID of ")
    machine = stage.world.machines[node]
    machine.provider_id = stage.world.machines[other].provider_id
    _forget_machine(stage, node)
    stage.world.admin_api.delete(NODE, node)
    machine.restart_kubelet()


def _let_be_deleted(stage: Stage, _nothing: str) -> None:
    change = {"spec": {"machines": {"deleteMachines": True}}}
    stage.world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, change)


def _forbid(stage: Stage, _nothing: str) -> None:
    stage.world.remediator.forbidden |= {(Method.PATCH, "machines"), (Method.DELETE, "machines")}


MACHINE_ACTIONS: Final[Actions] = (
    (re.compile(r"a check of Machines asks for (\S+)"), _ask),
    (re.compile(r"anna deletes the Machine of (\S+)"), _delete),
    (re.compile(r"nobody owns the Machine of (\S+)"), _disown),
    (re.compile(r"the Machine of (\S+) names no node"), partial(_name_node, named=None)),
    (re.compile(r"the Machine of (\S+) names node-9"), partial(_name_node, named={"name": "node-9"})),
    (re.compile(r"the host of (\S+) is used by another"), _rename_consumer),
    (
        re.compile(r"a workload cluster has the Machine of (\S+, and its Node is called \S+)"),
        _belong_elsewhere,
    ),
    (re.compile(r"(\S+ states the provider ID of \S+)"), _claim),
    (re.compile(r"our policy lets Machines be deleted()"), _let_be_deleted),
    (re.compile(r"we may not ask owners of Machines()"), _forbid),
)
