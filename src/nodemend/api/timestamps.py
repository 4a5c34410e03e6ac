"""Points in time as Kubernetes writes them: UTC, to the second (metav1.Time) or microsecond (MicroTime)."""

from datetime import UTC, datetime


def print_time(moment: datetime) -> str:
    """Raises ValueError for a moment without a time zone."""
    return _in_utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def print_micro_time(moment: datetime) -> str:
    """As Leases and Events carry it. Raises ValueError for a moment without a time zone."""
    return _in_utc(moment).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Raises ValueError for what is no RFC 3339 time."""
    return datetime.fromisoformat(text)


def written_moment(text: str | None) -> datetime | None:
    """None for what is no moment: nothing, or no time, or one without a time zone or a year that we count."""
    try:
        moment = parse_time(text or "")
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is ambiguous")
    return moment.astimezone(UTC)
