"""The power state that a host reports counts only without counterevidence."""

from dataclasses import replace
from typing import get_args

import pytest

from nodemend.safety import host_power
from nodemend.safety.host_power import HostFacts, Power, PowerUncertainty, power_of, power_uncertainty
from tests.unit.remediation.metal3.power_worlds import HOST, OFF

DOUBTFUL: list[tuple[str, HostFacts, PowerUncertainty]] = [
    ("it is being deleted", replace(OFF, deleting=True), host_power.HostDeleting()),
    ("it is paused", replace(OFF, paused=True), host_power.PausedHost()),
    ("it is to be detached", replace(OFF, detached=True), host_power.Detached()),
    ("it is detached", replace(OFF, operational_status="detached"), host_power.Detached()),
    ("a hold would only reboot it", replace(OFF, power_off_disabled=True), host_power.PowerOffDisabled()),
    (
        "it has an error while its status is OK",
        replace(OFF, error_type="registration error", error_message="no secret"),
        host_power.HostInError("registration error", "no secret"),
    ),
    (
        "it is in error without a type",
        replace(OFF, operational_status="error"),
        host_power.HostInError("error", ""),
    ),
    ("its firmware is at work", replace(OFF, operational_status="servicing"), host_power.Servicing()),
    (
        "it waits for its turn",
        replace(OFF, operational_status="delayed"),
        host_power.StatusUnclear("delayed"),
    ),
    ("it has said nothing yet", replace(OFF, operational_status=""), host_power.StatusUnclear("")),
    (
        "the provisioner has lost its BMC",
        replace(OFF, manageable="PowerFailure"),
        host_power.Unmanageable("PowerFailure"),
    ),
    ("it has no image", replace(OFF, state="available"), host_power.NotManaged("available")),
    (
        "it is being deprovisioned",
        replace(OFF, state="deprovisioning"),
        host_power.NotManaged("deprovisioning"),
    ),
    ("its state is not told", replace(OFF, state=""), host_power.NotManaged("")),
]


@pytest.mark.parametrize(("host", "why"), [pytest.param(host, why, id=name) for name, host, why in DOUBTFUL])
def test_neither_off_nor_on_is_accepted_when(host: HostFacts, why: PowerUncertainty) -> None:
    assert power_uncertainty(host) == why
    assert power_of(host) is Power.UNKNOWN
    assert power_of(replace(host, powered_on=True)) is Power.UNKNOWN


def test_every_doubt_is_among_the_examples() -> None:
    assert {type(why) for _, _, why in DOUBTFUL} == set(get_args(PowerUncertainty)) - {
        host_power.PowerUnreported
    }


@pytest.mark.parametrize("state", ["provisioned", "externally provisioned"])
def test_a_consistent_host_is_accepted(state: str) -> None:
    assert power_uncertainty(replace(OFF, state=state)) is None
    assert power_of(replace(OFF, state=state)) is Power.OFF
    assert power_of(replace(HOST, state=state)) is Power.ON


def test_no_status_yet_is_not_off() -> None:
    assert power_uncertainty(replace(OFF, powered_on=None)) == host_power.PowerUnreported()
    assert power_of(replace(OFF, powered_on=None)) is Power.UNKNOWN


def test_requests_of_other_owners_are_no_doubt() -> None:
    host = replace(OFF, held_by_others=("reboot.metal3.io/x",), online=False, marked_unhealthy=True)
    assert power_uncertainty(host) is None


GRAVEST_FIRST = (
    {"deleting": True},
    {"paused": True},
    {"detached": True},
    {"power_off_disabled": True},
    {"error_type": "registration error"},
    {"operational_status": "servicing"},
    {"manageable": "PowerFailure"},
    {"state": "available"},
)


def test_the_most_severe_of_several_doubts_is_reported() -> None:
    host = OFF
    reported = []
    for change in reversed(GRAVEST_FIRST):
        host = replace(host, **change)
        reported.append(type(power_uncertainty(host)).__name__)
    assert reported == [
        "NotManaged",
        "Unmanageable",
        "Servicing",
        "HostInError",
        "PowerOffDisabled",
        "Detached",
        "PausedHost",
        "HostDeleting",
    ]


def test_a_host_is_called_by_its_full_name() -> None:
    assert str(HOST) == "metal3/h1"
    assert str(replace(HOST, namespace="other")) == "other/h1"


def test_an_order_that_failed_says_nothing_against_on_and_everything_against_off() -> None:
    """Recorded: the error stays until the next power request."""
    failed = replace(OFF, error_type="power management error", operational_status="error")
    assert power_of(failed) is Power.UNKNOWN
    assert power_of(replace(failed, powered_on=True)) is Power.ON
    assert power_of(replace(failed, powered_on=True, paused=True)) is Power.UNKNOWN
