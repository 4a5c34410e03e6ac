"""The fields that are taken from a live read of a Node."""

import msgspec
import pytest

from nodemend.api.upstream_types import Node
from nodemend.records.live_reads import node_facts

BOARD = "4c4c4544-0051-4a10-8052-b4c04f4e3132"


@pytest.mark.attack("K7")
@pytest.mark.parametrize(
    ("info", "found"),
    [
        ({"systemUUID": BOARD, "machineID": "f00"}, "system-uuid/4c4c454400514a108052b4c04f4e3132"),
        ({"machineID": "f00"}, "machine-id/f00"),
        ({}, ""),
    ],
)
def test_the_machine_is_known_by_its_board_before_its_disk(info: dict[str, str], found: str) -> None:
    """An image that is cloned has the same machine ID on each board."""
    node = msgspec.convert({"metadata": {"name": "n1"}, "status": {"nodeInfo": info}}, Node)
    assert node_facts(node).hardware_id == found
