"""Prepares a real server: kinds, namespaces and rights that sequences require."""

import time
from typing import Any, Final

from tests.simulation.differential.generating import NAMESPACES
from tests.simulation.differential.our_samples import ORDERS, POLICIES, REMEDIATIONS, definitions, policies
from tests.simulation.differential.running import SAMPLES, VERBS
from tests.simulation.differential.sides import RealSide
from tests.simulation.differential.steps import Step
from tests.simulation.differential.widgets import DEFINITION

RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SECONDS_TO_SERVE: Final = 20.0


def prepare(real: RealSide) -> None:
    """Create everything that sequences require. It can be repeated."""
    for definition in (DEFINITION, *definitions()):
        _post(real, DEFINITIONS, definition)
    for policy in policies():
        plural = "validatingadmissionpolicies"
        if policy["kind"].endswith("Binding"):
            plural = "validatingadmissionpolicybindings"
        _post(real, f"/apis/admissionregistration.k8s.io/v1/{plural}", policy)
    for namespace in NAMESPACES:
        _post(real, "/api/v1/namespaces", {"metadata": {"name": namespace}})
        _post(real, f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    for group, verbs in VERBS.items():
        _grant(real, group, sorted(verbs))
    wait_until_served(real)
    _wait_for_policies(real)


def _grant(real: RealSide, group: str, verbs: list[str]) -> None:
    name = group.replace(":", "-")
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]
    _post(real, f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }
    _post(real, f"{RBAC}/clusterrolebindings", binding)


def _wait_for_policies(real: RealSide) -> None:
    """Wait until each policy refuses a probe, and so is active."""
    remediation = REMEDIATIONS.document("probe", {})
    order = ORDERS.document("probe", {"spec": {"by": "x", "reason": "x", "nodeUID": "x"}})
    probes = (
        Step("probe", "POST", "/api/v1/nodes", {}, {"metadata": {"name": "probe"}}, user="checker"),
        Step("probe", "POST", REMEDIATIONS.collection(NAMESPACES[0]), {}, remediation, user="writer"),
        Step("probe", "POST", POLICIES.path, {}, POLICIES.document("cluster", {}), user="writer"),
        Step("probe", "POST", ORDERS.path, {}, order, user="writer"),
    )
    until = time.monotonic() + SECONDS_TO_SERVE
    for probe in probes:
        while real.perform(probe).status != 403:
            name = probe.body["metadata"]["name"]
            real.perform(Step("clear", "DELETE", f"{probe.path}/{name}"))
            if time.monotonic() > until:
                raise TimeoutError(f"no policy refuses {probe}")
            time.sleep(0.2)


def _post(real: RealSide, path: str, body: dict[str, Any]) -> None:
    outcome = real.perform(Step("prepare", "POST", path, {}, body))
    if outcome.status not in {201, 409}:
        raise RuntimeError(f"POST {path}: {outcome.status} {outcome.body}")


def wait_until_served(real: RealSide) -> None:
    """Wait until all kinds are served.

    A kind is served shortly after its definition is accepted, its watch cache later.
    """
    until = time.monotonic() + SECONDS_TO_SERVE
    for sample in SAMPLES:
        path = sample.collection(NAMESPACES[0])
        while real.perform(Step("list", path=path, query={"resourceVersion": "0"})).status != 200:
            if time.monotonic() > until:
                raise TimeoutError(path)
            time.sleep(0.1)
        for namespace in NAMESPACES:
            real.perform(Step("clear", "DELETE", sample.collection(namespace), {"gracePeriodSeconds": "0"}))
