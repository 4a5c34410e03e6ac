"""Writes that every remediation makes, bound to the version that was decided on."""

import msgspec
import pytest

from nodemend.api.group_versions import METAL3_REMEDIATION
from nodemend.api.object_meta import ObjectMeta
from nodemend.controllers.remediating.writes import write_finalizer
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
