"""A check that finds nodes unhealthy which are Ready, by a condition of their own, and asks for them."""

from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import NODE, NODE_HEALTH_CHECK
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.world import CHECK

SICK: Final = {"type": "example.com/Sick", "status": "True"}
BY_SICKNESS: Final = {
    "selector": {},
    "thresholds": [{**SICK, "period": "24h"}],
}
"""The check of a world in which tests ask in its stead: by itself it would wait for a day."""
OPEN: Final = {
    "maxConcurrentPercent": 100,
    "maxUnhealthy": "100%",
    "minInterval": "0s",
    "settleTime": "0s",
}
"""A policy of which only maxConcurrent stops anything."""


def complain(api: Direct, node: str) -> dict[str, Any]:
    """The node shows the condition from now on. The metadata of a remediation that the check asks for."""
    found, check = api.get(NODE, node), api.get(NODE_HEALTH_CHECK, CHECK)
    assert found is not None
    assert check is not None
    others = [one for one in found["status"]["conditions"] if one["type"] != SICK["type"]]
    api.patch(NODE, node, {"status": {"conditions": [SICK, *others]}}, at=("", "status"))
    return {
        "name": node,
        "labels": {keys.CHECK: CHECK},
        "annotations": {keys.CHECK_UID: check["metadata"]["uid"]},
    }
