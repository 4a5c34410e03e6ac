"""The fields of a reply about the Lease, and those that writes set."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from nodemend.api.well_known import LEADER_MEMORY
from nodemend.kube.leader_election import (
    Holder,
    Record,
    claim_record,
    place_record,
    release_record,
    renew_record,
    understand,
)
from nodemend.kube.outcome import (
    ApiResponse,
    LeaseFailed,
    LeaseFound,
    LeaseMissing,
    LeaseOutdated,
    Reply,
    Unanswered,
    Unsent,
)
from nodemend.kube.request import Content, LeaseAddress, Method, Request, get_lease

ADDRESS = LeaseAddress("checker", "nodemend-system")
HELD = Record(uid="u1", version="41", holder="old", seconds=15, transitions=6)
NOON = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)


class Body(msgspec.Struct):
    metadata: dict[str, object]
    spec: dict[str, object]


def body(request: Request) -> Body:
    return msgspec.json.decode(request.body, type=Body)


def lease(**spec: object) -> bytes:
    return msgspec.json.encode({"metadata": {"uid": "u1", "resourceVersion": "41"}, "spec": spec})


def test_a_held_lease_is_found() -> None:
    held = lease(holderIdentity="old", leaseDurationSeconds=15, leaseTransitions=6, strategy="Other")

    assert understand(ApiResponse(200, held)) == LeaseFound(HELD)


def test_an_empty_lease_has_no_holder() -> None:
    assert understand(ApiResponse(201, lease())) == LeaseFound(Record("u1", "41", "", 0, 0))


@pytest.mark.parametrize(
    ("reply", "news"),
    [
        (ApiResponse(404, b""), LeaseMissing()),
        (ApiResponse(409, b""), LeaseOutdated()),
        (ApiResponse(500, b""), LeaseFailed("the server answered 500: ")),
        (ApiResponse(503, b"", retry_after=2.0), LeaseFailed("the server answered 503: ", 2.0)),
        (ApiResponse(403, b'{"message": "may not"}'), LeaseFailed("may not")),
        (ApiResponse(429, b"", retry_after=7.0), LeaseFailed("the server answered 429", 7.0)),
        (Unsent("refused"), LeaseFailed("refused")),
        (Unanswered("no answer"), LeaseFailed("no answer")),
    ],
)
def test_every_other_reply_has_one_meaning(reply: Reply, news: object) -> None:
    assert understand(reply) == news


@pytest.mark.parametrize(
    "unreadable",
    [
        b"{",
        b"[]",
        b'{"metadata": {"uid": "u1", "resourceVersion": "4x"}}',
        b'{"metadata": {"uid": "u1", "resourceVersion": "\xc2\xb2"}}',
        b'{"metadata": {"uid": "", "resourceVersion": "4"}}',
    ],
)
def test_a_lease_without_a_numbered_version_gives_no_epoch(unreadable: bytes) -> None:
    assert isinstance(understand(ApiResponse(200, unreadable)), LeaseFailed)


def test_reading_asks_the_store_and_not_a_cache() -> None:
    request = get_lease(ADDRESS)

    assert (request.method, request.query) == (Method.GET, ())


def test_a_created_lease_has_no_holder_for_the_full_duration() -> None:
    request = place_record(ADDRESS, 15, NOON)

    assert request.method is Method.POST
    assert body(request).spec == {
        "holderIdentity": "",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T12:00:00.000005Z",
    }


@pytest.mark.parametrize(
    "request_",
    [
        claim_record(ADDRESS, HELD, Holder("new", 15, 7), NOON),
        renew_record(ADDRESS, HELD, Holder("new", 15, 7), NOON),
        release_record(ADDRESS, HELD, NOON),
    ],
)
def test_every_write_names_the_version_it_replaces(request_: Request) -> None:
    assert request_.content is Content.MERGE_PATCH
    metadata = body(request_).metadata
    assert (metadata["uid"], metadata["resourceVersion"]) == ("u1", "41")


@pytest.mark.parametrize("write", [claim_record, renew_record])
def test_a_holder_says_from_where_on_it_remembers(write: Callable[..., Request]) -> None:
    annotations = body(write(ADDRESS, HELD, Holder("new", 15, 7), NOON)).metadata["annotations"]

    assert annotations == {LEADER_MEMORY: "7 new"}
    written = {"metadata": {"uid": "u1", "resourceVersion": "41", "annotations": annotations}}
    found = understand(ApiResponse(200, msgspec.json.encode({**written, "spec": {"holderIdentity": "new"}})))
    assert isinstance(found, LeaseFound)
    assert found.lease.remembers_from == 7


def test_who_releases_says_no_more() -> None:
    assert body(release_record(ADDRESS, HELD, NOON)).metadata["annotations"] == {LEADER_MEMORY: None}


@pytest.mark.parametrize(
    "memory",
    ["", "7", "7 ", "7 another", "-7 old", "x old", "\u0667 old", "7" * 20 + " old", "7 old old"],
)
def test_a_memory_that_is_not_the_holders_or_not_a_revision_says_nothing(memory: str) -> None:
    metadata = {"uid": "u1", "resourceVersion": "41", "annotations": {LEADER_MEMORY: memory}}
    found = understand(
        ApiResponse(200, msgspec.json.encode({"metadata": metadata, "spec": {"holderIdentity": "old"}}))
    )

    assert isinstance(found, LeaseFound)
    assert found.lease.remembers_from == 0


def test_a_claim_raises_the_transitions() -> None:
    spec = body(claim_record(ADDRESS, HELD, Holder("new", 15, 7), NOON)).spec

    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("new", 7)


def test_transitions_start_again_before_they_overflow() -> None:
    full = Record(uid="u1", version="41", holder="", seconds=1, transitions=2**31 - 1)

    assert body(claim_record(ADDRESS, full, Holder("new", 15, 7), NOON)).spec["leaseTransitions"] == 1


def test_a_release_leaves_the_lease_free_after_a_second() -> None:
    spec = body(release_record(ADDRESS, HELD, NOON)).spec

    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
