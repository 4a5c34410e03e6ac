"""Pods that tolerate Nodemend's taint, which a release does not wait for."""

import pytest

from nodemend.safety.facts import Toleration, tolerates
from tests.unit.safety.worlds import OUR_TAINT

KEY = "node.kubernetes.io/out-of-service"


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], False),
        ([Toleration(operator="Exists")], True),
        ([Toleration(operator="Exists", effect="NoSchedule")], False),
        ([Toleration(operator="Exists", effect="NoExecute")], True),
        ([Toleration(operator="Equal")], False),
        ([Toleration(key=KEY, operator="Exists")], True),
        ([Toleration(key=KEY, operator="Equal", value="nodemend")], True),
        ([Toleration(key=KEY, operator="Equal", value="nodeshutdown")], False),
        ([Toleration(key="node.kubernetes.io/unreachable", operator="Exists")], False),
        ([Toleration(key="other", operator="Exists"), Toleration(key=KEY, operator="Exists")], True),
    ],
)
def test_tolerates(tolerations: list[Toleration], expected: bool) -> None:
    assert tolerates(tolerations, OUR_TAINT) is expected
