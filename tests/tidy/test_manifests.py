"""Manifests: least privilege, restricted containers, and the same keys as in the code."""

import re
from itertools import chain
from typing import Any

import pytest

from generate.outputs import CHART, install_documents
from nodemend.api import well_known
from nodemend.guard.policy_proof import PROBE

DOCUMENTS = install_documents()
ROLES = [document for document in DOCUMENTS if document["kind"] in ("ClusterRole", "Role")]
POLICIES = [document for document in DOCUMENTS if document["kind"] == "ValidatingAdmissionPolicy"]
DEPLOYMENTS = [document for document in DOCUMENTS if document["kind"] == "Deployment"]
RULES = [(role["metadata"]["name"], rule) for role in ROLES for rule in role["rules"]]


def rights_of(account: str) -> dict[str, set[str]]:
    """Return the verbs of an account by resource, from every role with the account's name."""
    rights: dict[str, set[str]] = {}
    for name, rule in RULES:
        if name == account:
            tried = rule.get("resourceNames") == [PROBE]
            for resource in rule["resources"]:
                key = f"{resource} of the name {PROBE}" if tried else resource
                rights.setdefault(key, set()).update(rule["verbs"])
    return rights


TRY_SETTINGS = {f"nodehealthchecks of the name {PROBE}": {"create", "patch"}}
TRY_ORDERS = {f"remediationorders of the name {PROBE}": {"create", "patch"}}
READ_POLICIES = {"validatingadmissionpolicies": {"get"}, "validatingadmissionpolicybindings": {"get"}}


@pytest.mark.conforms("W2", "W10")
def test_the_checker_has_these_rights_and_no_others() -> None:
    read = {"get", "list", "watch"}
    assert rights_of("nodemend-checker") == {
        "nodes": read,
        "pods": {"list", "watch"},
        "nodehealthchecks": read,
        "remediationorders": read | {"delete"},
        "nodehealthchecks/status": {"patch"},
        "remediationpolicies": read,
        "remediationpolicies/status": {"patch"},
        "manualremediationtemplates": read,
        "manualremediations": read | {"create", "delete"},
        "selfremediationtemplates": read,
        "selfremediations": read | {"create", "delete"},
        "metal3remediationtemplates": read,
        "metal3remediations": read | {"create", "delete"},
        "leases": {"get", "create", "patch"},
        "events": {"create", "patch"},
        **READ_POLICIES,
        **TRY_SETTINGS,
        **TRY_ORDERS,
    }


def test_the_checker_reads_medik8s_leases_only_if_they_are_respected_and_never_takes_one() -> None:
    named = [one for one in install_documents("medik8sLeases.respect=true") if one["kind"] == "Role"]
    [role] = [one for one in named if one["metadata"]["name"] == "nodemend-checker-medik8s"]
    assert role["metadata"]["namespace"] == "medik8s-leases"
    assert role["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    ]
    assert not rights_of("nodemend-checker-medik8s")


def test_the_checker_may_remove_the_annotation_only_if_the_feature_is_on() -> None:
    asking = "externalRemediationAnnotation"
    on = (f"{asking}.enabled=true", f"{asking}.setBy.users={{somebody}}")
    documents = install_documents("machineHealthChecks.enabled=true", "powerCycle.enabled=true", *on)
    name = "nodemend-checker-external-remediation"
    [role] = [one for one in documents if one["metadata"]["name"] == name and one["kind"] == "ClusterRole"]
    assert role["rules"] == [
        {
            "apiGroups": ["cluster.x-k8s.io", "machine.openshift.io"],
            "resources": ["machines"],
            "verbs": ["patch"],
        },
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [well_known.LEASE_OF_THE_ACTUATOR],
            "verbs": ["get"],
        },
    ]
    asking_policies = {
        one["metadata"]["name"] for one in documents if one["kind"] == "ValidatingAdmissionPolicy"
    } - {policy["metadata"]["name"] for policy in POLICIES}
    assert asking_policies == {"nodemend-external-remediation", "nodemend-machines"}
    assert not rights_of(name)


def test_the_remediator_has_these_rights_and_no_others() -> None:
    read = {"get", "list", "watch"}
    assert rights_of("nodemend-remediator") == {
        "nodes": read | {"patch"},
        "pods": {"list"},
        "persistentvolumeclaims": {"get"},
        "volumeattachments": {"list"},
        "manualremediations": read | {"patch"},
        "manualremediations/status": {"patch"},
        "selfremediations": read | {"patch"},
        "selfremediations/status": {"patch"},
        "metal3remediations": read | {"patch"},
        "metal3remediations/status": {"patch"},
        "remediationpolicies": read,
        "nodehealthchecks": read,
        "leases": {"get", "list", "create", "patch", "delete"},
        "events": {"create", "patch"},
        **READ_POLICIES,
        **TRY_SETTINGS,
    }


