"""Causes of a 422, one function for each kind of wrong value."""

from typing import Any

import msgspec

from simulation.api_server.statuses import Cause


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
