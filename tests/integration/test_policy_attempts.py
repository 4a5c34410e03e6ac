"""Each dry run that tests a policy is refused by that policy alone: on a real API server."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from controlplane.api import Api, collection
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import documents_of, install
from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import CAPM3_REMEDIATION, LEASE
from nodemend.api.well_known import AGENT_NAMESPACE, SYSTEM_NAMESPACE
from nodemend.guard.policies import ALWAYS, OF_ANNOTATIONS, OF_CAPM3, OF_SELF_FENCING
from nodemend.guard.policy_proof import (
    PROBE,
    PolicyAttempt,
    requirement_of_checker,
    requirement_of_remediator,
    requirement_of_signer,
)
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.kube.request import collection_path
from tests.e2e.refusals.installed_cluster import health_check, order, remediation
from tests.integration import machine_objects as played
from tests.integration.api_refusals import refusal

pytestmark = [pytest.mark.real, pytest.mark.attack("S6")]

APPLY: Final = "application/apply-patch+yaml"
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
ON: Final = (
    "selfFencing.enabled=true",
    "powerCycle.enabled=true",
    "powerCycle.capm3Kinds=true",
    "machineHealthChecks.enabled=true",
    "externalRemediationAnnotation.enabled=true",
    "externalRemediationAnnotation.template=reboot",
    "externalRemediationAnnotation.setBy.groups={system:serviceaccounts}",
)
DUTIES: Final = {
    "remediator": requirement_of_remediator(
        SHIPPED, SYSTEM_NAMESPACE, power_cycle=True, capm3_kinds=True, self_fencing=True
    ),
    "checker": requirement_of_checker(SHIPPED, SYSTEM_NAMESPACE, annotations=True),
    "signer": requirement_of_signer(SHIPPED, SYSTEM_NAMESPACE),
}
TRIED: Final = [
    (account, number, attempt.policy)
    for account, duty in DUTIES.items()
    for number, attempt in enumerate(duty.attempts)
]
READ_ONLY: Final = {"nodemend-agent-namespace", "nodemend-agent-requests", "nodemend-node-exclusion"}
"""See decision 70."""


@dataclass(frozen=True)
class Installed:
    plane: ControlPlane
    accounts: dict[str, Api]

    def send(self, account: str, attempt: PolicyAttempt) -> str:
        """The refusal; empty if it would pass."""
        target = ObjectMeta()
        if attempt.resource is not None:
            path = collection_path(attempt.resource, attempt.of.namespace)
            found = self.accounts[account].request("GET", path)["items"]
            metadata = found[0]["metadata"]
            target = ObjectMeta(name=metadata["name"], namespace=metadata.get("namespace", ""))
        request = attempt.write(target)
        query = dict(request.query)
        assert query["dryRun"] == "All"
        ask = partial(self.accounts[account].request, request.method.value, request.path)
        body = json.loads(request.body)
        return refusal(partial(ask, body, content_type=request.content.value, query=query))


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install_kinds(plane, "cluster-api", "openshift", "metal3", "metal3-hosts")
        install(plane, *ON)
        furnish(plane.api)
        yield Installed(
            plane,
            {
                name: plane.client_with(plane.service_account_token(SYSTEM_NAMESPACE, f"nodemend-{name}"))
                for name in DUTIES
            },
        )


def furnish(api: Api) -> None:
    played.add_node(api, "node-1")
    owner = played.add_cluster(api, "default")
    played.add_cluster_api_machine(api, "default", "node-1", {}, owner)
    played.add_openshift_machine(api, "default", "node-1", {})
    api.create(played.a_thing("metal3.io/v1alpha1", "BareMetalHost", "host-1", {"online": True}, "default"))
    api.create(played.a_thing(CAPM3_REMEDIATION.api_version, CAPM3_REMEDIATION.kind, "node-1", {}, "default"))
    api.create(remediation("node-1"))


@pytest.mark.parametrize(("account", "number", "policy"), TRIED)
def test_each_attempt_is_refused_by_its_own_policy_only(
    installed: Installed, account: str, number: int, policy: str
) -> None:
    attempt, api = DUTIES[account].attempts[number], installed.plane.api
    [binding] = [
        one
        for one in documents_of(*ON)
        if (one["kind"], one["metadata"]["name"]) == ("ValidatingAdmissionPolicyBinding", policy)
    ]
    if policy == "nodemend-agent-leases":
        api.delete(f"{BINDINGS}/{policy}")
        metadata = {"name": "node-1", "namespace": AGENT_NAMESPACE}
        lease = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
        wait_until("nobody pins Leases", lambda: refusal(partial(api.create, lease)) == "", within=30.0)
        api.create(binding)

    def refused() -> bool:
        return f"ValidatingAdmissionPolicy '{policy}'" in installed.send(account, attempt)

    wait_until("it is refused", refused, within=30.0)
    api.delete(f"{BINDINGS}/{policy}")
    try:
        wait_until("nobody else refuses it", lambda: installed.send(account, attempt) == "", within=30.0)
    finally:
        api.create(binding)
    wait_until("it is refused again", refused, within=30.0)


def test_the_policies_without_a_possible_attempt_are_the_read_only_ones() -> None:
    every = {*ALWAYS, *OF_SELF_FENCING, *OF_CAPM3, *OF_ANNOTATIONS}
    assert every - {policy for _, _, policy in TRIED} == READ_ONLY


@pytest.mark.parametrize("account", ["checker", "remediator"])
@pytest.mark.parametrize("body", [order(PROBE, by=PROBE), health_check(PROBE)], ids=["order", "check"])
def test_the_rights_for_it_are_worth_nothing_else(
    installed: Installed, account: str, body: dict[str, Any]
) -> None:
    """Rights for one name allow creation by server-side apply only, and of no other name."""
    api, path = installed.accounts[account], collection(body)
    other = {**body, "metadata": {"name": "node-1"}}
    apply = partial(api.request, "PATCH", content_type=APPLY, query={"fieldManager": PROBE})

    assert "cannot create resource" in refusal(partial(api.create, body))
    assert "cannot patch resource" in refusal(partial(apply, f"{path}/node-1", other))
    said = refusal(partial(apply, f"{path}/{PROBE}", body))
    assert "a controller of Nodemend" in said or "cannot patch resource" in said
    assert installed.plane.api.find(f"{path}/{PROBE}") is None