def test_the_remediator_may_hold_hosts_only_if_power_cycles_are_on() -> None:
    documents = install_documents("powerCycle.enabled=true")
    [role] = [one for one in documents if one["metadata"]["name"] == "nodemend-remediator-power-cycle"][:1]
    assert {resource: rule["verbs"] for rule in role["rules"] for resource in rule["resources"]} == {
        "baremetalhosts": ["get", "list", "watch", "patch"],
        "events": ["list"],
        "machines": ["get"],
        "machinehealthchecks": ["get"],
        "metal3machines": ["get"],
    }
    assert not rights_of("nodemend-remediator-power-cycle")


def test_the_remediator_may_request_replacement_only_if_it_is_allowed() -> None:
    documents = install_documents("powerCycle.enabled=true", "powerCycle.mayReplaceMachines=true")
    [role] = [one for one in documents if one["metadata"]["name"] == "nodemend-remediator-power-cycle"][:1]
    more = {"machines/status": ["patch"], "machines": ["delete"]}
    assert {resource: rule["verbs"] for rule in role["rules"][-2:] for resource in rule["resources"]} == more


READ = ["get", "list", "watch"]


@pytest.mark.parametrize(
    ("asker", "role", "label", "verbs"),
    [
        (
            "clusterApi",
            "nodemend-asked-by-cluster-api",
            "cluster.x-k8s.io/aggregate-to-manager",
            [*READ, "create", "delete", "request"],
        ),
        (
            "medik8s",
            "nodemend-asked-by-medik8s",
            "rbac.ext-remediation/aggregate-to-ext-remediation",
            [*READ, "create", "update", "patch", "delete", "request"],
        ),
    ],
)
def test_other_health_checks_may_request_power_cycles_only_if_configured(
    asker: str, role: str, label: str, verbs: list[str]
) -> None:
    documents = install_documents("powerCycle.enabled=true", f"powerCycle.askedBy.{asker}=true")
    added = [one for one in documents if one["metadata"]["name"].startswith("nodemend-asked-by-")]
    group = ["remediation.metal3.io"]

    [only] = added
    assert only["metadata"]["name"] == role
    assert only["metadata"]["labels"][label] == "true"
    assert only["rules"] == [
        {"apiGroups": group, "resources": ["metal3remediationtemplates"], "verbs": READ},
        {"apiGroups": group, "resources": ["metal3remediations"], "verbs": verbs},
    ]
    assert not rights_of(role)


def test_the_remediator_has_the_node_deletion_right_only_if_it_is_enabled() -> None:
    documents = install_documents("powerCycle.enabled=true", "powerCycle.mayDeleteNodes=true")
    [role] = [one for one in documents if one["metadata"]["name"] == "nodemend-remediator-power-cycle"][:1]
    assert [rule["verbs"] for rule in role["rules"] if rule["resources"] == ["nodes"]] == [["delete"]]
    reported = [
        one["metadata"]["name"]
        for one in documents
        if one["kind"] == "Deployment" and "NODEMEND_NODE_DELETION" in str(one["spec"])
    ]
    assert reported == ["nodemend-remediator"]
    assert "delete" not in rights_of("nodemend-remediator")["nodes"]
    assert "NODEMEND_NODE_DELETION" not in str(DEPLOYMENTS)


def test_the_remediator_may_change_capm3_kinds_only_if_they_are_served() -> None:
    documents = install_documents("powerCycle.enabled=true", "powerCycle.capm3Kinds=true")
    [role] = [one for one in documents if one["metadata"]["name"] == "nodemend-remediator-power-cycle"][:1]
    rules = [(*rule["apiGroups"], *rule["resources"], rule["verbs"]) for rule in role["rules"]]
    assert ("infrastructure.cluster.x-k8s.io", "metal3remediations", ["get", "list", "patch"]) in rules
    assert ("remediation.metal3.io", "metal3remediations", ["create", "delete", "request"]) in rules
    [leases] = [rule for rule in role["rules"] if rule["resources"] == ["leases"]]
    assert leases["resourceNames"] == [well_known.CAPM3_LEASE]
    assert well_known.CAPM3_LEASE not in str(DOCUMENTS)
    assert "NODEMEND_CAPM3_KINDS" not in str(DEPLOYMENTS)


def test_a_viewer_changes_nothing() -> None:
    verbs = set(chain.from_iterable(rights_of("nodemend-viewer").values()))

    assert verbs == {"get", "list", "watch"}


