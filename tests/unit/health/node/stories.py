"""A simulated cluster with the shipped programs: a test causes failures and checks the reaction.

The fixture `begin` starts one.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_POLICY,
    Resource,
)
from nodemend.health.node.events import NodeHealthCheckRecorder
from simulation.cluster.foreign_kinds import a_definition, a_reference, foreign
from simulation.cluster.replicas import Replica, Silent
from simulation.cluster.world import CHECK, TEMPLATE, Shape, World, check_spec

Object = dict[str, Any]
DISK = "example.com/Disk"
DISKS = [{"type": DISK, "status": status, "period": "60s"} for status in ("False", "Unknown")]
PERIOD = 60.0
"""Seconds after which a bad disk makes a node unhealthy."""
SOON = 3.0
"""Seconds in which a checker has done and reported all that it can do at once."""
A_WHILE = 20.0
"""Seconds in which targets that had to wait for others are served, too."""
FREE_HAND = {
    "maxUnhealthy": "100%",
    "maxConcurrent": 100,
    "maxConcurrentPercent": 100,
    "minInterval": "1s",
    "settleTime": "1s",
}
"""A policy without limits."""


REBOOT = foreign("Reboot")


def remedy(kind: str, timeout: str = "") -> Object:
    """A remedy with a kind of another project, by its template `usual`."""
    return {"template": a_reference(kind), **({"timeout": timeout} if timeout else {})}


CALL = {
    "template": {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "ManualRemediationTemplate",
        "name": TEMPLATE,
        "namespace": well_known.SYSTEM_NAMESPACE,
    }
}
"""The remedy of a check unless its story sets others: request a person's help."""


class Story:
    """One check over six nodes that watches their disks, under a policy without limits."""

    def __init__(
        self,
        *,
        machines: int = 6,
        policy: Mapping[str, Any] = FREE_HAND,
        check: Mapping[str, Any] | None = None,
        kinds: tuple[str, ...] = (),
        medik8s_leases: str = "",
        recorder: NodeHealthCheckRecorder | Silent | None = None,
        replicas: int = 1,
    ) -> None:
        served = [foreign(name) for kind in kinds for name in (kind, f"{kind}Template")]
        definitions = tuple(a_definition(kind) for kind in served)
        shape = Shape(
            machines,
            0,
            replicas=replicas,
            people=False,
            policy=policy,
            definitions=definitions,
            medik8s_leases=medik8s_leases,
            recorder=recorder,
        )
        self.world = World("story", shape)
        self.api = self.world.admin_api
        for kind in kinds:
            self.make_template(kind)
        self.change_check({"thresholds": DISKS, **(check or {})})
        for node in self.world.machines:
            self.show(node, "True")
        self.run(12.0)

    def run(self, seconds: float = SOON) -> "Story":
        self.world.run(self.world.scheduler.now + seconds)
        return self

    def show(self, node: str, status: str, type_: str = DISK, since: str = "") -> "Story":
        """Set a condition of the node from now on."""
        now = print_time(self.world.scheduler.wall())
        condition = {"type": type_, "status": status, "lastTransitionTime": since or now}
        found = self.api.get(NODE, node) or {}
        others = [one for one in found["status"].get("conditions", ()) if one["type"] != type_]
        self.api.patch(NODE, node, {"status": {"conditions": [*others, condition]}}, at=("", "status"))
        return self

    def fail(self, *nodes: str) -> "Story":
        """Let their disks fail, and run until they are unhealthy and handled."""
        for node in nodes:
            self.show(node, "False")
        return self.run(PERIOD + SOON)

    def heal(self, *nodes: str) -> "Story":
        for node in nodes:
            self.show(node, "True")
        return self

    def label(self, node: str, labels: Mapping[str, str | None]) -> "Story":
        self.api.patch(NODE, node, {"metadata": {"labels": labels}})
        return self

    def change_check(self, spec: Mapping[str, Any], name: str = CHECK) -> "Story":
        self.api.patch(NODE_HEALTH_CHECK, name, {"spec": spec})
        return self

    def change_policy(self, spec: Mapping[str, Any]) -> "Story":
        self.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": spec})
        return self

    def make_template(self, kind: str) -> "Story":
        body = {"metadata": {"name": "usual"}, "spec": {"template": {"spec": {"hard": True}}}}
        self.api.create(foreign(f"{kind}Template"), body, "default")
        return self

    def say(self, node: str, succeeded: str, kind: Resource = REBOOT) -> "Story":
        """Their remediator reports the outcome."""
        status = {"conditions": [{"type": "Succeeded", "status": succeeded}]}
        self.api.patch(kind, node, {"status": status}, at=("default", "status"))
        return self

    def keep(self, node: str, finalizers: list[str] | None, kind: Resource = REBOOT) -> "Story":
        """Set the finalizers: its remediator removes its own only later, or now."""
        self.api.patch(kind, node, {"metadata": {"finalizers": finalizers}}, at=("default", ""))
        return self

    def another_check(self, name: str, **spec: Any) -> "Story":
        self.api.create(
            NODE_HEALTH_CHECK,
            {"metadata": {"name": name}, "spec": {**check_spec(), "thresholds": DISKS, **spec}},
        )
        return self

    def delete_check(self, name: str = CHECK) -> "Story":
        self.api.delete(NODE_HEALTH_CHECK, name)
        return self

    @property
    def checker(self) -> Replica:
        [replica] = self.checkers
        return replica

    @property
    def checkers(self) -> list[Replica]:
        return [one for one in self.world.replicas if one.name.startswith("checker")]

    def leader(self) -> str:
        """The holder of the checkers' Lease."""
        lease = self.api.get(LEASE, "nodemend-checker", well_known.SYSTEM_NAMESPACE) or {}
        holder: str = lease["spec"]["holderIdentity"]
        return holder

    def open(self, kind: Resource = MANUAL_REMEDIATION) -> list[str]:
        """The nodes with a remediation of that kind."""
        return sorted(found["metadata"]["name"] for found in self.api.list(kind))

    def remediation(self, node: str, kind: Resource = MANUAL_REMEDIATION) -> Object:
        [found] = [one for one in self.api.list(kind) if one["metadata"]["name"] == node]
        return found

    def status(self, check: str = CHECK) -> Object:
        found = self.api.get(NODE_HEALTH_CHECK, check) or {}
        status: Object = found.get("status", {})
        return status

    def verdict(self, node: str, check: str = CHECK) -> str:
        """The check's verdict for a node; empty if it is simply healthy."""
        reports = self.status(check).get("reports", ())
        return next((row["verdict"] for row in reports if row["name"] == node), "")

    def message(self, node: str) -> str:
        return next((row.get("message", "") for row in self.status()["reports"] if row["name"] == node), "")

    def condition(self, type_: str, check: str = CHECK) -> tuple[str, str]:
        """Status and reason of a condition of the check."""
        return _condition(self.status(check), type_)

    def policy_numbers(self) -> tuple[int, int]:
        """The number of targets, and of those that are not healthy."""
        status = (self.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME) or {}).get("status", {})
        return status.get("targets", 0), status.get("unhealthy", 0)

    def policy_condition(self, type_: str) -> tuple[str, str]:
        found = self.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME) or {}
        return _condition(found.get("status", {}), type_)


StartStory = Callable[..., Story]


def _condition(status: Object, type_: str) -> tuple[str, str]:
    [found] = [one for one in status.get("conditions", ()) if one["type"] == type_]
    return found["status"], found["reason"]
