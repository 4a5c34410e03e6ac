"""Manifests of self-fencing: off by default, and least privilege when it is enabled."""

from typing import Any

import pytest

from generate.outputs import install_documents
from nodemend.api import well_known
from nodemend.guard.shipped_policies import SHIPPED

DEFAULT = install_documents()
DOCUMENTS = install_documents("selfFencing.enabled=true")
ADDED = [one for one in DOCUMENTS if one not in DEFAULT]


def rights(name: str) -> dict[tuple[str, str], list[tuple[str, tuple[str, ...], frozenset[str]]]]:
    """Return the rules of roles with this name: resource, resource names and verbs, by kind and namespace.

    The namespace of a ClusterRole is empty.
    """
    found = {}
    for one in ADDED:
        if one["kind"] in ("Role", "ClusterRole") and one["metadata"]["name"] == name:
            where = one["metadata"].get("namespace", "")
            found[one["kind"], where] = [
                (resource, tuple(rule.get("resourceNames", ())), frozenset(rule["verbs"]))
                for rule in one["rules"]
                for resource in rule["resources"]
            ]
    return found


READ_POLICIES = tuple(sorted(SHIPPED.keys() - {"nodemend-out-of-service"}))
"""All shipped policies except the one that Nodemend does not rely on."""


def test_it_is_off_by_default_and_leaves_no_trace() -> None:
    """Exceptions: the policy that restricts its accounts regardless of their creator, and the right to read
    its policies.
    """
    places = {(one["metadata"]["name"], one["metadata"].get("namespace", "")) for one in DEFAULT}
    subjects = {one["name"] for document in DEFAULT for one in document.get("subjects", ())}
    for word in (well_known.AGENT_NAMESPACE, well_known.AGENT_SIGNER, "nodemend-signer", "nodemend-agent"):
        assert not any(word in name for place in places for name in place)
        assert word not in subjects


def test_an_agent_has_these_rights_and_no_others() -> None:
    assert rights("nodemend-agent") == {
        ("Role", well_known.AGENT_NAMESPACE): [("leases", (), frozenset({"get", "create", "patch"}))],
        ("ClusterRole", ""): [("certificatesigningrequests", (), frozenset({"get", "create"}))],
    }


def test_the_signer_has_these_rights_and_no_others() -> None:
    read, patch, create = frozenset({"get", "list", "watch"}), frozenset({"patch"}), frozenset({"create"})
    kept = frozenset({"get", "patch"})
    assert rights("nodemend-signer") == {
        ("ClusterRole", ""): [
            ("certificatesigningrequests", (), read),
            ("certificatesigningrequests/approval", (), patch),
            ("certificatesigningrequests/status", (), patch),
            ("signers", (well_known.AGENT_SIGNER,), frozenset({"approve", "sign"})),
            ("events", (), frozenset({"create", "patch"})),
            ("validatingadmissionpolicies", READ_POLICIES, frozenset({"get"})),
            ("validatingadmissionpolicybindings", READ_POLICIES, frozenset({"get"})),
        ],
        ("Role", well_known.SYSTEM_NAMESPACE): [
            ("leases", (), create),
            ("leases", ("nodemend-signer",), kept),
            ("secrets", (), create),
            ("secrets", (well_known.AGENT_AUTHORITY,), kept),
        ],
        ("Role", well_known.AGENT_NAMESPACE): [
            ("configmaps", (), create),
            ("configmaps", (well_known.AGENT_TRUST,), kept),
        ],
    }


def test_no_other_account_reads_the_signer_s_keys() -> None:
    readers = {
        one["metadata"]["name"]
        for one in DOCUMENTS
        if one["kind"] in ("Role", "ClusterRole")
        for rule in one["rules"]
        if "secrets" in rule["resources"]
    }
    assert readers == {"nodemend-signer"}


@pytest.mark.parametrize(
    "policy",
    [one for one in ADDED if one["kind"] == "ValidatingAdmissionPolicy"],
    ids=lambda policy: policy["metadata"]["name"],
)
def test_its_policies_fail_closed_are_bound_and_say_why(policy: dict[str, Any]) -> None:
    name = policy["metadata"]["name"]
    bound = [
        one["spec"]
        for one in ADDED
        if one["kind"] == "ValidatingAdmissionPolicyBinding" and one["spec"]["policyName"] == name
    ]
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert bound == [{"policyName": name, "validationActions": ["Deny"]}]
    assert all(validation["message"] for validation in policy["spec"]["validations"])


def test_the_signer_runs_as_the_other_controllers_do() -> None:
    deployments = {one["metadata"]["name"]: one["spec"] for one in DOCUMENTS if one["kind"] == "Deployment"}
    signer, other = (
        deployments[name]["template"]["spec"] for name in ("nodemend-signer", "nodemend-checker")
    )
    assert signer["securityContext"] == other["securityContext"]
    assert signer["containers"][0]["securityContext"] == other["containers"][0]["securityContext"]
    assert signer["containers"][0]["command"] == ["nodemend-signer"]


def test_the_names_in_the_chart_are_those_in_the_code() -> None:
    accounts = {
        f"system:serviceaccount:{one['metadata']['namespace']}:{one['metadata']['name']}"
        for one in ADDED
        if one["kind"] == "ServiceAccount"
    }
    assert well_known.AGENT_USER in accounts
    text = str([one for one in ADDED if one["kind"] == "ValidatingAdmissionPolicy"])
    for word in (
        well_known.AGENT_USER,
        well_known.NODE_OF_CALLER,
        well_known.AGENT_AUTHORITY,
        well_known.AGENT_TRUST,
    ):
        assert word in text


@pytest.mark.attack("V8")
def test_a_prune_leaves_the_objects_that_agents_and_feeders_need() -> None:
    """Namespace, account and RBAC. Without them agents cannot stop gracefully, and feeders cannot read."""
    needed = {(one, "nodemend-agent") for one in ("ServiceAccount", "Role", "RoleBinding")}
    needed |= {
        ("Namespace", well_known.AGENT_NAMESPACE),
        ("Role", "nodemend-host"),
        ("RoleBinding", "nodemend-host"),
    }
    found = {
        (one["kind"], one["metadata"]["name"]): one["metadata"]["annotations"]
        for one in ADDED
        if (one["kind"], one["metadata"]["name"]) in needed
    }
    assert set(found) == needed
    for annotations in found.values():
        assert annotations["helm.sh/resource-policy"] == "keep"
        assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
        assert annotations["kustomize.toolkit.fluxcd.io/prune"] == "disabled"


@pytest.mark.attack("V8")
def test_the_plain_manifests_have_nothing_that_an_armed_node_depends_on() -> None:
    assert not [one for one in DEFAULT if one["kind"] == "DaemonSet"]
    assert well_known.AGENT_NAMESPACE not in {one["metadata"].get("namespace") for one in DEFAULT}
