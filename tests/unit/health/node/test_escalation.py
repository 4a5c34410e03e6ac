"""Two remedies, the first with a kind of another project, in the simulated world."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE_HEALTH_CHECK, Resource
from nodemend.kube.request import Method
from simulation.cluster.foreign_kinds import a_definition, foreign
from simulation.cluster.world import CHECK, TEMPLATE, Shape, World
from simulation.network import CrashPoint
from tests.unit.health.node.stories import REBOOT

REBOOT_TEMPLATE = foreign("RebootTemplate")
LONG_BEFORE, TIMEOUT = 150.0, 120.0
"""Silent at 10 s, Unknown 45 s later, unhealthy 60 s after that."""


class Story:
    """A node falls silent under a check that first reboots and then requests a person's help."""

    def __init__(self, *, definitions: tuple[Resource, ...] = (REBOOT, REBOOT_TEMPLATE)) -> None:
        shape = Shape(
            machines=6, people=False, replicas=1, definitions=tuple(a_definition(one) for one in definitions)
        )
        self.world = World("ladder", shape)
        self._served = REBOOT in definitions
        api = self.world.admin_api
        if REBOOT_TEMPLATE in definitions:
            template = {"metadata": {"name": "hard"}, "spec": {"template": {"spec": {"hard": True}}}}
            api.create(REBOOT_TEMPLATE, template, "default")
        first = {
            "apiVersion": "example.com/v1",
            "kind": "RebootTemplate",
            "name": "hard",
            "namespace": "default",
        }
        second = {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "ManualRemediationTemplate",
            "name": TEMPLATE,
            "namespace": well_known.SYSTEM_NAMESPACE,
        }
        remedies = [{"template": first, "timeout": "2m"}, {"template": second}]
        api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": {"remedies": remedies}})
        self.world.run(10.0)
        self.world.machines["node-1"].connected = False

    def run(self, seconds: float) -> "Story":
        self.world.run(self.world.scheduler.now + seconds)
        return self

    @property
    def open(self) -> list[str]:
        kinds = (REBOOT, MANUAL_REMEDIATION) if self._served else (MANUAL_REMEDIATION,)
        return [kind.kind for kind in kinds for _ in self.world.admin_api.list(kind)]

    @property
    def report(self) -> dict[str, Any]:
        status = self.world.admin_api.list(NODE_HEALTH_CHECK)[0]["status"]
        return next((row for row in status.get("reports", ()) if row["name"] == "node-1"), {})

    def says(self, succeeded: str) -> "Story":
        [reboot] = self.world.admin_api.list(REBOOT)
        condition = {"type": "Succeeded", "status": succeeded}
        self.world.admin_api.patch(
            REBOOT,
            reboot["metadata"]["name"],
            {"status": {"conditions": [condition]}},
            at=("default", "status"),
        )
        return self


@pytest.fixture
def story() -> Iterator[Story]:
    begun = Story()
    yield begun
    begun.world.close()


def test_the_first_step_is_requested_in_its_kind_from_its_template(story: Story) -> None:
    story.run(LONG_BEFORE)
    assert story.open == ["Reboot"]
    [reboot] = story.world.admin_api.list(REBOOT)
    assert (reboot["metadata"]["name"], reboot["metadata"]["namespace"]) == ("node-1", "default")
    assert reboot["spec"] == {"hard": True}
    assert story.report == {"name": "node-1", "verdict": "Remediating", "remedy": 1}


@pytest.mark.conforms("N10")
def test_after_its_timeout_a_remediation_is_deleted_and_the_next_one_starts(story: Story) -> None:
    story.run(LONG_BEFORE)
    assert story.run(TIMEOUT + 30.0).open == ["ManualRemediation"]
    assert story.report["remedy"] == 2


@pytest.mark.conforms("N10")
def test_after_a_reported_failure_the_next_remediation_starts_at_once(story: Story) -> None:
    story.run(LONG_BEFORE).says("False").run(30.0)
    assert story.open == ["ManualRemediation"]


@pytest.mark.conforms("N10")
def test_a_reported_success_ends_nothing_before_the_node_is_healthy(story: Story) -> None:
    story.run(LONG_BEFORE).says("True").run(30.0)
    assert story.open == ["Reboot"]
    story.world.machines["node-1"].connected = True
    assert story.run(60.0).open == []
    assert story.report == {}


@pytest.mark.slow
def test_the_next_remediation_waits_until_the_first_one_is_deleted(story: Story) -> None:
    story.run(LONG_BEFORE)
    story.world.admin_api.patch(
        REBOOT, "node-1", {"metadata": {"finalizers": ["example.com/safe-end"]}}, at=("default", "")
    )
    assert story.run(TIMEOUT + 300.0).open == ["Reboot"]
    story.world.admin_api.patch(REBOOT, "node-1", {"metadata": {"finalizers": None}}, at=("default", ""))
    assert story.run(30.0).open == ["ManualRemediation"]


@pytest.mark.slow
@pytest.mark.conforms("N21")
def test_a_new_leader_continues_the_escalation(story: Story) -> None:
    story.run(LONG_BEFORE).run(TIMEOUT + 30.0)
    [replica] = [one for one in story.world.replicas if one.process.name.startswith("checker")]
    [manual] = story.world.admin_api.list(MANUAL_REMEDIATION)
    story.world.admin_api.patch(
        MANUAL_REMEDIATION, "node-1", {"metadata": {"finalizers": None}}, at=(well_known.SYSTEM_NAMESPACE, "")
    )
    replica.process.crash()
    story.world.admin_api.delete(MANUAL_REMEDIATION, "node-1", well_known.SYSTEM_NAMESPACE)
    story.run(200.0)
    [again] = story.world.admin_api.list(MANUAL_REMEDIATION)
    assert again["metadata"]["uid"] != manual["metadata"]["uid"]
    assert story.open == ["ManualRemediation"]


def test_a_failed_remediation_is_not_repeated_by_the_next_leader(story: Story) -> None:
    story.run(LONG_BEFORE)
    [replica] = [one for one in story.world.replicas if one.process.name.startswith("checker")]
    replica.link.crash_plan = lambda request: (
        CrashPoint.AFTER_COMMIT if request.method is Method.DELETE else None
    )
    story.says("False").run(2.0)
    assert (story.open, replica.process.alive) == ([], False)
    assert story.run(180.0).open == ["ManualRemediation"]
    assert story.report["remedy"] == 2


def test_an_unserved_kind_holds_and_is_reported() -> None:
    story = Story(definitions=()).run(LONG_BEFORE)
    assert story.open == []
    assert story.report["verdict"] == "Held"
    assert "Cannot read the template RebootTemplate" in story.report["message"]
    story.world.close()
