"""A Node as others write it: what it leaves out must not make it unreadable."""

import msgspec

from nodemend.api.upstream_types import Node


def test_a_condition_may_have_no_time_at_all() -> None:
    """So the API server shows one that was written without: as null."""
    written = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": None}]}}
    node = msgspec.json.decode(msgspec.json.encode(written), type=Node)
    assert node.status.conditions[0].last_transition_time is None
