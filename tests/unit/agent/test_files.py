"""The files in which an agent keeps its state, and what its successor reads there."""

from pathlib import Path

import pytest

from nodemend.agent.files import DiskStateFiles, RestoredState
from nodemend.agent.state import ActiveTerms, AgentState
from nodemend.agent.watchdog.records_io import read_disarm_permission, read_lease
from nodemend.api.agent import PeerEntry, PeerProposal
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.timing import begin

PEERS = tuple(
    PeerEntry(
        name=f"{number}.a-long-name-of-a-node-in-a-long-domain.of-a-company.example",
        address=f"[fd00::{number}]:9443",
    )
    for number in range(15)
)
MEMORY = AgentState(
    active_terms=ActiveTerms(peers=PEERS, proposed=PeerProposal(peers=PEERS[:9], every=10.0)),
    number=12,
    contact=begin(11, 99.5, 15.0),
    fed_until=134.25,
    fresh=False,
)


def state_files(folder: Path, boot: str = "boot-1") -> DiskStateFiles:
    return DiskStateFiles(boot, str(folder / "lease"), str(folder / "memory"), str(folder / "permit"))


def test_the_next_agent_continues_from_the_stored_state(tmp_path: Path) -> None:
    state_files(tmp_path).remember(MEMORY)

    assert state_files(tmp_path).recall() == RestoredState(MEMORY, fence_requested=False)


def test_the_feeder_reads_what_it_writes(tmp_path: Path) -> None:
    state_files(tmp_path).feed_until(134.25)

    assert read_lease(str(tmp_path / "lease")) == FeedLease("boot-1", 134_250_000_000)


def test_in_another_boot_nothing_of_it_counts(tmp_path: Path) -> None:
    state_files(tmp_path).remember(MEMORY)
    state_files(tmp_path).fence_now("marked")

    assert state_files(tmp_path, "boot-2").recall() == RestoredState(
        AgentState(active_terms=ActiveTerms()), fence_requested=False
    )


def test_a_condemned_boot_stays_condemned(tmp_path: Path) -> None:
    state_files(tmp_path).remember(MEMORY)
    state_files(tmp_path).fence_now("marked")

    assert state_files(tmp_path).recall().fence_requested


@pytest.mark.parametrize("left", [b"", b"{", b'{"boot_id": "boot-1"}'])
def test_without_the_memory_the_feeder_s_last_lease_is_still_known(tmp_path: Path, left: bytes) -> None:
    state_files(tmp_path).feed_until(140.0)
    (tmp_path / "memory").write_bytes(left)

    assert state_files(tmp_path).recall() == RestoredState(
        AgentState(active_terms=ActiveTerms(), fed_until=140.0), fence_requested=False
    )


def test_the_feeder_reads_the_agent_s_graceful_stop_and_its_return(tmp_path: Path) -> None:
    disarm_permission = str(tmp_path / "permit")
    state_files(tmp_path).stand_up()
    state_files(tmp_path).stop_gracefully()
    assert read_disarm_permission(disarm_permission, "boot-1")
    assert not read_disarm_permission(disarm_permission, "boot-2")

    state_files(tmp_path).stand_up()
    assert not read_disarm_permission(disarm_permission, "boot-1")


def test_what_cannot_be_kept_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        state_files(tmp_path / "missing").remember(MEMORY)
