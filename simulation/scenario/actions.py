"""Incidents of nodes, actions of operators on them, and users' writes on Nodes."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.kube.request import Method
from simulation.cluster.world import CHECK
from simulation.metal3.rack import NAMESPACE
from simulation.scenario.stage import RECOVERY, Actions, Deed, Stage


def _connect(stage: Stage, node: str, *, connected: bool) -> None:
    stage.world.machines[node].connected = connected


def _power_off(stage: Stage, node: str) -> None:
    stage.world.machines[node].power_off()


def _power_on(stage: Stage, node: str) -> None:
    stage.world.machines[node].connected = True
    stage.world.machines[node].power_on()


def _vouch(stage: Stage, node: str) -> None:
    """Confirm as `kubectl mend confirm` does: repeat the facts in the status."""
    remediation = stage.anna.get(MANUAL_REMEDIATION, node, well_known.SYSTEM_NAMESPACE)
    if remediation is None:
        stage.narrator.tell(f"refused: there is no remediation of {node}")
        return
    status = remediation["status"]
    confirmation = {
        "by": "anna",
        "reason": "I switched it off",
        **{field: status.get(field, "") for field in ("nodeUID", "bootID", "lastRenewTime")},
    }
    _write_confirmation(stage, node, confirmation)


def _withdraw(stage: Stage, node: str) -> None:
    _write_confirmation(stage, node, None)


def _write_confirmation(stage: Stage, node: str, confirmation: dict[str, str] | None) -> None:
    at = (well_known.SYSTEM_NAMESPACE, "")
    answer = stage.anna.try_patch(MANUAL_REMEDIATION, node, {"spec": {"confirmation": confirmation}}, at=at)
    if answer.status != 200:
        stage.narrator.tell(f"refused: {answer.status}")


def _end_recovery(stage: Stage, node: str, *, succeeded: str) -> None:
    """Set the condition as the controller of the recovery does."""
    status = {"conditions": [{"type": "Succeeded", "status": succeeded}]}
    stage.world.admin_api.patch(RECOVERY, node, {"status": status}, at=("default", "status"))


def _delete_recovery(stage: Stage, node: str) -> None:
    stage.world.admin_api.delete(RECOVERY, node, "default")


def _delete_node(stage: Stage, node: str) -> None:
    stage.world.admin_api.delete(NODE, node)


def _hang(stage: Stage, node: str) -> None:
    stage.world.machines[node].hung = True


def _delete_check(stage: Stage, _nothing: str) -> None:
    stage.world.admin_api.delete(NODE_HEALTH_CHECK, CHECK)


def _set_mode(stage: Stage, mode: str) -> None:
    stage.world.admin_api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"mode": mode}})


def _pause(stage: Stage, reason: str) -> None:
    change = {"spec": {"pause": {"reason": reason, "by": "anna"}}}
    stage.anna.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, change)


def _resume(stage: Stage, _nothing: str) -> None:
    stage.anna.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": None}})


def _order(stage: Stage, node: str, *, past_guard: bool = False) -> None:
    """Create an order as `kubectl mend run` does, but without its client-side checks."""
    found = stage.anna.get(NODE, node)
    uid = found["metadata"]["uid"] if found else ""
    spec = {"by": "anna", "reason": "it is really dead", "nodeUID": uid, "pastGuard": past_guard}
    stage.anna.create(REMEDIATION_ORDER, {"metadata": {"name": node}, "spec": spec})


def _take_back_order(stage: Stage, node: str) -> None:
    stage.anna.delete(REMEDIATION_ORDER, node)


ACTIONS: Final[Actions] = (
    (re.compile(r"(\S+) is cut off"), partial(_connect, connected=False)),
    (re.compile(r"(\S+) is connected again"), partial(_connect, connected=True)),
    (re.compile(r"(\S+) hangs"), _hang),
    (re.compile(r"(?:anna switches )?(\S+) (?:off|loses power)"), _power_off),
    (re.compile(r"(?:anna switches )?(\S+) (?:on|is switched on)"), _power_on),
    (re.compile(r"anna vouches for (\S+)"), _vouch),
    (re.compile(r"anna takes back her word for (\S+)"), _withdraw),
    (re.compile(r"anna orders the remediation of (\S+)"), _order),
    (re.compile(r"anna lets (\S+) past the guard"), lambda stage, node: _order(stage, node, past_guard=True)),
    (re.compile(r"anna takes back her order for (\S+)"), _take_back_order),
    (re.compile(r"anna deletes the Node (\S+)"), _delete_node),
    (re.compile(r"the recovery of (\S+) succeeds"), partial(_end_recovery, succeeded="True")),
    (re.compile(r"the recovery of (\S+) fails"), partial(_end_recovery, succeeded="False")),
    (re.compile(r"anna deletes the recovery of (\S+)"), _delete_recovery),
    (re.compile(r"anna deletes the check()"), _delete_check),
    (re.compile(r"the mode is (DryRun|Act)"), _set_mode),
    (re.compile(r"anna pauses everything: (.+)"), _pause),
    (re.compile(r"anna resumes()"), _resume),
)


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
