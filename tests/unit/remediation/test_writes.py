"""Writes that every remediation makes, bound to the version that the decision used."""

import msgspec
import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.metal3_remediation import Metal3RemediationStatus
from nodemend.api.resources import METAL3_REMEDIATION
from nodemend.api.upstream_types import Node
from nodemend.remediation.metal3.controller import delete_node
from nodemend.remediation.writes import write_finalizer, write_node, write_status
from nodemend.safety.lifecycle import AddFinalizer, DropFinalizer, Release, RemoveTaint, RevokeRelease
from nodemend.safety.release import ReleaseTicket
from tests.unit.safety.worlds import EVIDENCE, SILENT_NODE

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
def test_a_leader_reports_a_found_result_only_after_a_lease_renewal() -> None:
    metadata = ObjectMeta(name="m-1", namespace="metal", uid="rem-1", resource_version="7")
    found = Metal3RemediationStatus(epoch=3)

    assert write_status(METAL3_REMEDIATION, metadata, found, found.but(epoch=5)).confirmed
    assert not write_status(METAL3_REMEDIATION, metadata, found, found.but(phase="Releasing")).confirmed


@pytest.mark.attack("K1")
def test_a_release_is_sent_only_after_the_leaders_lease_was_renewed() -> None:
    """By taint or by deletion. A write that revokes a release does not wait."""
    node = Node(metadata=ObjectMeta(name="n1", uid="uid-1", resource_version="100"))
    ticket = ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, EVIDENCE)

    assert write_node(node, Release(ticket)).confirmed
    assert delete_node(ticket).confirmed
    assert not write_node(node, RemoveTaint(SILENT_NODE)).confirmed
    assert not write_node(node, RevokeRelease(SILENT_NODE, "mark")).confirmed
