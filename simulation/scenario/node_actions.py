"""Writes of users on Nodes and missing rights, for scenarios in which Nodes are deleted and come back."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodemend.api.resources import METAL3_REMEDIATION, NODE
from nodemend.kube.request import Method
from simulation.metal3.rack import NAMESPACE
from simulation.scenario.stage import Actions, Deed, Stage


def _written(change: Callable[[str], dict[str, Any]]) -> Deed:
    def write(stage: Stage, said: str) -> None:
        node, _, what = said.partition(": ")
        stage.world.admin_api.patch(NODE, node, change(what))

    return write


def _label(key: str, *, value: str | None = "") -> dict[str, Any]:
    return {"metadata": {"labels": {key: value}}}


def _annotation(key: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {key: ""}}}


def _very_much(_nothing: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"example.com/notes": "x" * 65_536}}}


def _taint(said: str) -> dict[str, Any]:
    """Parse a taint in kubectl's form, key=value:effect. A key alone means NoSchedule."""
    what, _, effect = said.partition(":")
    key, _, value = what.partition("=")
    return {"spec": {"taints": [{"key": key, "value": value, "effect": effect or "NoSchedule"}]}}


def _no_taints(_nothing: str) -> dict[str, Any]:
    return {"spec": {"taints": None}}


def _cordon(_nothing: str) -> dict[str, Any]:
    return {"spec": {"unschedulable": True}}


def _forbid(stage: Stage, _nothing: str, *, method: Method) -> None:
    stage.world.remediator.forbidden.add((method, NODE.plural))


def _restart_kubelet(stage: Stage, node: str) -> None:
    stage.world.machines[node].restart_kubelet()


def _ask_by_hand(stage: Stage, node: str) -> None:
    """Create a remediation without an owner."""
    body = {"metadata": {"name": node}, "spec": stage.power_spec}
    stage.world.admin_api.create(METAL3_REMEDIATION, body, NAMESPACE)


NODE_ACTIONS: Final[Actions] = (
    (re.compile(r"anna labels (\S+: \S+)"), _written(_label)),
    (re.compile(r"anna takes the label off (\S+: \S+)"), _written(partial(_label, value=None))),
    (re.compile(r"anna writes on the Node (\S+: \S+)"), _written(_annotation)),
    (re.compile(r"anna writes very much on the Node (\S+)"), _written(_very_much)),
    (re.compile(r"anna taints (\S+: \S+)"), _written(_taint)),
    (re.compile(r"anna takes all taints off (\S+)"), _written(_no_taints)),
    (re.compile(r"anna cordons (\S+)"), _written(_cordon)),
    (re.compile(r"we may not delete Nodes()"), partial(_forbid, method=Method.DELETE)),
    (re.compile(r"we may not change Nodes()"), partial(_forbid, method=Method.PATCH)),
    (re.compile(r"the kubelet of (\S+) restarts"), _restart_kubelet),
    (re.compile(r"anna asks for a power cycle of (\S+)"), _ask_by_hand),
)
