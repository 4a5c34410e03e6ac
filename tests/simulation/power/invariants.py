"""Invariants of power cycles in every simulated run, in addition to those of every release.

The numbers are those of SAFETY.md.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.api.remediation_policy import RemediationPolicySpec
from nodemend.api.resources import (
    BARE_METAL_HOST,
    METAL3_REMEDIATION,
    NODE,
    POD,
    REMEDIATION_POLICY,
    VOLUME_ATTACHMENT,
)
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request, Selection
from simulation.cluster.world import World
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.power.members import Members
from tests.simulation.power.reported_boots import ReportedBoots
from tests.simulation.power.switch_limits import SwitchLimits
from tests.simulation.walking_path.invariants import POLICY_READ_WITHIN, Invariants, is_ours

Object = dict[str, Any]


class PowerInvariants(Invariants):
    """Observes every write to a host as well."""

    def __init__(self) -> None:
        super().__init__()
        self.holds = 0
        self.behind: Mapping[str, str] = {}
        """The machine that the BMC of a host switches, if that is not its own and facts show it."""
        self._placed: Counter[str] = Counter()
        self._boots: ReportedBoots
        self._members: Members
        self._limits: SwitchLimits

    def watch(self, world: World) -> None:
        super().watch(world)
        self._boots = ReportedBoots(world)
        self._members = Members(world)
        policy = world.admin_api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
        assert policy is not None
        spec = msgspec.convert(policy["spec"], RemediationPolicySpec)
        self._limits = SwitchLimits(world, spec, self.read_within)
        world.engine.removed = self._saw_removal
        world.remediator.witnesses.append(self._saw_host)
        world.remediator.witnesses.append(self._saw_status)

    @property
    def read_within(self) -> float:
        """Seconds. The facts behind a write were true at some moment within this time before it."""
        return POLICY_READ_WITHIN + self.latest_arrival

    def _saw_release(self, name: str, uid: str, boot: str | None) -> None:
        super()._saw_release(name, uid, boot)
        self._has_ended(name, uid)

    def _has_ended(self, name: str, uid: str) -> None:
        """Check I1: the boot that the evidence for this Node names has ended."""
        machine = self.world.machines[name]
        for one in self.world.admin_api.list(METAL3_REMEDIATION):
            status = one.get("status") or {}
            ended = (status.get("evidence") or {}).get("bootID")
            if status.get("nodeUID") == uid and machine.powered and machine.boot_id == ended:
                raise InvariantBrokenError(f"I1: {name} is released while {ended} runs")

    def _saw_removal(self, pod: Object) -> None:
        """Check I1: a pod that is removed by force runs nowhere."""
        machine = self.world.machines[pod["spec"]["nodeName"]]
        if pod["metadata"]["uid"] in machine.running:
            name = pod["metadata"]["name"]
            raise InvariantBrokenError(f"I1: {name} is removed by force while {machine.name} runs it")

    def _saw_host(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if "/baremetalhosts/" not in request.path:
            return
        body = msgspec.json.decode(request.body)
        metadata = body["metadata"]
        if not metadata.get("uid") or not metadata.get("resourceVersion"):
            raise InvariantBrokenError(f"I3: {request.method} {request.path} without preconditions")
        if request.method is not Method.PATCH or body.keys() - {"metadata"}:
            raise InvariantBrokenError(f"I8: {request.path} is changed beside our annotations")
        for key, value in metadata.get("annotations", {}).items():
            if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) and value is not None:
                self._saw_hold(key, metadata["resourceVersion"], msgspec.json.decode(answer.body))
            elif key.startswith(well_known.POWER_OFF_REQUEST_PREFIX):
                self._saw_power_off_cleared(request.path.rpartition("/")[2])

    def _saw_hold(self, key: str, version: str, host: Object) -> None:
        """Check I4, I5, I11 for a power-off request.

        Its remediation is active and allowed to act, and makes only one request for each observation that the
        host is on.
        """
        self.holds += 1
        uid, name = key.removeprefix(well_known.POWER_OFF_REQUEST_PREFIX), str(host["metadata"]["name"])
        living = [
            one
            for one in self.world.admin_api.list(METAL3_REMEDIATION)
            if one["metadata"]["uid"] == uid and (one.get("status") or {}).get("seenOnVersion") == version
        ]
        if len(living) != 1:
            raise InvariantBrokenError(f"I4: {name} is held by {uid}, which did not say so before")
        self._holds_the_lock(living[0])
        self._was_allowed(name)
        switched = self.behind.get(name, name)
        self._members.may_be_held(switched, within=self.read_within)
        self._limits.may_be_held(switched, living[0])
        self._is_the_boot(living[0]["status"])
        self._placed[f"{uid}/{version}"] += 1
        if self._placed[f"{uid}/{version}"] > 1:
            raise InvariantBrokenError(f"I11: {name} was switched off twice for {uid}")

    def _is_the_boot(self, status: Object) -> None:
        """Check I9: only the boot in the status is powered off, as far as its node has reported boots."""
        node, boot = status.get("nodeName", ""), status.get("bootID", "")
        reported = self._boots.within(node, self.read_within)
        if node and boot not in reported:
            raise InvariantBrokenError(f"I9: {node} is switched off for {boot}, and told {sorted(reported)}")

    def _saw_power_off_cleared(self, host: str) -> None:
        """Check I1: power returns only after Nodemend's taint is removed.

        Otherwise the pods of the new boot would be treated as released ones.
        """
        node = self.world.admin_api.get(NODE, host)
        if node is not None and any(map(is_ours, node["spec"].get("taints", ()))):
            raise InvariantBrokenError(f"I1: {host} is given back under our taint")

    def _saw_status(self, _user: str, request: Request, answer: ApiResponse) -> None:
        """Check I2: released workloads are gone, as long as that boot has not reported another one."""
        if "/metal3remediations/" not in request.path or not request.path.endswith("/status"):
            return
        self._limits.began(msgspec.json.decode(answer.body))
        if (msgspec.json.decode(request.body).get("status") or {}).get("released") is not True:
            return
        status = msgspec.json.decode(answer.body)["status"]
        name, evidence = status.get("nodeName", ""), status.get("evidence") or {}
        node = self.world.admin_api.get(NODE, name) if name else None
        reported = node["status"].get("nodeInfo", {}).get("bootID") if node else None
        same_boot = reported is not None and reported == evidence.get("bootID")
        if same_boot and (left := self._left_on(name)):
            raise InvariantBrokenError(f"I2: {name} counts as released with {left} on it")

    def _left_on(self, node: str) -> list[str]:
        pods = self.world.admin_api.list(POD, Selection(fields=f"spec.nodeName={node}"))
        volumes = self.world.admin_api.list(VOLUME_ATTACHMENT)
        bound = [one["metadata"]["name"] for one in volumes if one["spec"]["nodeName"] == node]
        return [*(pod["metadata"]["name"] for pod in pods), *bound]

    def settled(self) -> None:
        """Check I7 and I8: every host is on again, and no power-off request of Nodemend is left.

        The run has not settled while a record is wrong: Ironic uses its own record, and powers a machine off
        that it records as off, even long after the faults.
        """
        super().settled()
        self.hosts_are_back()

    def hosts_are_back(self) -> None:
        for host in self.world.admin_api.list(BARE_METAL_HOST):
            name, annotations = host["metadata"]["name"], host["metadata"].get("annotations", {})
            if any(key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) for key in annotations):
                raise InvariantBrokenError(f"I8: our hold is left on {name}")
            if not host.get("status", {}).get("poweredOn"):
                raise InvariantBrokenError(f"I7: the operator of hosts does not see {name} on")
        off = [machine.name for machine in self.world.machines.values() if not machine.powered]
        if off:
            raise InvariantBrokenError(f"I7: {off} are left off")


class CrossedBmcInvariants(PowerInvariants):
    """BMCs are mixed up. A release may rest on the power state of another machine that no fact reveals."""

    def _has_ended(self, name: str, uid: str) -> None: ...
