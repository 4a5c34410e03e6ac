"""From the annotation on a Machine to its Metal3Remediation and back, on a real API server.

The checker runs under its own account, with only the rights that the chart grants. The test writes the
remediator's status under the remediator's account.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from controlplane.api import Api, ApiError, Object
from controlplane.credentials import User
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import install
from installed.programs import start
from nodemend.api.resources import (
    METAL3_REMEDIATION,
    METAL3_REMEDIATION_TEMPLATE,
    SELF_REMEDIATION,
    SELF_REMEDIATION_TEMPLATE,
)
from nodemend.api.well_known import EXTERNAL_REMEDIATION, HOST_OF_MACHINE, SYSTEM_NAMESPACE
from tests.integration import machine_objects as played
from tests.integration.nightly import first_in_ci

pytestmark = pytest.mark.real

SPACE: Final = "default"
ADMINS: Final = "system:masters"
ASKER, MEMBER, STRANGER = "asker", "member", "stranger"
ON: Final = (
    "machineHealthChecks.enabled=true",
    "powerCycle.enabled=true",
    "externalRemediationAnnotation.enabled=true",
    "externalRemediationAnnotation.template=reboot",
    f"externalRemediationAnnotation.setBy.users={{{ASKER}}}",
    "externalRemediationAnnotation.setBy.groups={metal-askers}",
)
MACHINES: Final = {
    "capi": f"/apis/{played.CLUSTER_API}/namespaces/{SPACE}/machines",
    "ocp": f"/apis/{played.OPENSHIFT}/namespaces/{SPACE}/machines",
}
CYCLES: Final = f"/apis/{METAL3_REMEDIATION.api_version}/namespaces/{SPACE}/metal3remediations"
SELF_ENDING: Final = f"/apis/{SELF_REMEDIATION.api_version}/namespaces/{SPACE}/selfremediations"
REFUSED: Final = (
    "only accounts that the chart names in externalRemediationAnnotation.setBy may set or change it"
)


@dataclass(frozen=True, slots=True)
class Stage:
    plane: ControlPlane
    checker: Process

    def wait(self, what: str, holds: Any, within: float = 90.0) -> None:
        wait_until(what, holds, within=within, processes=[self.checker])

    def cycle(self, name: str) -> Object | None:
        return self.plane.api.find(f"{CYCLES}/{name}")

    def asked(self, name: str) -> bool:
        found = self.plane.api.get(machine(name))
        return EXTERNAL_REMEDIATION in found["metadata"].get("annotations", {})

    def says(self, name: str, **conditions: str) -> None:
        """Report as the remediator does."""
        as_remediator = self.plane.client_with(
            self.plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator")
        )
        reported = [
            {
                "type": type_,
                "status": status,
                "reason": "Test",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            for type_, status in conditions.items()
        ]
        as_remediator.patch(f"{CYCLES}/{name}/status", {"status": {"conditions": reported}})

    def events(self, name: str) -> set[str]:
        found = self.plane.api.list(f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events")
        return {one["reason"] for one in found if one["regarding"]["name"] == name}


def machine(name: str) -> str:
    return f"{MACHINES[name.partition('-')[0]]}/{name}"


def ask(api: Api, name: str, value: str | None = "") -> None:
    api.patch(machine(name), {"metadata": {"annotations": {EXTERNAL_REMEDIATION: value}}})


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    users = (User(ASKER, (ADMINS,)), User(MEMBER, (ADMINS, "metal-askers")), User(STRANGER, (ADMINS,)))
    with ControlPlane(Settings(controller_manager=False, scheduler=False, users=users)) as plane:
        install_kinds(plane, "cluster-api", "openshift")
        install(plane, *ON)
        furnish(plane.api)
        wait_until(
            "the policies are active", partial(is_refused, plane.client(STRANGER), "capi-5"), within=60.0
        )
        flags = ("--external-remediation-annotation=on", "--external-remediation-template=reboot")
        yield Stage(plane, start(plane, "nodemend-checker", "--machine-health-checks=on", *flags))


def furnish(api: Api) -> None:
    owner = played.add_cluster(api, SPACE)
    for number in range(6):
        played.add_node(api, f"capi-{number}")
        played.add_cluster_api_machine(api, SPACE, f"capi-{number}", {}, owner)
        played.add_node(api, f"ocp-{number}")
        played.add_openshift_machine(api, SPACE, f"ocp-{number}", {})
        host = {"metadata": {"annotations": {HOST_OF_MACHINE: f"{SPACE}/host-{number}"}}}
        api.patch(machine(f"ocp-{number}"), host)
    template = {"template": {"spec": {"deleteAfterRetries": 7}}}
    kind = METAL3_REMEDIATION_TEMPLATE
    api.create(played.a_thing(kind.api_version, kind.kind, "reboot", template, SPACE))
    policy = {"mode": "Act", "minInterval": "1s", "settleTime": "1s", "maxUnhealthy": "90%"}
    acting = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy", "spec": policy}
    api.create({**acting, "metadata": {"name": "cluster"}})


def is_refused(api: Api, name: str) -> bool:
    try:
        ask(api, name)
    except ApiError as error:
        return REFUSED in str(error)
    ask(api, name, None)
    return False


@pytest.mark.parametrize("name", first_in_ci(["capi-0", "ocp-0"]))
def test_the_request_is_handled_and_cleared_when_the_node_is_healthy(stage: Stage, name: str) -> None:
    played.show(stage.plane.api, name, "Unknown")
    ask(stage.plane.client(ASKER), name)
    stage.wait(f"{name} gets its remediation", lambda: stage.cycle(name) is not None)

    made = stage.cycle(name)
    assert made is not None
    assert made["spec"]["deleteAfterRetries"] == 7
    assert (
        made["metadata"]["ownerReferences"][0]["uid"] == stage.plane.api.get(machine(name))["metadata"]["uid"]
    )
    assert stage.asked(name)

    stage.says(name, Fenced="True", Succeeded="True")
    played.show(stage.plane.api, name, "True")
    stage.wait("the annotation is taken off", lambda: not stage.asked(name))
    stage.wait("the remediation is withdrawn", lambda: stage.cycle(name) is None)
    stage.wait(
        "that is told", lambda: {"RemediationStarted", "RemediationAnnotationCleared"} <= stage.events(name)
    )


def test_the_remediation_is_deleted_when_a_user_removes_the_annotation(stage: Stage) -> None:
    played.show(stage.plane.api, "capi-1", "Unknown")
    ask(stage.plane.client(MEMBER), "capi-1")
    stage.wait("it gets its remediation", lambda: stage.cycle("capi-1") is not None)
    ask(stage.plane.client(STRANGER), "capi-1", None)
    stage.wait("it is withdrawn", lambda: stage.cycle("capi-1") is None)


def test_a_machine_without_a_host_is_reported_and_handled_once_there_is_a_template(stage: Stage) -> None:
    api = stage.plane.api
    played.show(api, "ocp-1", "Unknown")
    api.patch(machine("ocp-1"), {"metadata": {"annotations": {HOST_OF_MACHINE: None}}})
    ask(stage.plane.client(ASKER), "ocp-1")
    stage.wait("it is told", lambda: "RemediationHeld" in stage.events("ocp-1"))

    kind = SELF_REMEDIATION_TEMPLATE
    api.create(played.a_thing(kind.api_version, kind.kind, "reboot", {"template": {"spec": {}}}, SPACE))
    stage.wait("it gets its remediation", lambda: api.find(f"{SELF_ENDING}/ocp-1") is not None)
    assert stage.cycle("ocp-1") is None


@pytest.mark.parametrize("name", ["capi-4", "ocp-4"])
def test_only_the_configured_users_set_or_change_the_annotation(stage: Stage, name: str) -> None:
    stranger = stage.plane.client(STRANGER)
    assert is_refused(stranger, name)
    for user in (ASKER, MEMBER):
        ask(stage.plane.client(user), name, "1")
        with pytest.raises(ApiError, match=REFUSED):
            ask(stranger, name, "2")
        # An existing annotation blocks no other change, and any user may remove it.
        stranger.patch(machine(name), {"metadata": {"labels": {"seen": user}}})
        ask(stranger, name, None)


def test_no_other_account_creates_a_machine_with_the_annotation(stage: Stage) -> None:
    made = stage.plane.api.get(machine("ocp-5"))
    metadata = {"name": "ocp-9", "namespace": SPACE, "annotations": {EXTERNAL_REMEDIATION: ""}}
    with pytest.raises(ApiError, match=REFUSED):
        stage.plane.client(STRANGER).create({**made, "metadata": metadata})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"metadata": {"annotations": {EXTERNAL_REMEDIATION: ""}}},
            "host.metal3.io/external-remediation is never set by a controller of Nodemend",
        ),
        ({"metadata": {"annotations": {"a": "b"}}}, "may only remove host.metal3.io/external-remediation"),
        (
            {"metadata": {"annotations": {HOST_OF_MACHINE: None}}},
            "may only remove host.metal3.io/external-remediation",
        ),
        ({"metadata": {"labels": {"a": "b"}}}, "may not change labels, finalizers or owners of a Machine"),
        (
            {"metadata": {"finalizers": ["a.example/b"]}},
            "may not change labels, finalizers or owners of a Machine",
        ),
        ({"spec": {"providerID": "other://x"}}, "may not create Machines or change their spec"),
    ],
)
def test_the_checker_may_only_remove_the_annotation(stage: Stage, change: Object, says: str) -> None:
    token = stage.plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-checker")
    checker = stage.plane.client_with(token)
    with pytest.raises(ApiError, match=says):
        checker.patch(machine("ocp-5"), change)


def test_an_annotation_that_changed_since_it_was_read_is_not_cleared(stage: Stage) -> None:
    """The write is bound to the version that the decision used."""
    token = stage.plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-checker")
    read = stage.plane.api.get(machine("capi-5"))["metadata"]
    stage.plane.api.patch(machine("capi-5"), {"metadata": {"labels": {"since": "then"}}})
    then = {"uid": read["uid"], "resourceVersion": read["resourceVersion"]}
    change = {"metadata": {**then, "annotations": {EXTERNAL_REMEDIATION: None}}}
    with pytest.raises(ApiError, match="409"):
        stage.plane.client_with(token).patch(machine("capi-5"), change)
