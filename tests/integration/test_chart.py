"""The chart installed by Helm, on a real API server."""

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from controlplane.api import Api, ApiError
from controlplane.credentials import User
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from generate.helm_program import run_helm
from generate.outputs import CHART, install_documents, render_chart
from nodemend.api.well_known import AGENT_NAMESPACE, SYSTEM_NAMESPACE
from tests.integration.helm_release import helm, make_release

pytestmark = pytest.mark.real

POLICY = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
BREAK_GLASS = User("fire-brigade", ("system:masters", "nodemend:break-glass"))
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodemend", "effect": "NoExecute"}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    settings = Settings(controller_manager=False, scheduler=False, users=(BREAK_GLASS,))
    with ControlPlane(settings) as plane:
        yield plane


def uninstall(plane: ControlPlane) -> None:
    # There is no Job controller here; test_wind_down.py tests the hook.
    helm(plane, "uninstall", "nodemend", "--no-hooks")


def test_a_release_lives_and_leaves_your_settings_alone(plane: ControlPlane) -> None:
    notes = make_release(plane)
    assert notes.rstrip().endswith("kubectl mend check")
    assert "it only reports what it would do" in notes
    assert plane.api.find(POLICY) is None

    # Follow the notes.
    yours = yaml.safe_load(next(line for line in notes.splitlines() if "kind: RemediationPolicy" in line))
    plane.api.create(yours)
    assert "It ACTS" in helm(plane, "upgrade", "nodemend", str(CHART))
    assert plane.api.get(POLICY)["spec"]["mode"] == "Act"

    uninstall(plane)
    assert plane.api.get(POLICY)["spec"]["mode"] == "Act"
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    assert plane.api.list(policies) == []

    make_release(plane)
    assert plane.api.get(POLICY)["spec"]["mode"] == "Act"
    uninstall(plane)


def test_on_request_no_other_account_sets_the_out_of_service_taint(plane: ControlPlane) -> None:
    make_release(plane, "--set", "outOfServiceTaint.restrict=true")
    plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    remediator = plane.client_with(plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator"))

    wait_until("the policy is active", partial(_is_refused, plane.api), within=60.0)

    for api in (remediator, plane.client("fire-brigade")):
        _taint(api, add=True)
        # An existing taint blocks no other change.
        plane.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"seen": "yes"}}})
        _taint(api, add=False)
    with pytest.raises(ApiError, match="on evidence, or a member of the group nodemend:break-glass"):
        _taint(plane.api, add=True)
    uninstall(plane)


