"""What an agent keeps in files, and what the next one finds there."""

from pathlib import Path

import pytest

from nodemend.agent.feeder.record_shell import read_lease, read_permit
from nodemend.agent.keeper_shell import FileKeeper, Recalled
from nodemend.agent.memory import Memory
from nodemend.agent.published import Conduct
from nodemend.api.agent_lease import PeerEntry, PeerProposal
from nodemend.decide.feed_lease import FeedLease
from nodemend.decide.own_contact import begin

PEERS = tuple(
    PeerEntry(
        name=f"{number}.a-long-name-of-a-node-in-a-long-domain.of-a-company.example",
        address=f"[fd00::{number}]:9443",
    )
    for number in range(15)
)
MEMORY = Memory(
    conduct=Conduct(peers=PEERS, proposed=PeerProposal(peers=PEERS[:9], every=10.0)),
    number=12,
    contact=begin(11, 99.5, 15.0),
    fed_until=134.25,
    fresh=False,
)


def keeper(folder: Path, boot: str = "boot-1") -> FileKeeper:
    return FileKeeper(boot, str(folder / "lease"), str(folder / "memory"), str(folder / "permit"))


def test_the_next_agent_goes_on_where_this_one_was(tmp_path: Path) -> None:
    keeper(tmp_path).remember(MEMORY)

    assert keeper(tmp_path).recall() == Recalled(MEMORY, condemned=False)


def test_the_feeder_reads_what_it_writes(tmp_path: Path) -> None:
    keeper(tmp_path).feed_until(134.25)

    assert read_lease(str(tmp_path / "lease")) == FeedLease("boot-1", 134_250_000_000)


def test_in_another_boot_nothing_of_it_counts(tmp_path: Path) -> None:
    keeper(tmp_path).remember(MEMORY)
    keeper(tmp_path).condemn("marked")

    assert keeper(tmp_path, "boot-2").recall() == Recalled(Memory(conduct=Conduct()), condemned=False)


def test_a_condemned_boot_stays_so(tmp_path: Path) -> None:
    keeper(tmp_path).remember(MEMORY)
    keeper(tmp_path).condemn("marked")

    assert keeper(tmp_path).recall().condemned


@pytest.mark.parametrize("left", [b"", b"{", b'{"boot_id": "boot-1"}'])
def test_where_the_memory_is_lost_what_the_feeder_was_allowed_is_known(tmp_path: Path, left: bytes) -> None:
    keeper(tmp_path).feed_until(140.0)
    (tmp_path / "memory").write_bytes(left)

    assert keeper(tmp_path).recall() == Recalled(Memory(conduct=Conduct(), fed_until=140.0), condemned=False)


def test_the_feeder_sees_it_stand_down_and_up_again(tmp_path: Path) -> None:
    permit = str(tmp_path / "permit")
    keeper(tmp_path).stand_up()
    keeper(tmp_path).stand_down()
    assert read_permit(permit, "boot-1")
    assert not read_permit(permit, "boot-2")

    keeper(tmp_path).stand_up()
    assert not read_permit(permit, "boot-1")


def test_what_cannot_be_kept_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        keeper(tmp_path / "missing").remember(MEMORY)
