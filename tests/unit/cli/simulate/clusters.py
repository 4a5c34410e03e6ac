"""Clusters to simulate: 24 workers in three zones, and a control plane with one node in each."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

Object = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
BEGUN: Final = "2026-01-31T08:00:00Z"
BEATS: Final = "2026-01-31T12:00:00Z"
ZONES: Final = ("a", "b", "c")


def node(name: str, zone: str = "", **others: Any) -> Object:
    """Healthy since the morning, unless `ready` says otherwise since `since`."""
    labels = {"kubernetes.io/hostname": name, **others.get("labels", {})}
    if zone:
        labels[ZONE] = zone
    ready = {
        "type": "Ready",
        "status": others.get("ready", "True"),
        "lastTransitionTime": others.get("since", BEGUN),
        "lastHeartbeatTime": BEATS,
    }
    conditions = [ready, *others.get("conditions", ())]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": {"conditions": conditions},
    }


def remedy(kind: str = "ManualRemediation", timeout: str = "") -> Object:
    template = {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": f"{kind}Template",
        "name": "usual",
        "namespace": "nodemend-system",
    }
    return {"template": template, "timeout": timeout} if timeout else {"template": template}


def check(name: str, **spec: Any) -> Object:
    """Ready=Unknown for five minutes is unhealthy."""
    usual = {
        "selector": {},
        "thresholds": [{"type": "Ready", "status": "Unknown", "period": "5m"}],
        "remedies": [remedy()],
    }
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": 1},
        "spec": {**usual, **spec},
    }


def policy(**spec: Any) -> Object:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "RemediationPolicy",
        "metadata": {"name": "cluster", "uid": "uid-cluster"},
        "spec": {"mode": "Act", **spec},
    }


def remediation(name: str, check_name: str = "workers") -> Object:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "ManualRemediation",
        "metadata": {
            "name": name,
            "namespace": "nodemend-system",
            "uid": f"uid-remediation-{name}",
            "labels": {"nodemend.io/check": check_name},
            "annotations": {"nodemend.io/check-uid": f"uid-{check_name}"},
        },
        "status": {"conditions": [{"type": "Succeeded", "status": "Unknown"}]},
    }


def workers(number: int = 8) -> list[Object]:
    return [node(f"edge-{zone}{place}", zone) for zone in ZONES for place in range(1, number + 1)]


def control_plane() -> list[Object]:
    return [node(f"cp-{place}", zone, labels={CONTROL_PLANE: ""}) for place, zone in enumerate(ZONES, 1)]


def selects(*, control_plane: bool) -> Object:
    operator = "Exists" if control_plane else "DoesNotExist"
    return {"matchExpressions": [{"key": CONTROL_PLANE, "operator": operator}]}


def edge_cluster() -> list[Object]:
    """A cluster with failure domains, and a control plane with its own check."""
    return [
        *workers(),
        *control_plane(),
        check("workers", selector=selects(control_plane=False)),
        check("control-plane", selector=selects(control_plane=True)),
        policy(failureDomains={}),
    ]


def as_list(objects: Iterable[Mapping[str, Any]]) -> bytes:
    """As `kubectl get -o json` prints it."""
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
    return json.dumps(listed, indent=4).encode()