def test_self_fencing_comes_and_goes_with_a_switch_and_leaves_agents_their_last_word(
    plane: ControlPlane,
) -> None:
    make_release(plane)
    assert plane.api.find(f"/api/v1/namespaces/{AGENT_NAMESPACE}") is None
    helm(plane, "upgrade", "nodemend", str(CHART), "--set", "selfFencing.enabled=true")
    assert plane.api.find(f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/nodemend-agent")
    assert plane.api.find(f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments/nodemend-signer")
    schemas = plane.api.list("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
    assert {"nodemend", "nodemend-agents", "nodemend-leases"} <= {one["metadata"]["name"] for one in schemas}

    helm(plane, "upgrade", "nodemend", str(CHART), "--set", "selfFencing.enabled=false")
    assert plane.api.list(f"/apis/apps/v1/namespaces/{AGENT_NAMESPACE}/daemonsets") == []
    agent = plane.client_with(plane.service_account_token(AGENT_NAMESPACE, "nodemend-agent"))
    # An agent that is stopped publishes this.
    wait_until("its last word is heard", partial(_is_made, agent, "node-1"), within=60.0)

    helm(plane, "upgrade", "nodemend", str(CHART), "--set", "selfFencing.enabled=true")
    uninstall(plane)
    wait_until("it is heard then, too", partial(_is_made, agent, "node-2"), within=60.0)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("replics=3", "Additional property replics is not allowed"),
        ("image.registry=x", "image: Additional property registry is not allowed"),
        ("image.digest=latest", "image.digest"),
        ("uninstall.within=forever", "uninstall.within"),
    ],
)
def test_an_invalid_value_is_refused(setting: str, says: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render_chart(setting)

    assert says in refused.value.stderr


def test_every_value_is_in_the_schema_and_has_a_default() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())

    unused = {"global", "remediationPolicy"}
    assert _keys(values) == _schema_keys(schema, schema["definitions"]) - unused


def test_alerts_and_monitors_are_made_on_request() -> None:
    text = render_chart("prometheusRule.enabled=true", "serviceMonitor.enabled=true")
    kinds = {document["kind"]: document for document in yaml.safe_load_all(text) if document}

    assert kinds["PrometheusRule"]["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    (endpoint,) = kinds["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "interval": "30s", "honorLabels": True}


def test_egress_can_be_limited_to_the_api_server() -> None:
    text = render_chart("networkPolicy.apiServerCIDRs={10.0.0.0/28}")
    (policy,) = (d for d in yaml.safe_load_all(text) if d and d["kind"] == "NetworkPolicy")
    names, api_server = policy["spec"]["egress"]

    assert {port["port"] for port in names["ports"]} == {53}
    assert api_server["to"] == [{"ipBlock": {"cidr": "10.0.0.0/28"}}]
    assert {port["port"] for port in api_server["ports"]} == {443, 6443}


def test_secrets_are_read_only_in_the_configured_namespaces() -> None:
    observations = ("machineHealthChecks.enabled=true", "machineHealthChecks.workloadClusters.enabled=true")
    where = "machineHealthChecks.workloadClusters"
    name = "nodemend-checker-workload-clusters"

    def bindings(*settings: str) -> set[tuple[str, str]]:
        documents = yaml.safe_load_all(render_chart(*settings))
        mine = [d for d in documents if d and d["metadata"]["name"] == name and "roleRef" in d]
        return {(document["kind"], document["metadata"].get("namespace", "")) for document in mine}

    assert bindings() == bindings(*observations) == set()
    chosen = bindings(*observations, f"{where}.namespaces={{fleet-a,fleet-b}}")
    assert chosen == {("RoleBinding", "fleet-a"), ("RoleBinding", "fleet-b")}
    assert bindings(*observations, f"{where}.everyNamespace=true") == {("ClusterRoleBinding", "")}


def test_the_right_to_secrets_is_get_alone_and_can_be_narrowed_to_names() -> None:
    settings = (
        "enabled=true",
        "workloadClusters.enabled=true",
        "workloadClusters.secretNames={a-kubeconfig}",
    )
    text = render_chart(*(f"machineHealthChecks.{setting}" for setting in settings))
    name = "nodemend-checker-workload-clusters"
    (role,) = (d for d in yaml.safe_load_all(text) if d and d["metadata"]["name"] == name)
    (checker,) = (d for d in yaml.safe_load_all(text) if d and d["metadata"]["name"] == "nodemend-checker"
                  and d["kind"] == "Deployment")  # fmt: skip

    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a-kubeconfig"], "verbs": ["get"]}
    ]
    environment = checker["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {"name": "NODEMEND_WORKLOAD_CLUSTERS", "value": "on"} in environment


def test_workload_clusters_need_machine_health_checks() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render_chart("machineHealthChecks.workloadClusters.enabled=true")

    assert "needs machineHealthChecks.enabled" in refused.value.stderr


@pytest.mark.parametrize("asker", ["clusterApi", "medik8s"])
def test_the_chart_refuses_power_cycle_requesters_without_power_cycles(asker: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render_chart(f"powerCycle.askedBy.{asker}=true")

    assert "powerCycle.askedBy needs powerCycle.enabled" in refused.value.stderr


def wind_down_hooks(*settings: str) -> dict[str, dict[str, Any]]:
    """The documents that the chart renders for an uninstall, by kind."""
    documents = [document for document in yaml.safe_load_all(render_chart(*settings)) if document]
    return {d["kind"]: d for d in documents if d["metadata"]["name"] == "nodemend-wind-down"}


def test_winding_down_is_a_hook_of_the_uninstall_alone_and_its_account_comes_and_goes_with_it() -> None:
    hooks = wind_down_hooks()
    made_at = {kind: one["metadata"]["annotations"]["helm.sh/hook"] for kind, one in hooks.items()}
    weights = {kind: one["metadata"]["annotations"]["helm.sh/hook-weight"] for kind, one in hooks.items()}
    policies = {one["metadata"]["annotations"]["helm.sh/hook-delete-policy"] for one in hooks.values()}

    assert set(made_at.values()) == {"pre-delete"}
    assert weights == {
        "ServiceAccount": "-10",
        "ClusterRole": "-10",
        "ClusterRoleBinding": "-10",
        "Role": "-10",
        "RoleBinding": "-10",
        "Job": "0",
    }
    # Without hook-failed, so that the log of a failed Job stays readable.
    assert policies == {"before-hook-creation,hook-succeeded"}
    assert wind_down_hooks("uninstall.windDown=false") == {}


def test_the_wind_down_role_may_only_pause_end_and_read() -> None:
    hooks = wind_down_hooks()
    rules = [*hooks["ClusterRole"]["rules"], *hooks["Role"]["rules"]]

    assert {resource: set(rule["verbs"]) for rule in rules for resource in rule["resources"]} == {
        "remediationpolicies": {"get", "patch"},
        "manualremediations": {"get", "list", "delete"},
        "selfremediations": {"get", "list", "delete"},
        "metal3remediations": {"get", "list", "delete"},
        "nodes": {"list"},
        "baremetalhosts": {"list"},
        "leases": {"get", "list"},
    }
    for binding in (hooks["ClusterRoleBinding"], hooks["RoleBinding"]):
        assert [subject["name"] for subject in binding["subjects"]] == ["nodemend-wind-down"]


def test_the_job_that_winds_down_ends_is_tried_once_and_is_confined() -> None:
    job = wind_down_hooks("uninstall.within=30m")["Job"]
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert container["command"] == ["kubectl-mend"]
    assert container["args"] == ["wind-down", "--yes", "--wait=30m", f"--system-namespace={SYSTEM_NAMESPACE}"]
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    assert job["spec"]["activeDeadlineSeconds"] > 30 * 60
    assert pod["serviceAccountName"] == "nodemend-wind-down"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_plain_manifests_wind_nothing_down_when_they_are_applied() -> None:
    assert not [one for one in install_documents() if "helm.sh/hook" in str(one["metadata"])]


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("machineHealthChecks.enabled=false", "needs machineHealthChecks.enabled"),
        ("powerCycle.enabled=false", "needs powerCycle.enabled"),
        ("externalRemediationAnnotation.setBy.users=null", "needs setBy.users or setBy.groups"),
    ],
)
def test_the_annotation_is_enabled_only_where_it_can_work(lacking: str, says: str) -> None:
    on = (
        "machineHealthChecks.enabled=true",
        "powerCycle.enabled=true",
        "externalRemediationAnnotation.enabled=true",
        "externalRemediationAnnotation.setBy.users={asker}",
    )
    assert "NODEMEND_EXTERNAL_REMEDIATION_ANNOTATION" in render_chart(*on)
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render_chart(*on, lacking)

    assert says in refused.value.stderr


