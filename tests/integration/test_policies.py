"""Our admission policies under the eyes of the real controller manager, which checks their types."""

from functools import partial

import pytest

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import install

pytestmark = pytest.mark.real

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def test_no_expression_has_a_doubtful_type() -> None:
    with ControlPlane(Settings(scheduler=False)) as plane:
        install(plane)
        wait_until("all policies are checked", partial(_all_checked, plane.api), within=60.0)
        warnings = {
            policy["metadata"]["name"]: policy["status"]["typeChecking"]
            for policy in plane.api.list(POLICIES)
        }

    assert warnings == {name: {} for name in warnings}
    assert len(warnings) == 6


def _all_checked(api: Api) -> bool:
    return all("typeChecking" in policy.get("status", {}) for policy in api.list(POLICIES))
