"""An API check feeds only if the Lease promises at least as much as the feeder may use."""

import json

import pytest

from nodemend.agent.api_check.check import promises_less
from nodemend.api.well_known import AGENT_REPORT

PROMISED = {
    "bootID": "this boot",
    "feedLease": 35.0,
    "watchdog": {"class": "hardware", "effective": 10.0},
}


def lease(**report: object) -> dict[str, object]:
    text = json.dumps({**PROMISED, **report})
    return {"kind": "Lease", "metadata": {"name": "n1", "annotations": {AGENT_REPORT: text}}}


@pytest.mark.attack("V3")
@pytest.mark.parametrize(
    ("feed_lease", "effective"), [(35.0, 10.0), (30.0, 9.0), (35.0, 0.0)], ids=["as told", "less", "closed"]
)
def test_what_is_promised_is_enough(feed_lease: float, effective: float) -> None:
    assert promises_less(lease(), "this boot", feed_lease, effective) == ""


@pytest.mark.attack("V3")
@pytest.mark.parametrize(("feed_lease", "effective"), [(35.001, 10.0), (35.0, 10.001)])
def test_a_feeder_that_keeps_more_than_its_lease_is_not_fed_by_an_api_check(
    feed_lease: float, effective: float
) -> None:
    assert "promises" in promises_less(lease(), "this boot", feed_lease, effective)


def test_a_report_whose_times_cannot_be_read_promises_less() -> None:
    for wrong in ({"feedLease": "35"}, {"feedLease": None}, {"watchdog": {"class": "hardware"}}):
        assert promises_less(lease(**wrong), "this boot", 35.0, 10.0)


@pytest.mark.parametrize(
    "nothing",
    [
        lease(bootID="an earlier one"),
        lease(watchdog={"class": "unsupported", "effective": 1.0}),
        {"kind": "Lease", "metadata": {"name": "n1"}},
    ],
)
def test_without_a_promise_for_this_boot_there_is_nothing_to_keep(nothing: dict[str, object]) -> None:
    assert promises_less(nothing, "this boot", 350.0, 100.0) == ""
