"""Machines that are replaced if power cycles do not help, and the request to their owners."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nodemend.api.resources import Resource
from nodemend.api.upstream_types import BareMetalHost, Machine
from nodemend.kube.request import Method
from nodemend.records.machine import CLUSTER_API, OPENSHIFT
from nodemend.remediation.metal3.host_lookup import MachineRef, ask_owner, machine_facts
from nodemend.safety.facts import PolicyFacts
from tests.unit.safety.worlds import ACTING

DELETING = replace(ACTING, machines=replace(ACTING.machines, delete=True))
NOW = "2026-01-01T00:00:00Z"
OWNED = [{"apiVersion": "a/v1", "kind": "MachineSet", "name": "workers", "uid": "u", "controller": True}]


def behind(group: str, **metadata: Any) -> MachineRef:
    body = {"metadata": {"name": "m-1", "namespace": "metal", "uid": "m", "resourceVersion": "7", **metadata}}
    version = "v1beta2" if group == CLUSTER_API else "v1beta1"
    return MachineRef(Resource(group, version, "Machine", "machines"), msgspec.convert(body, Machine))


def host(*, external: bool = False) -> BareMetalHost:
    return msgspec.convert({"spec": {"externallyProvisioned": external}}, BareMetalHost)


OF_CLUSTER_API = behind(CLUSTER_API, ownerReferences=OWNED)
OF_OPENSHIFT = behind(OPENSHIFT, ownerReferences=OWNED)
MASTER = behind(
    OPENSHIFT, ownerReferences=OWNED, labels={"machine.openshift.io/cluster-api-machine-role": "master"}
)


@pytest.mark.parametrize(
    ("machine", "policy"),
    [(OF_CLUSTER_API, ACTING), (OF_CLUSTER_API, None), (OF_OPENSHIFT, DELETING)],
    ids=["Cluster API's", "whatever the policy says", "OpenShift's, where the policy lets it be"],
)
def test_one_that_its_owner_would_replace_may_be_given_up(
    machine: MachineRef, policy: PolicyFacts | None
) -> None:
    assert machine_facts(machine, host(), policy, "").why_not == ""


@pytest.mark.parametrize(
    ("machine", "external", "policy", "says"),
    [
        (OF_CLUSTER_API, True, ACTING, "metal3 did not deploy its host"),
        (behind(CLUSTER_API), False, ACTING, "no controller owns it"),
        (OF_OPENSHIFT, False, ACTING, "does not allow deletion"),
        (OF_OPENSHIFT, False, None, "does not allow deletion"),
        (MASTER, False, DELETING, "it is of the control plane"),
    ],
    ids=["a host of the admin's own", "nobody's", "not let", "no policy to be read", "a master"],
)
def test_a_machine_that_no_controller_would_replace_is_not_deleted(
    machine: MachineRef, external: bool, policy: PolicyFacts | None, says: str
) -> None:
    assert says in machine_facts(machine, host(external=external), policy, "").why_not


def test_an_api_refusal_is_reported_with_its_own_message() -> None:
    assert machine_facts(OF_CLUSTER_API, host(), ACTING, "no right").why_not == "no right"


def test_cluster_apis_owner_is_asked_by_a_condition_and_the_machine_stays() -> None:
    asked = ask_owner(OF_CLUSTER_API, NOW)

    assert asked.method is Method.PATCH
    assert asked.path.endswith("/machines/m-1/status")
    [condition] = msgspec.json.decode(asked.body)["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("OwnerRemediated", "False")
    assert condition["reason"] == "PowerCyclesFailed"


def test_an_openshift_machine_is_deleted_in_exactly_the_version_that_was_read() -> None:
    asked = ask_owner(OF_OPENSHIFT, NOW)

    assert asked.method is Method.DELETE
    assert msgspec.json.decode(asked.body)["preconditions"] == {"uid": "m", "resourceVersion": "7"}
