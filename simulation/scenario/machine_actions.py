"""Incidents of the Machines of hosts, and of the controllers that replace Machines."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION, NODE, REMEDIATION_POLICY, Resource
from nodemend.kube.request import Method
from simulation.metal3.furnishing import machine_of
from simulation.metal3.introductions import METAL3_MACHINE, PROJECTS, owned_by
from simulation.metal3.rack import NAMESPACE
from simulation.scenario.stage import Actions, Stage


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
