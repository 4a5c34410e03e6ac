"""Points in time as Kubernetes writes them."""

from datetime import UTC, datetime


def print_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> datetime:
    """Raises ValueError for what is no RFC 3339 time."""
    return datetime.fromisoformat(text)