def test_operators_and_confirmers_see_what_viewers_see_and_change_only_this() -> None:
    changes = {
        role: {
            (resource, verb)
            for resource, verbs in rights_of(role).items()
            for verb in verbs - {"get", "list", "watch"}
        }
        for role in ("nodemend-operator", "nodemend-overrider", "nodemend-driller", "nodemend-confirmer")
    }

    assert changes == {
        "nodemend-operator": {
            ("remediationpolicies", "patch"),
            ("nodehealthchecks", "patch"),
            ("manualremediations", "delete"),
            ("selfremediations", "delete"),
            ("metal3remediations", "delete"),
            ("remediationorders", "create"),
            ("remediationorders", "delete"),
        },
        "nodemend-overrider": {
            ("remediationorders", "create"),
            ("remediationorders", "delete"),
            ("remediationorders", "override"),
        },
        "nodemend-driller": {("selfremediations", verb) for verb in ("create", "delete", "drill")},
        "nodemend-confirmer": {("manualremediations", "patch"), ("manualremediations", "confirm")},
    }


@pytest.mark.parametrize(("role", "rule"), RULES)
def test_no_right_is_a_wildcard(role: str, rule: dict[str, list[str]]) -> None:
    assert "*" not in chain(*rule.values())


def test_no_role_reads_secrets_or_escalates() -> None:
    resources = set(chain.from_iterable(rule["resources"] for _, rule in RULES))
    verbs = set(chain.from_iterable(rule["verbs"] for _, rule in RULES))

    assert not resources & {"secrets", "serviceaccounts/token", "pods/exec", "nodes/proxy"}
    assert not verbs & {"escalate", "bind", "impersonate"}


def test_no_role_is_added_to_kubernetes_own() -> None:
    for role in ROLES:
        assert not [label for label in role["metadata"].get("labels", {}) if "aggregate-to" in label]


def test_one_role_each_may_confirm_override_and_drill_and_none_may_configure_request_or_abandon() -> None:
    may_confirm = {role for role, rule in RULES if "confirm" in rule["verbs"]}
    may_override = {role for role, rule in RULES if "override" in rule["verbs"]}
    may_drill = {role for role, rule in RULES if "drill" in rule["verbs"]}
    other = {role for role, rule in RULES if {"configure", "request", "abandon"} & set(rule["verbs"])}

    assert (may_confirm, may_override, other) == ({"nodemend-confirmer"}, {"nodemend-overrider"}, set())
    assert may_drill == {"nodemend-driller"}


FAILS_OPEN = {"nodemend-node-exclusion"}
"""This policy applies to kubelets, which must be able to report even if it fails. An exclusion releases
nothing."""


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy["metadata"]["name"])
def test_a_policy_fails_closed_is_bound_and_says_why(policy: dict[str, Any]) -> None:
    name = policy["metadata"]["name"]
    bindings = [d for d in DOCUMENTS if d["kind"] == "ValidatingAdmissionPolicyBinding"]
    bound = [binding["spec"] for binding in bindings if binding["spec"]["policyName"] == name]

    assert policy["apiVersion"] == "admissionregistration.k8s.io/v1"
    assert policy["spec"]["failurePolicy"] == ("Ignore" if name in FAILS_OPEN else "Fail")
    assert bound == [{"policyName": name, "validationActions": ["Deny"]}]
    assert all(validation["message"] for validation in policy["spec"]["validations"])


def test_the_policies_use_the_keys_of_the_code() -> None:
    text = "".join(file.read_text() for file in (CHART / "templates").glob("policy-*.yaml"))
    of_orders = {
        well_known.ORDER,
        well_known.ORDERED_BY,
        well_known.ORDERED_BECAUSE,
        well_known.PAST_GUARD,
        well_known.DRILL,
    }
    of_agents = {
        well_known.AGENT_REPORT,
        well_known.PEER_PROPOSAL,
        well_known.MARKER,
        well_known.AGENT_SIGNER,
    }
    ours = {
        well_known.SAFE_END,
        well_known.CHECK,
        well_known.CHECK_UID,
        well_known.RELEASE_REVOKED,
        well_known.POWER_OFF_REVOKED,
        well_known.EXCLUDE,
    }
    tried = {well_known.POLICY_PROBE, well_known.REPLACE_AUTHORITY}

    assert set(re.findall(r"nodemend\.io/[a-z-]+", text)) == ours | of_orders | of_agents | tried
    assert f"'{well_known.OUT_OF_SERVICE}'" in text
    assert f"'{well_known.EXTERNAL_REMEDIATION}'" in text
    assert f"'{well_known.MEDIK8S_EXCLUDE}'" in text
    assert f"orValue('') == '{well_known.OUR_TAINT_VALUE}'" in text
    assert f"== '{well_known.NO_EXECUTE}'" in text


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["metadata"]["name"])
def test_a_controller_is_confined(deployment: dict[str, Any]) -> None:
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & pod.keys()
    assert pod["serviceAccountName"] == deployment["metadata"]["name"]
    assert container["resources"]["limits"]["memory"]
    assert container["command"] == [deployment["metadata"]["name"]]
