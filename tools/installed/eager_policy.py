"""A RemediationPolicy under which much may go wrong at once: tests break many nodes, which is no storm."""

from controlplane.api import Object


def eager_policy() -> Object:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "RemediationPolicy",
        "metadata": {"name": "cluster"},
        "spec": {
            "mode": "Act",
            "maxConcurrent": 100,
            "maxConcurrentPercent": 100,
            "maxUnhealthy": "100%",
            "minInterval": "1s",
            "settleTime": "5s",
        },
    }
