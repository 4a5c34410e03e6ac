"""Refusals of the API server: Status objects with the real codes, reasons, messages and details.

The causes of a 422 have one function for each kind of wrong value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from nodemend.api.resources import Resource
from nodemend.kube.outcome import ApiResponse

STALE_WRITE: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@dataclass(frozen=True, slots=True)
class Cause:
    """The error in one field."""

    reason: str
    message: str
    field: str = ""

    def as_json(self) -> dict[str, str]:
        found = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in found.items() if value}


class Refusal(Exception):  # noqa: N818 - the server refuses; nothing here has failed
    """Ends a request with a Status."""

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None, *, token: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.token = token

    def as_json(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.token} if self.token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        return {**status, "code": self.code}

    def as_answer(self, server_time: float) -> ApiResponse:
        retry_after = self.details.get("retryAfterSeconds")
        return ApiResponse(
            status=self.code,
            body=msgspec.json.encode(self.as_json()),
            retry_after=float(retry_after) if retry_after else None,
            server_time=server_time,
        )


def _details(resource: Resource, name: str) -> dict[str, Any]:
    found = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in found.items() if value}


def not_found(resource: Resource, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


class NoSuchPath(Exception):  # noqa: N818 - says what was asked
    """The server serves nothing at this path; it answers 404 in plain text."""

    def as_answer(self, server_time: float) -> ApiResponse:
        return ApiResponse(404, b"404 page not found\n", server_time=server_time)


def already_exists(resource: Resource, name: str, *, deleting: bool = False) -> Refusal:
    message = f'{resource} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return Refusal(409, "AlreadyExists", message, _details(resource, name))


def conflict(resource: Resource, name: str, why: str = STALE_WRITE) -> Refusal:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, _details(resource, name))


def stale_uid(resource: Resource, key: str, given: str, present: str, *, custom: bool, dry: bool) -> Refusal:
    """Return the refusal of a PUT to an object that was replaced by another one with the same name.

    The message is that of the storage layer. A dry run fails before storage adds its prefix to the key.
    """
    folder = "minions" if str(resource) == "nodes" else resource.plural
    place = f"{resource.group}/{folder}" if custom else folder
    root = "" if dry else "/registry"
    why = (
        f"StorageError: invalid object, Code: 4, Key: {root}/{place}/{key}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, "
        f"UID in object meta: {present}"
    )
    return conflict(resource, key.rpartition("/")[2], why)


def stale_precondition(resource: Resource, name: str, why: str) -> Refusal:
    """Return a failed precondition of a deletion. Here the server names the kind instead of the plural."""
    group = f".{resource.group}" if resource.group else ""
    message = f'Operation cannot be fulfilled on {resource.kind}{group} "{name}": {why}'
    return Refusal(409, "Conflict", message, {**_details(resource, name), "kind": resource.kind})


def apply_conflict(causes: Sequence[Cause], message: str) -> Refusal:
    return Refusal(409, "Conflict", message, {"causes": [cause.as_json() for cause in causes]})


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """Return the refusal of an object or of options that break rules: one cause for each field."""
    said = [f"{cause.field}: {cause.message}" for cause in causes]
    what = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    full_kind = f"{kind}.{group}" if group else kind
    details = {"name": name, "group": group, "kind": kind}
    found = {key: value for key, value in details.items() if value}
    message = f'{full_kind} "{name}" is invalid: {what}'
    return Refusal(422, "Invalid", message, {**found, "causes": [cause.as_json() for cause in causes]})


def unprocessable() -> Refusal:
    """Return the refusal of a JSON patch that does not fit. The server does not report the position."""
    return Refusal(422, "Invalid", "the server rejected our request due to an error in our request")


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str) -> Refusal:
    message = f'{resource} "{name}" is forbidden: {why}' if name else f"{resource} is forbidden: {why}"
    return Refusal(403, "Forbidden", message, _details(resource, name))


def expired(message: str, token: str = "") -> Refusal:
    return Refusal(410, "Expired", message, token=token)


def too_large_version(asked: int, present: int) -> Refusal:
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return Refusal(
        504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {present}", details
    )


def method_not_allowed(resource: Resource, verb: str) -> Refusal:
    message = f'{verb} is not supported on resources of kind "{resource}"'
    return Refusal(405, "MethodNotAllowed", message, _details(resource, ""))


def unsupported_media_type(accepted: Sequence[str]) -> Refusal:
    known = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    return Refusal(415, "UnsupportedMediaType", message)


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def required(field: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def wrong(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {why}", field)


def wrong_type(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {_shown(value)}: {why}", field)


def not_supported(field: str, value: Any, supported: tuple[Any, ...]) -> Cause:
    listed = ", ".join(_shown(one) for one in supported)
    return Cause(
        "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {listed}", field
    )


def too_long(field: str, most: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", field)


def too_many(field: str, count: int, most: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {most} items", field)


def duplicate(field: str, value: Any, why: str = "") -> Cause:
    said = f"Duplicate value: {_shown(value)}"
    return Cause("FieldValueDuplicate", f"{said}: {why}" if why else said, field)


def forbidden_value(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def immutable(field: str, value: Any) -> Cause:
    return wrong(field, value, "field is immutable")
