"""Values of kubelets and other operators that no status of Nodemend could hold are treated as unknown."""

import pytest

from nodemend.api.upstream_types import BareMetalHost, BareMetalHostStatus, Node, NodeInfo, NodeStatus
from nodemend.records.live_reads import node_facts
from nodemend.remediation.metal3.host_lookup import LONGEST_ERROR, host_facts
from nodemend.safety.holds import LONGEST_MESSAGE, Explanation


@pytest.mark.attack("S9")
@pytest.mark.parametrize("boot_id", ["x" * 129, "two words", "b\n", "\x1b[2J", "\u00e9"])
def test_a_boot_id_of_another_form_is_no_boot(boot_id: str) -> None:
    node = Node(status=NodeStatus(node_info=NodeInfo(boot_id=boot_id)))

    assert node_facts(node).boot_id == ""


@pytest.mark.parametrize("boot_id", ["0d9a7c52-1c55-4f2b-8a43-7f6f6f0d5b11", "17", "node-1-boot-1"])
def test_what_kubelets_report_is_one(boot_id: str) -> None:
    node = Node(status=NodeStatus(node_info=NodeInfo(boot_id=boot_id)))

    assert node_facts(node).boot_id == boot_id


@pytest.mark.attack("S9")
def test_a_long_host_error_is_cut_and_an_endless_update_time_is_ignored() -> None:
    status = BareMetalHostStatus(error_message="e" * 9000, last_updated="2" * 100)
    facts = host_facts(BareMetalHost(status=status), "u")

    assert len(facts.error_message) == LONGEST_ERROR
    assert facts.last_updated == ""


@pytest.mark.attack("S9")
@pytest.mark.parametrize("length", [10, 1000, 1013, 1014, 5000, 100_000])
def test_a_message_fits_into_a_status_and_keeps_its_advice(length: int) -> None:
    said = str(Explanation("e" * length, "Look at it."))

    assert len(said) <= LONGEST_MESSAGE
    assert said.endswith(" Look at it.")
    assert said.startswith("e" * min(length, 1000))
