"""Writes that every remediation makes, bound to the version that was decided on."""

import msgspec
import pytest

from nodemend.api.group_versions import METAL3_REMEDIATION
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.power_cycle import Metal3RemediationStatus
from nodemend.controllers.remediating.writes import write_finalizer, write_status
from nodemend.decide.remediation_steps import AddFinalizer, DropFinalizer

OURS, THEIRS = "nodemend.io/safe-end", "example.com/theirs"


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (AddFinalizer(), (), [OURS]),
        (AddFinalizer(), (THEIRS,), [THEIRS, OURS]),
        (DropFinalizer(), (OURS,), []),
        (DropFinalizer(), (THEIRS, OURS), [THEIRS]),
    ],
    ids=["the first", "beside another's", "the last", "another's stays"],
)
def test_our_finalizer_comes_and_goes_and_no_other(
    step: AddFinalizer | DropFinalizer, before: tuple[str, ...], after: list[str]
) -> None:
    metadata = ObjectMeta(name="m-1", namespace="metal", uid="rem-1", resource_version="7", finalizers=before)
    body = msgspec.json.decode(write_finalizer(METAL3_REMEDIATION, metadata, step).body)["metadata"]

    assert body["finalizers"] == after
    assert (body["uid"], body["resourceVersion"]) == ("rem-1", "7")


@pytest.mark.attack("K1")
def test_a_leader_answers_for_what_it_found_only_after_its_lease_was_renewed() -> None:
    metadata = ObjectMeta(name="m-1", namespace="metal", uid="rem-1", resource_version="7")
    found = Metal3RemediationStatus(epoch=3)

    assert write_status(METAL3_REMEDIATION, metadata, found, found.but(epoch=5)).confirmed
    assert not write_status(METAL3_REMEDIATION, metadata, found, found.but(phase="Releasing")).confirmed
