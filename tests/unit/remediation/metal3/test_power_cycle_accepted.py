"""Every decided status can be written: the API server's rules for statuses accept it."""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
import pytest

from nodemend.api.metal3_remediation import Metal3RemediationStatus
from nodemend.api.resources import METAL3_REMEDIATION
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import PowerFacts, StatusStep, Step
from nodemend.remediation.metal3.status import after
from simulation.api_server.admission import Attempt, Operation, User, allow_everything
from simulation.api_server.remediation_rules import power_cycle_rules
from tests.unit.remediation.metal3.test_power_cycle_attempts import BRINGING_BACK, PAUSING
from tests.unit.remediation.metal3.test_power_cycle_ends import CALLED_OFF, ENDS, REPLACEMENTS
from tests.unit.remediation.metal3.test_power_cycle_phases import HELD_UP, STORY, UNDONE

DECIDED: list[tuple[str, PowerFacts, Step]] = [
    (name, world, decide(world))
    for table in (BRINGING_BACK, PAUSING, CALLED_OFF, ENDS, REPLACEMENTS, STORY, HELD_UP, UNDONE)
    for name, world, _ in table
]


def _on_the_wire(status: Metal3RemediationStatus) -> Mapping[str, Any]:
    return {"status": msgspec.to_builtins(status)}


def _complaints(before: Metal3RemediationStatus, wanted: Metal3RemediationStatus) -> list[str]:
    old, new = dict(_on_the_wire(before)), dict(_on_the_wire(wanted))
    attempt = Attempt(
        Operation.UPDATE, METAL3_REMEDIATION, "status", old, new, User("remediator"), allow_everything
    )
    return [str(one) for one in power_cycle_rules(attempt)]


def test_some_of_what_is_decided_is_written_to_the_status() -> None:
    assert sum(isinstance(step, get_args(StatusStep)) for _, _, step in DECIDED) > 50


@pytest.mark.parametrize(
    ("world", "step"),
    [
        pytest.param(world, step, id=name)
        for name, world, step in DECIDED
        if isinstance(step, get_args(StatusStep)) and not _complaints(*[world.remediation.status] * 2)
    ],
)
def test_what_is_decided_is_taken(world: PowerFacts, step: Any) -> None:
    before = world.remediation.status
    wanted = after(before, step, epoch=world.epoch, generation=1, now="2026-01-01T00:00:00Z")
    assert _complaints(before, wanted) == []