@pytest.mark.attack("U10")
def test_no_rendering_of_the_chart_has_a_policy_that_would_undo_what_people_set() -> None:
    """With or without a cluster, rendering never resets a user's mode, limit or pause."""
    every = ("machineHealthChecks.enabled=true", "powerCycle.enabled=true", "selfFencing.enabled=true")
    for text in (render_chart(), render_chart(*every)):
        made = [document for document in yaml.safe_load_all(text) if document]
        assert made
        assert not [one for one in made if one["kind"] == "RemediationPolicy"]


def test_every_switch_takes_its_objects_away() -> None:
    switches = {
        "crds.install": "CustomResourceDefinition",
        "networkPolicy.enabled": "NetworkPolicy",
        "flowSchema.enabled": "FlowSchema",
        "uninstall.windDown": "Job",
    }
    text = render_chart(*(f"{switch}=false" for switch in switches))

    assert not {document["kind"] for document in yaml.safe_load_all(text) if document} & set(
        switches.values()
    )


def test_the_chart_is_in_order() -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in run_helm("lint", "--strict", str(CHART))


def _is_made(agent: Api, node: str) -> bool:
    """True if an agent may create a Lease: a deleted policy stays in force for a moment."""
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    try:
        agent.create({**kind, "metadata": {"name": node, "namespace": AGENT_NAMESPACE}})
    except ApiError:
        return False
    return True


def _taint(api: Api, *, add: bool) -> None:
    now = api.get("/api/v1/nodes/node-1")["spec"].get("taints", [])
    others = [taint for taint in now if taint["key"] != OUT_OF_SERVICE["key"]]
    api.patch("/api/v1/nodes/node-1", {"spec": {"taints": [*others, OUT_OF_SERVICE] if add else others}})


def _is_refused(api: Api) -> bool:
    try:
        _taint(api, add=True)
    except ApiError:
        return True
    _taint(api, add=False)
    return False


def _keys(values: dict[str, Any], path: str = "") -> set[str]:
    found = set()
    for key, value in values.items():
        found.add(f"{path}{key}")
        if isinstance(value, dict) and key not in ("requests", "limits"):
            found |= _keys(value, f"{path}{key}.")
    return found


def _schema_keys(schema: dict[str, Any], definitions: dict[str, Any], path: str = "") -> set[str]:
    found = set()
    for key, below in schema.get("properties", {}).items():
        found.add(f"{path}{key}")
        target = definitions[below["$ref"].rpartition("/")[2]] if "$ref" in below else below
        found |= _schema_keys(target, definitions, f"{path}{key}.")
    return found


@pytest.mark.attack("S6")
def test_the_plain_manifests_order_policy_bindings_before_accounts() -> None:
    kinds = [one["kind"] for one in install_documents()]
    last_binding = max(at for at, kind in enumerate(kinds) if kind == "ValidatingAdmissionPolicyBinding")
    for held in ("ServiceAccount", "ClusterRoleBinding", "RoleBinding", "Deployment"):
        assert last_binding < kinds.index(held), held
