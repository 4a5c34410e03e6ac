"""Parsing of the API server's reply: only unambiguous replies count."""

import json

import pytest

from nodemend.agent import exit_codes
from nodemend.agent.api_check.reply import (
    MarkedBefore,
    MarkedNow,
    MarkerCheck,
    NoLease,
    NoMarker,
    UnclearReply,
    evaluate_reply,
    exit_code_of,
)
from nodemend.api.well_known import MARKER


def lease(annotations: dict[str, str] | None = None, name: str = "n1") -> dict[str, object]:
    return {"kind": "Lease", "metadata": {"name": name, "annotations": annotations}}


def marked(boot: object, **more: object) -> dict[str, object]:
    return lease({MARKER: json.dumps({"nodeUID": "u", "bootID": boot, "remediationUID": "r", **more})})


def not_found(kind: str = "leases", name: str = "n1", reason: str = "NotFound") -> dict[str, object]:
    return {"kind": "Status", "reason": reason, "details": {"kind": kind, "name": name}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, lease(), NoMarker()),
        (200, lease({"nodemend.io/agent-report": "{}"}), NoMarker()),
        (200, marked("this boot"), MarkedNow()),
        (200, marked("another"), MarkedBefore()),
        (200, marked("this boot", drill=True), MarkedNow(drill=True)),
        (200, marked("this boot", drill="yes"), MarkedNow()),
        (200, marked("another", drill=True), MarkedBefore()),
        (404, not_found(), NoLease()),
    ],
)
def test_plain_replies(status: int, body: dict[str, object], expected: MarkerCheck) -> None:
    assert evaluate_reply(status, json.dumps(body).encode(), "n1", "this boot") == expected


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, marked("")),
        (200, marked(7)),
        (200, lease({MARKER: "soon"})),
        (200, lease({MARKER: "[]"})),
        (200, lease(name="n2")),
        (201, lease()),
        (200, not_found()),
        (200, {"kind": "Node", "metadata": {"name": "n1"}}),
        # The kind is not served, another object is missing, or the caller has no access: nothing about this
        # Lease.
        (404, {"kind": "Status", "reason": "NotFound", "details": {}}),
        (404, not_found(kind="namespaces")),
        (404, not_found(name="n2")),
        (403, not_found(reason="Forbidden")),
        (404, "page not found"),
        (500, {}),
    ],
)
def test_anything_else_is_no_answer(status: int, body: object) -> None:
    assert isinstance(evaluate_reply(status, json.dumps(body).encode(), "n1", "this boot"), UnclearReply)


@pytest.mark.parametrize("body", [b"", b"<html>", json.dumps(lease()).encode()[:-3], b"\xff\xfe"])
def test_a_truncated_or_invalid_json_reply_is_no_answer(body: bytes) -> None:
    assert isinstance(evaluate_reply(200, body, "n1", "this boot"), UnclearReply)


def test_every_answer_has_its_own_code() -> None:
    answers = (NoMarker(), MarkedNow(), MarkedNow(drill=True), MarkedBefore(), NoLease(), UnclearReply("why"))
    codes = [exit_code_of(answer) for answer in answers]
    assert codes == [
        exit_codes.CLEAN,
        exit_codes.MARKED,
        exit_codes.MARKED_FOR_DRILL,
        exit_codes.MARKED_FOR_ANOTHER_BOOT,
        exit_codes.ABSENT,
        exit_codes.FAILED,
    ]
    assert len(set(codes)) == len(codes)
    # Python ends with 1 by itself when it fails, and with 2 when its arguments are wrong.
    assert not {1, 2} & set(codes[:-1])


@pytest.mark.parametrize("annotations", [[], "", "a", 0, False, [MARKER], 1.5])
def test_invalid_annotations_do_not_prove_that_there_is_no_marker(annotations: object) -> None:
    body = {"kind": "Lease", "metadata": {"name": "n1", "annotations": annotations}}

    assert evaluate_reply(200, json.dumps(body).encode(), "n1", "this boot") == UnclearReply(
        "annotations that are not an object"
    )


@pytest.mark.parametrize("marker", [None, 7, True, [], {"bootID": "this boot"}])
def test_nor_does_a_marker_that_is_no_text(marker: object) -> None:
    body = {"kind": "Lease", "metadata": {"name": "n1", "annotations": {MARKER: marker}}}

    assert isinstance(evaluate_reply(200, json.dumps(body).encode(), "n1", "this boot"), UnclearReply)


def test_a_too_deeply_nested_reply_is_no_answer() -> None:
    deep = "[" * 100_000
    assert isinstance(evaluate_reply(200, deep.encode(), "n1", "this boot"), UnclearReply)
    marked = json.dumps(lease({MARKER: deep})).encode()
    assert evaluate_reply(200, marked, "n1", "this boot") == UnclearReply("a marker that is not JSON")
