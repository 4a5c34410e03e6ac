"""Cluster API is installed over Nodemend's MachineHealthCheck while the checker runs.

Only its conversion webhook is fake: the definitions are the real ones, and the checker runs under its own
account.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from controlplane.api import Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from foreign_kinds.check_conversion import playing_conversion
from foreign_kinds.definitions import crds
from foreign_kinds.install import DEFINITIONS, install_definitions
from generate.outputs import FLAT
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE
from nodemend.health.machine.manager import DISCOVERY_INTERVAL
from tests.integration import machine_objects as played
from tests.integration.test_other_remedies import a_definition

pytestmark = pytest.mark.real

SPACE = "default"
CHECKS = "machinehealthchecks.cluster.x-k8s.io"
OLD = f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{SPACE}/machinehealthchecks"
NEW = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/{SPACE}/machinehealthchecks"
FIXES = f"/apis/example.com/v1/namespaces/{SPACE}/reboots"
CLAIM = {"cluster.x-k8s.io/watch-filter": "nodemend"}
SOON = DISCOVERY_INTERVAL + 45.0


@dataclass
class Story:
    plane: ControlPlane
    checker: Process
    conversion: Object
    owner: Any = field(default_factory=dict)

    def wait(self, what: str, fixes: list[str], within: float = 60.0) -> None:
        is_so = partial(self._are, fixes)
        wait_until(f"{what}: {fixes}", is_so, within=within, processes=[self.checker])

    def _are(self, fixes: list[str]) -> bool:
        return self.fixes() == fixes

    def fixes(self) -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.plane.api.list(FIXES))

    def counts(self, path: str) -> object:
        status = self.plane.api.get(path).get("status", {})
        return status.get("expectedMachines"), status.get("currentHealthy")

    def wait_for_counts(self, path: str, expected: int, healthy: int) -> None:
        def counted() -> bool:
            return self.counts(path) == (expected, healthy)

        wait_until(f"{path} counts {expected}, {healthy}", counted, within=60.0, processes=[self.checker])

    def wait_for_events(self, reason: str) -> list[tuple[str, str]]:
        """Wait for an event, which follows the action that it reports."""
        wait_until(
            f"an event {reason}", lambda: self.events(reason) != [], within=60.0, processes=[self.checker]
        )
        return self.events(reason)

    def events(self, reason: str) -> list[tuple[str, str]]:
        found = self.plane.api.list(f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events")
        return [(one["regarding"]["name"], one["note"]) for one in found if one["reason"] == reason]

    def add_check(self, name: str, pool: str, labels: dict[str, str], **spec: Any) -> None:
        condition = {"type": "Ready", "status": "Unknown", "timeout": "2s"}
        template = {"apiVersion": "example.com/v1", "kind": "RebootTemplate", "name": "hard"}
        spec = {
            "selector": {"matchLabels": {"pool": pool}},
            "unhealthyConditions": [condition],
            "remediationTemplate": template,
            "maxUnhealthy": "90%",
            **spec,
        }
        version = "cluster.x-k8s.io/v1beta1"
        self.plane.api.create(played.a_thing(version, "MachineHealthCheck", name, spec, SPACE, labels=labels))

    def cluster_api_comes(self, kinds: list[Object]) -> None:
        """Install as its installer does: existing definitions are replaced completely."""
        install_definitions(self.plane, kinds)
        api = self.plane.api
        (theirs,) = (one for one in crds("cluster-api") if one["metadata"]["name"] == CHECKS)
        path = f"{DEFINITIONS}/{CHECKS}"
        metadata = {
            **theirs["metadata"],
            "labels": {"cluster.x-k8s.io/provider": "cluster-api"},
            "resourceVersion": api.get(path)["metadata"]["resourceVersion"],
        }
        spec = {**theirs["spec"], "conversion": self.conversion}
        api.request("PUT", path, {**theirs, "metadata": metadata, "spec": spec})


@contextmanager
def a_cluster(project: str) -> Iterator[Story]:
    """A cluster with the Machines of a project, Nodemend's MachineHealthCheck, and a running checker."""
    with ControlPlane(API_SERVER_ALONE) as plane, playing_conversion(plane) as conversion:
        install(plane, "machineHealthChecks.enabled=true")
        install_definitions(plane, [a_definition("Reboot"), a_definition("RebootTemplate")])
        install_definitions(plane, played.machine_definitions(project))
        plane.kubectl("apply", "--server-side", "-f", str(FLAT))
        give_rights(plane)
        checker = start(plane, "nodemend-checker", "--machine-health-checks=on")
        yield Story(plane, checker, conversion)


