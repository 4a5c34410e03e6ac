"""Logs power: Nodemend's requests to hosts, the status that metal3 shows, and the real state of machines."""

from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, LEASE, METAL3_REMEDIATION, NODE, POD, VOLUME_ATTACHMENT
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request, Selection
from simulation.cluster.machines import Machine
from simulation.cluster.world import World
from simulation.metal3.rack import NAMESPACE, OPERATOR
from simulation.scenario.narrator import Narrator

Object = dict[str, Any]

_NOTABLE: Final = ("Fenced", "WorkloadReleased", "Succeeded")
"""Conditions on which the requester of a remediation acts."""


class HostNarrator:
    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator
        self._registered: set[str] = set()
        self._held: set[str] = set()
        self._marked: set[str] = set()
        self._revoked: set[str] = set()
        self._world: World

    def listen(self, world: World) -> None:
        self._world = world
        for account in (world.checker, world.remediator):
            account.witnesses.append(self._heard)
        world.account(OPERATOR).witnesses.append(self._heard_operator)
        for machine in world.machines.values():
            machine.switched = self._switched
        self._narrator.at_the_end.append(self._tell_end)

    def _switched(self, machine: Machine) -> None:
        what = f"begins its boot {machine.boots}" if machine.powered else "loses power"
        self._narrator.tell(f"{machine.name} {what}")

    def _heard(self, _user: str, request: Request, answer: ApiResponse) -> None:
        parts = request.path.split("/")
        if "metal3remediations" in parts:
            self._heard_remediation(request, msgspec.json.decode(answer.body))
        elif "nodes" in parts and request.method is not Method.DELETE:
            self._heard_node(msgspec.json.decode(request.body), msgspec.json.decode(answer.body))
        elif "baremetalhosts" in parts:
            self._heard_host(msgspec.json.decode(answer.body))
        elif "machines" in parts:
            self._narrator.tell(f"the owner of {parts[parts.index('machines') + 1]} must replace it")

    def _heard_remediation(self, request: Request, now: Object) -> None:
        name = request.path.rstrip("/").removesuffix("/status").rpartition("/")[2]
        if request.method is Method.POST:
            self._narrator.tell(f"a power cycle of {now['metadata']['name']} is created")
        elif request.method is Method.DELETE:
            self._narrator.tell(f"the power cycle of {name} is withdrawn")
        elif not now["metadata"].get("finalizers") and "deletionTimestamp" in now["metadata"]:
            self._narrator.tell(f"the power cycle of {name} is over")
        elif status := now.get("status"):
            self._narrator.say(f"power cycle of {name}", _stands(status))
            if evidence := status.get("evidence"):
                said = f"{evidence['by']}: {evidence['reason']}"
                self._narrator.say(f"power cycle of {name}: evidence {evidence['class']}", said)
            if "backup" in status:
                kept = ", ".join(_parts(status["backup"]))
                self._narrator.say(f"power cycle of {name}: kept", kept or "nothing")
            for condition in status.get("conditions", ()):
                if condition["type"] in _NOTABLE:
                    said = f"{condition['status']} ({condition['reason']})"
                    self._narrator.say(f"power cycle of {name}: {condition['type']}", said)

    def _heard_node(self, change: Object, node: Object) -> None:
        name, annotations = node["metadata"]["name"], node["metadata"].get("annotations", {})
        if given := _written(change):
            self._narrator.tell(f"{name} gets back {', '.join(given)}")
        revoked = well_known.RELEASE_REVOKED in annotations
        if revoked != (name in self._revoked):
            self._narrator.tell(
                f"{name}: a release in progress is revoked"
                if revoked
                else f"{name}: the revocation is removed"
            )
            (self._revoked.add if revoked else self._revoked.discard)(name)

    def _heard_host(self, host: Object) -> None:
        name, annotations = host["metadata"]["name"], host["metadata"].get("annotations", {})
        held = any(key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) for key in annotations)
        if held != (name in self._held):
            self._narrator.tell(f"our hold is {'on' if held else 'off'} {name}")
            (self._held.add if held else self._held.discard)(name)
        if any(key in annotations for key in well_known.HOST_UNHEALTHY) and name not in self._marked:
            self._marked.add(name)
            self._narrator.tell(f"the host of {name} is marked unhealthy")

    def _heard_operator(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if "/baremetalhosts/" in request.path and request.path.endswith("/status"):
            host = msgspec.json.decode(answer.body)
            name, shown = host["metadata"]["name"], f"shown {_shown(host)}"
            if name in self._registered:
                self._narrator.say(f"host {name}", shown)
            elif host["status"].get("poweredOn"):
                # Earlier changes are part of the enrolment, which belongs to no scenario.
                self._registered.add(name)
                self._narrator.say(f"host {name}", shown)

    def _tell_end(self) -> None:
        """Append the final state as an observer would see it."""
        lines, api = self._narrator.lines, self._world.admin_api
        for remediation in api.list(METAL3_REMEDIATION):
            lines.append(f"  power cycle {remediation['metadata']['name']}: {_stands(remediation['status'])}")
        for machine in self._world.machines.values():
            lines.append(f"  {machine.name}: {self._state_of(machine)}")
        for pod in api.list(POD):
            name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
            runs = pod["metadata"]["uid"] in self._world.machines[node].running
            lines.append(f"  {name} {'runs' if runs else 'is bound, and does not run,'} on {node}")
        for lock in api.list(LEASE, Selection(namespace=well_known.SYSTEM_NAMESPACE)):
            if lock["metadata"]["name"].startswith("node-"):
                lines.append(f"  locked: {self._name_of(lock['metadata']['name'])}")
        for volume in api.list(VOLUME_ATTACHMENT):
            lines.append(f"  volume {volume['metadata']['name']} is attached")

    def _name_of(self, lock: str) -> str:
        nodes = {f"node-{one['metadata']['uid']}": one for one in self._world.admin_api.list(NODE)}
        return nodes[lock]["metadata"]["name"] if lock in nodes else "something that is gone"

    def _state_of(self, machine: Machine) -> str:
        node = self._world.admin_api.get(NODE, machine.name)
        host = self._world.admin_api.get(BARE_METAL_HOST, machine.name, NAMESPACE)
        power = "on" if machine.powered else "OFF"
        said = [_ready(node), f"power {power}", f"shown {_shown(host)}" if host else "no host"]
        annotations = [*(host or {"metadata": {}})["metadata"].get("annotations", ())]
        said += [f"held by {key}" for key in annotations if key.startswith("reboot.metal3.io/")]
        said += [_taint(taint) for taint in (node or {"spec": {}})["spec"].get("taints", ())]
        return ", ".join(one for one in said if one)


def _stands(status: Object) -> str:
    processing = [one for one in status.get("conditions", ()) if one["type"] == "Processing"]
    reason = processing[0]["reason"] if processing else ""
    because = f" ({reason})" if reason not in ("", "InProgress") else ""
    failed = f" after {status['retryCount']} failed" if status.get("retryCount") else ""
    return f"{status.get('phase', 'new')}{failed}{because}: {status.get('message', '')}".rstrip(": ")


def _written(change: Object) -> list[str]:
    """Return the parts that a write restores on a Node. Only these writes contain labels."""
    metadata, spec = change["metadata"], change.get("spec", {})
    taints = [one for one in spec.get("taints", ()) if not one["key"].startswith(well_known.CONDITION_TAINTS)]
    return _parts({**metadata, **spec, "taints": taints}) if "labels" in metadata else []


def _parts(had: Object) -> list[str]:
    named = [*had.get("labels", ()), *had.get("annotations", ())]
    taints = [f"the taint {taint['key']}" for taint in had.get("taints", ())]
    return [*named, *taints, *(["its cordon"] if had.get("unschedulable") else [])]


def _shown(host: Object) -> str:
    status = host.get("status", {})
    power = "on" if status.get("poweredOn") else "off"
    said = status.get("errorType") or status.get("operationalStatus", "")
    return power if said == "OK" else f"{power}, {said or 'nothing known'}"


def _ready(node: Object | None) -> str:
    if node is None:
        return "no Node"
    ready = next(one["status"] for one in node["status"]["conditions"] if one["type"] == "Ready")
    return f"{'Ready' if ready == 'True' else f'Ready {ready}'} on {node['status']['nodeInfo']['bootID']}"


def _taint(taint: Object) -> str:
    return f"tainted {taint['key']}" if taint["key"] == well_known.OUT_OF_SERVICE else ""
