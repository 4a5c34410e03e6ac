"""Writes to a host: Nodemend's annotations only, bound to the host and the version that the decision used."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.upstream_types import BareMetalHost
from nodemend.kube.request import Method
from nodemend.remediation.metal3.controller import write_host
from nodemend.remediation.metal3.model import (
    ClearPowerOff,
    ClearRevokedPowerOff,
    HostStep,
    MarkHost,
    RequestPowerOff,
    RevokePowerOff,
)
from tests.unit.remediation.metal3.power_worlds import HOST

DECIDED_ON = replace(HOST, version="41")
NEWER = BareMetalHost(metadata=ObjectMeta(name="h1", namespace="metal3", uid="h", resource_version="99"))


def written(step: HostStep) -> dict[str, Any]:
    request = write_host(NEWER, step, "rem-1")
    assert request.method is Method.PATCH
    assert request.path.endswith("/namespaces/metal3/baremetalhosts/h1")
    body: dict[str, Any] = msgspec.json.decode(request.body)
    assert body.keys() == {"metadata"}
    return body["metadata"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("step", "annotations"),
    [
        (RequestPowerOff(DECIDED_ON), {"reboot.metal3.io/nodemend-rem-1": '{"mode":"hard"}'}),
        (ClearPowerOff(DECIDED_ON), {"reboot.metal3.io/nodemend-rem-1": None}),
        (RevokePowerOff(DECIDED_ON), {"nodemend.io/power-off-revoked": "rem-1"}),
        (ClearRevokedPowerOff(DECIDED_ON), {"nodemend.io/power-off-revoked": None}),
        (
            MarkHost(DECIDED_ON),
            {"capm3.metal3.io/unhealthy": "nodemend", "capi.metal3.io/unhealthy": "nodemend"},
        ),
    ],
    ids=[
        "the power-off request, in hard mode, under its own key",
        "the power-off request is cleared",
        "a hold under way is void",
        "and that is taken off",
        "marked under both names",
    ],
)
def test_a_step_writes_only_this(step: HostStep, annotations: dict[str, str | None]) -> None:
    assert written(step)["annotations"] == annotations


def test_it_is_bound_to_what_was_decided_on_not_to_what_is_at_hand() -> None:
    metadata = written(RequestPowerOff(DECIDED_ON))

    assert (metadata["uid"], metadata["resourceVersion"]) == (DECIDED_ON.uid, "41")


def test_without_a_host_nothing_can_be_written() -> None:
    with pytest.raises(ValueError, match="RequestPowerOff without a host"):
        write_host(None, RequestPowerOff(DECIDED_ON), "rem-1")
