"""Files that take minutes begin first, so that no worker still plays one when the others have ended."""

from typing import Final

import pytest

LONG: Final = (
    "test_user_output",
    "test_wind_down",
    "test_workload_clusters",
    "test_policy_proof",
    "test_annotated_machine",
    "test_refusals",
    "test_cli",
    "test_agent",
    "test_capm3_remediation",
    "test_chart",
    "test_timeline",
    "test_hostile_workload_cluster",
    "test_controlplane",
    "test_explain_machines",
    "test_recovery",
)
"""By their time, the longest first. `pytest --durations=0` prints it."""
_ORDER: Final = {name: number for number, name in enumerate(LONG)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _ORDER.get(item.path.stem, len(LONG)))
