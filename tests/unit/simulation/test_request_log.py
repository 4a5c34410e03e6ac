"""Two digests: of the flow of requests, and of the requests in full."""

from dataclasses import replace
from typing import Final

import pytest

from nodemend.api.resources import NODE
from nodemend.kube.request import Content, Method, Precondition, Request, delete, merge_patch
from simulation.request_log import RequestDigests, RequestLog

PATCH: Final = merge_patch(
    NODE, "a-0", change={"spec": {"unschedulable": True}}, only_if=Precondition("u1", "7"), manager="m"
)


def digests(
    request: Request = PATCH,
    *,
    now: float = 1.0,
    sender: str = "checker",
    status: int = 200,
    answer: bytes = b"",
) -> RequestDigests:
    log = RequestLog(keep=True)
    log.record(now, sender, request, status, answer)
    assert log.digests is not None
    return log.digests


@pytest.mark.parametrize(
    "other",
    [
        digests(now=2.0),
        digests(sender="remediator"),
        digests(status=409),
        digests(replace(PATCH, method=Method.PUT)),
        digests(replace(PATCH, path="/api/v1/nodes/a-1")),
        digests(replace(PATCH, query=(("fieldManager", "n"),))),
    ],
)
def test_the_flow_is_when_who_what_and_the_answer(other: RequestDigests) -> None:
    assert other.flow != digests().flow
    assert other.full != digests().full


@pytest.mark.parametrize(
    "other",
    [
        replace(PATCH, body=PATCH.body.replace(b'"7"', b'"8"')),
        replace(PATCH, body=PATCH.body.replace(b"u1", b"u2")),
    ],
)
def test_versions_that_a_patch_depends_on_belong_to_the_flow(other: Request) -> None:
    assert digests(other).flow != digests().flow


def test_so_do_those_that_a_deletion_depends_on() -> None:
    one, other = (delete(NODE, "a-0", only_if=Precondition("u1", version)) for version in ("7", "8"))
    assert digests(one).flow != digests(other).flow


def test_so_do_the_tests_of_a_json_patch() -> None:
    one, other = (
        Request(
            Method.PATCH,
            "/api/v1/nodes/a-0",
            body=b'[{"op": "test", "path": "/spec", "value": %d}]' % value,
            content=Content.JSON_PATCH,
        )
        for value in (1, 2)
    )
    assert digests(one).flow != digests(other).flow


def test_other_bodies_are_the_same_flow() -> None:
    other = digests(replace(PATCH, body=PATCH.body.replace(b"true", b"false")))
    assert other.flow == digests().flow
    assert other.full != digests().full


def test_the_order_of_keys_does_not_matter() -> None:
    one, other = (
        Request(Method.POST, "/api/v1/events", body=body)
        for body in (b'{"a": 1, "b": {"c": 2, "d": 3}}', b'{"b": {"d": 3, "c": 2}, "a": 1}')
    )
    assert digests(one) == digests(other)


def test_of_answers_only_refusals_count() -> None:
    assert digests(answer=b'{"kind": "Node"}') == digests()
    refused, otherwise = (
        digests(status=409, answer=text) for text in (b'{"message": "a"}', b'{"message": "b"}')
    )
    assert refused.flow == otherwise.flow
    assert refused.full != otherwise.full


def test_a_body_that_is_no_json_stands_for_itself() -> None:
    assert digests(replace(PATCH, body=b"\xff")) != digests(replace(PATCH, body=b"\xfe"))
