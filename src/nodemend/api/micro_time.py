"""Moments as Leases and Events carry them: UTC, to the microsecond."""

from datetime import UTC, datetime


def print_micro_time(moment: datetime) -> str:
    """The form of Kubernetes' MicroTime. Raises ValueError for a moment without a time zone."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is ambiguous")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