def give_rights(plane: ControlPlane) -> None:
    use = ["get", "list", "watch", "create", "delete"]
    rule = {"apiGroups": ["example.com"], "resources": ["reboots", "reboottemplates"], "verbs": use}
    header = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    plane.api.create({**header, "metadata": {"name": "may-reboot"}, "rules": [rule]})
    bind(plane, "may-reboot", SYSTEM_NAMESPACE, "nodemend-checker")
    plane.api.create(
        {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "RemediationPolicy",
            "metadata": {"name": "cluster"},
            "spec": {
                "mode": "Act",
                "minInterval": "1s",
                "settleTime": "1s",
                "maxUnhealthy": "90%",
                "maxConcurrentPercent": 100,
            },
        }
    )
    template = {"template": {"spec": {"hard": True}}}
    plane.api.create(played.a_thing("example.com/v1", "RebootTemplate", "hard", template, SPACE))


def test_cluster_api_takes_over_unclaimed_checks_and_returns_later_claimed_ones() -> None:
    with a_cluster("cluster-api") as story:
        api = story.plane.api
        owner = played.add_cluster(api, SPACE)
        for name in (f"{pool}-{number}" for pool in "ab" for number in range(4)):
            played.add_node(api, name)
            played.add_cluster_api_machine(api, SPACE, name, {"pool": name[0]}, owner)
        story.add_check("a", "a", {}, clusterName=played.CLUSTER)
        story.add_check("b", "b", CLAIM)
        story.wait_for_counts(f"{OLD}/a", 4, 4)
        for name in ("a-0", "a-1", "b-0"):
            played.show(api, name, "Unknown")
        story.wait("ours act", ["a-0", "a-1", "b-0"], within=90.0)
        story.wait_for_counts(f"{OLD}/a", 4, 2)
        fenced = {"conditions": [{"type": "Fenced", "status": "True"}]}
        api.patch(f"{FIXES}/a-1/status", {"status": fenced})
        claimed = api.get(f"{FIXES}/b-0")["metadata"]["uid"]
        specs = [api.get(f"{OLD}/{name}")["spec"] for name in ("a", "b")]

        story.cluster_api_comes([])

        story.wait("what nobody wants and has released nothing goes", ["a-1", "b-0"], within=SOON)
        assert api.get(f"{FIXES}/b-0")["metadata"]["uid"] == claimed
        ((machine, note),) = story.wait_for_events("RemediationWithdrawn")
        assert (machine, "No Nodemend check requests Reboot default/a-0 any more" in note) == ("a-0", True)
        assert [without_units(api.get(f"{OLD}/{name}")["spec"]) for name in ("a", "b")] == [
            without_units(spec) for spec in specs
        ]
        assert api.get(f"{NEW}/a")["spec"]["checks"]["unhealthyNodeConditions"][0]["timeoutSeconds"] == 2

        for name in ("a-2", "b-1"):
            played.show(api, name, "Unknown")
        story.wait("a claimed check goes on being served", ["a-1", "b-0", "b-1"])
        assert story.counts(f"{NEW}/a") == (4, 2)

        api.patch(f"{NEW}/a", {"metadata": {"labels": CLAIM}})
        story.wait("what is claimed later is served again", ["a-0", "a-1", "a-2", "b-0", "b-1"])
        story.wait_for_counts(f"{NEW}/a", 4, 1)


@pytest.mark.nightly
def test_where_only_openshift_has_machines_our_check_is_about_these_until_cluster_api_comes() -> None:
    with a_cluster("openshift") as story:
        api = story.plane.api
        for name in ("o-0", "o-1", "o-2"):
            played.add_node(api, name)
            played.add_openshift_machine(api, SPACE, name, {"pool": "o"})
        story.add_check("o", "o", {})
        story.wait_for_counts(f"{OLD}/o", 3, 3)
        played.show(api, "o-0", "Unknown")
        story.wait("ours act", ["o-0"], within=90.0)
        (owner,) = api.get(f"{FIXES}/o-0")["metadata"]["ownerReferences"]
        assert (owner["apiVersion"], owner["kind"]) == (played.OPENSHIFT, "Machine")

        story.cluster_api_comes(played.machine_definitions("cluster-api"))

        story.wait("nothing is left of ours", [], within=SOON)


def without_units(spec: Object) -> Object:
    """One project writes 10m, another 600s."""
    startup = {"10m": "600s"}
    return {**spec, "nodeStartupTimeout": startup.get(spec["nodeStartupTimeout"], spec["nodeStartupTimeout"])}
