"""CAPM3's remediations on a real API server with CAPM3's real kinds.

The running remediator serves them, under its own account and with Nodemend's policies.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from controlplane.api import Api
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import install
from installed.programs import start
from nodemend.api import well_known
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.integration.api_refusals import await_refusal, refusal

pytestmark = pytest.mark.real

THEIRS = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/default/metal3remediations"
OURS = "/apis/remediation.metal3.io/v1alpha1/namespaces/default/metal3remediations"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/capm3-system/leases"
OWNER = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "m1", "uid": "machine-1"}
STRATEGY = {"type": "Reboot", "retryLimit": 2, "timeout": "5m0s"}
SOON = 60.0
CHART = ("powerCycle.enabled=true", "powerCycle.capm3Kinds=true")


class Story:
    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.api = plane.api
        self.remediator: Process = start(plane, "nodemend-remediator", "--power-cycle=on", "--capm3-kinds=on")

    def ask(self, name: str, **metadata: object) -> None:
        self.api.create(
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                "kind": "Metal3Remediation",
                "metadata": {"name": name, "namespace": "default", "ownerReferences": [OWNER], **metadata},
                "spec": {"strategy": STRATEGY},
            }
        )

    def until(self, what: str, holds: Any) -> None:
        wait_until(what, holds, within=SOON, processes=[self.remediator])

    def phase(self, name: str) -> str:
        found: str = self.api.get(f"{THEIRS}/{name}").get("status", {}).get("phase", "")
        return found


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install_kinds(plane, "metal3")
        install(plane, *CHART)
        plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capm3-system"}})
        yield Story(plane)


def test_a_capm3_remediation_is_carried_out_by_a_delegate_and_ends_after_it(story: Story) -> None:
    story.ask("m1")
    story.until("it is told as running", lambda: story.phase("m1") == "Running")

    ours, theirs = story.api.get(f"{OURS}/m1"), story.api.get(f"{THEIRS}/m1")
    assert (ours["spec"]["deleteAfterRetries"], ours["spec"]["powerOnTimeoutSeconds"]) == (2, 300)
    assert ours["metadata"]["annotations"][well_known.DELEGATE_OF] == theirs["metadata"]["uid"]
    assert [one["uid"] for one in ours["metadata"]["ownerReferences"]] == ["machine-1"]
    assert theirs["metadata"]["finalizers"] == [well_known.SAFE_END]
    assert theirs["status"]["lastRemediated"]

    story.api.delete(f"{THEIRS}/m1")
    story.until("it is gone", lambda: story.api.find(f"{THEIRS}/m1") is None)
    assert story.api.find(f"{OURS}/m1") is None


def test_a_remediation_that_capm3_has_begun_is_left_alone_and_reports_it(story: Story) -> None:
    story.ask("m2", finalizers=[well_known.CAPM3_FINALIZER])
    story.until("an event says why", partial(_event_says, story.api, "m2", "CAPM3 serves it"))
    assert story.api.find(f"{OURS}/m2") is None
    assert story.api.get(f"{THEIRS}/m2")["metadata"]["finalizers"] == [well_known.CAPM3_FINALIZER]


def test_nothing_starts_while_the_leader_lease_of_capm3_is_held(story: Story) -> None:
    spec = {"holderIdentity": "capm3-0", "leaseDurationSeconds": 3600}
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": well_known.CAPM3_LEASE, "namespace": "capm3-system"},
        "spec": spec,
    }
    story.api.create(lease)
    story.ask("m3")
    said = f"capm3-0 holds the Lease capm3-system/{well_known.CAPM3_LEASE}"
    story.until("an event says why", partial(_event_says, story.api, "m3", said))
    assert story.api.find(f"{OURS}/m3") is None

    story.api.delete(f"{LEASES}/{well_known.CAPM3_LEASE}")
    story.until("it is begun", lambda: story.phase("m3") == "Running")


def test_nodemend_s_account_changes_nothing_else_on_them(story: Story) -> None:
    story.ask("m4", finalizers=["example.com/theirs"])
    token = story.plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator")
    api = story.plane.client_with(token)
    for change, says in (
        ({"spec": {"strategy": {"retryLimit": 9}}}, "may not change the spec of a remediation"),
        ({"metadata": {"labels": {"a": "b"}}}, "only its own finalizer"),
        ({"metadata": {"finalizers": [well_known.SAFE_END]}}, "only its own finalizer"),
    ):
        await_refusal(says, api, f"{THEIRS}/m4", change)
        assert says in refusal(partial(api.patch, f"{THEIRS}/m4", change))
    assert "cannot delete" in refusal(partial(api.delete, f"{THEIRS}/m4"))


def test_absent_kinds_are_reported_and_the_others_are_served() -> None:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install(plane, *CHART)
        remediator = start(plane, "nodemend-remediator", "--power-cycle=on", "--capm3-kinds=on")
        wait_until(
            "the log says so",
            lambda: "CAPM3's kinds are not installed" in remediator.log.read_text(),
            within=SOON,
            processes=[remediator],
        )
        ours = {
            "apiVersion": "remediation.metal3.io/v1alpha1",
            "kind": "Metal3Remediation",
            "metadata": {"name": "m1", "namespace": "default"},
        }
        plane.api.create(ours)
        wait_until(
            "ours is served",
            lambda: plane.api.get(f"{OURS}/m1").get("status", {}).get("message"),
            within=SOON,
            processes=[remediator],
        )


def _event_says(api: Api, name: str, words: str) -> bool:
    events = api.list("/apis/events.k8s.io/v1/namespaces/default/events")
    return any(one["regarding"]["name"] == name and words in one.get("note", "") for one in events)
