"""Our admission policies under the eyes of the real controller manager, which checks their types."""

from functools import partial

import pytest

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import install

pytestmark = pytest.mark.real

EVERYTHING = (
    "powerCycle.enabled=true",
    "powerCycle.mayReplaceMachines=true",
    "powerCycle.mayDeleteNodes=true",
    "powerCycle.capm3Kinds=true",
    "outOfServiceTaint.restrict=true",
)
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


ANNOTATION_ON = (
    "machineHealthChecks.enabled=true",
    "powerCycle.enabled=true",
    "externalRemediationAnnotation.enabled=true",
    "externalRemediationAnnotation.setBy.groups={metal-askers}",
)


@pytest.mark.parametrize(
    ("settings", "number"),
    [((), 8), (EVERYTHING, 10), (ANNOTATION_ON, 10)],
    ids=["plain", "everything", "annotation"],
)
def test_no_expression_has_a_doubtful_type(settings: tuple[str, ...], number: int) -> None:
    with ControlPlane(Settings(scheduler=False)) as plane:
        if settings is ANNOTATION_ON:
            install_kinds(plane, "cluster-api", "openshift")
        install(plane, *settings)
        wait_until("all policies are checked", partial(_all_checked, plane.api), within=60.0)
        warnings = {
            policy["metadata"]["name"]: policy["status"]["typeChecking"]
            for policy in plane.api.list(POLICIES)
        }

    assert warnings == {name: {} for name in warnings}
    assert len(warnings) == number


def _all_checked(api: Api) -> bool:
    return all("typeChecking" in policy.get("status", {}) for policy in api.list(POLICIES))
