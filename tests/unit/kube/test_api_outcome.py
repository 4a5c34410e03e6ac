"""The meaning of a reply depends on whether it was a read or a write."""

import msgspec
import pytest

from nodemend.kube.outcome import (
    Acknowledged,
    ApiResponse,
    Ok,
    Reason,
    Refused,
    ServerFault,
    Unanswered,
    Undecodable,
    Unknown,
    Unreachable,
    Unsent,
    read_outcome,
    read_status,
    write_outcome,
)


class _Thing(msgspec.Struct):
    name: str


def _status(code: int, reason: str, message: str = "because", **details: object) -> bytes:
    return msgspec.json.encode({"code": code, "reason": reason, "message": message, "details": details})


def test_an_agreed_answer_is_decoded_and_keeps_the_server_s_clock() -> None:
    answer = ApiResponse(200, b'{"name":"x"}', server_time=1000.0)

    assert read_outcome(answer, _Thing) == Ok(_Thing("x"), 1000.0)
    assert write_outcome(answer, _Thing) == Ok(_Thing("x"), 1000.0)


@pytest.mark.parametrize(
    ("code", "reason_text", "reason"),
    [
        (400, "BadRequest", Reason.BAD_REQUEST),
        (401, "Unauthorized", Reason.UNAUTHORIZED),
        (403, "Forbidden", Reason.FORBIDDEN),
        (404, "NotFound", Reason.NOT_FOUND),
        (409, "Conflict", Reason.CONFLICT),
        (409, "AlreadyExists", Reason.ALREADY_EXISTS),
        (410, "Expired", Reason.GONE),
        (422, "Invalid", Reason.INVALID),
        (429, "TooManyRequests", Reason.THROTTLED),
        (405, "MethodNotAllowed", Reason.OTHER),
        (302, "", Reason.OTHER),
    ],
)
def test_a_refusal_has_its_reason(code: int, reason_text: str, reason: Reason) -> None:
    refused = Refused(reason, "because")

    assert read_outcome(ApiResponse(code, _status(code, reason_text)), _Thing) == refused
    assert write_outcome(ApiResponse(code, _status(code, reason_text)), _Thing) == refused


def test_a_refusal_has_the_longer_retry_after_of_header_and_body() -> None:
    answer = ApiResponse(429, _status(429, "TooManyRequests", retryAfterSeconds=3), retry_after=1.0)

    assert write_outcome(answer, _Thing) == Refused(Reason.THROTTLED, "because", 3.0)


def test_a_failed_server_leaves_a_write_unknown_and_a_read_unanswered() -> None:
    answer = ApiResponse(503, _status(503, "ServiceUnavailable"))

    assert read_outcome(answer, _Thing) == ServerFault(503, "because")
    assert write_outcome(answer, _Thing) == Unknown("the server answered 503: because")


def test_silence_leaves_a_write_unknown_and_a_read_unreachable() -> None:
    assert read_outcome(Unanswered("cut"), _Thing) == Unreachable("cut")
    assert write_outcome(Unanswered("cut"), _Thing) == Unknown("cut")


def test_a_request_that_was_never_sent_was_never_applied() -> None:
    assert read_outcome(Unsent("refused"), _Thing) == Unreachable("refused")
    assert write_outcome(Unsent("refused"), _Thing) == Unsent("refused")


def test_an_unreadable_answer_is_reported() -> None:
    outcome = write_outcome(ApiResponse(200, b'{"name":1}'), _Thing)

    assert outcome == Undecodable("_Thing: Expected `str`, got `int` - at `$.name`")


def test_a_body_that_does_not_matter_is_not_read_into() -> None:
    assert write_outcome(ApiResponse(200, b'{"anything":[1,2]}'), Acknowledged) == Ok(Acknowledged())


def test_a_proxy_s_page_is_a_message() -> None:
    assert read_status(b"<html>502</html>").message == "<html>502</html>"
    assert read_outcome(ApiResponse(404, b"\xff"), _Thing) == Refused(Reason.NOT_FOUND, "\ufffd")
    assert read_outcome(ApiResponse(404, b""), _Thing) == Refused(Reason.NOT_FOUND, "the server answered 404")


def test_an_eviction_refused_by_a_budget_is_distinguished_from_server_load() -> None:
    assert read_status(_status(429, "", causes=[{"reason": "DisruptionBudget"}])).guards_a_disruption_budget
    assert not read_status(_status(429, "")).guards_a_disruption_budget
