"""A check that finds Ready nodes unhealthy by another condition, and remediates them."""

from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK
from simulation.cluster.direct import Direct
from simulation.cluster.world import CHECK

SICK: Final = {"type": "example.com/Sick", "status": "True"}
BY_CONDITION: Final = {
    "selector": {},
    "thresholds": [{**SICK, "period": "24h"}],
}
"""The check of a world in which tests create the remediations themselves: the check would wait for a day."""
OPEN: Final = {
    "maxConcurrentPercent": 100,
    "maxUnhealthy": "100%",
    "minInterval": "0s",
    "settleTime": "0s",
}
"""A policy whose only limit is maxConcurrent."""


def complain(api: Direct, node: str) -> dict[str, Any]:
    """Set the condition on the node, and return the metadata of a remediation that the check would create."""
    found, check = api.get(NODE, node), api.get(NODE_HEALTH_CHECK, CHECK)
    assert found is not None
    assert check is not None
    others = [one for one in found["status"]["conditions"] if one["type"] != SICK["type"]]
    api.patch(NODE, node, {"status": {"conditions": [SICK, *others]}}, at=("", "status"))
    return {
        "name": node,
        "labels": {well_known.CHECK: CHECK},
        "annotations": {well_known.CHECK_UID: check["metadata"]["uid"]},
    }
