"""The agent's files on a tmpfs: the feed lease, and what it must not forget in this boot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from nodemend.agent.feeder.record_shell import read_lease, write_record
from nodemend.agent.feeder.records import format_lease, format_permit
from nodemend.agent.memory import Memory
from nodemend.agent.published import Conduct
from nodemend.decide.feed_lease import FeedLease, condemn
from nodemend.kube.json_decoding import UNREADABLE, decoder_of

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Kept:
    boot_id: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Recalled:
    """What an earlier agent of this boot left. Condemned: this boot must not be fed again."""

    memory: Memory
    condemned: bool


class FileKeeper:
    """The Keeper port as production has it. Raises OSError: who cannot keep a promise makes none."""

    def __init__(self, boot_id: str, lease: str, memory: str, permit: str) -> None:
        self._boot_id = boot_id
        self._lease = lease
        self._memory = memory
        self._permit = permit

    def feed_until(self, until: float) -> None:
        write_record(self._lease, format_lease(FeedLease(self._boot_id, int(until * _NANOSECONDS))))

    def condemn(self, why: str) -> None:
        write_record(self._lease, format_lease(condemn(FeedLease(self._boot_id))))

    def stand_down(self) -> None:
        write_record(self._permit, format_permit(self._boot_id))

    def stand_up(self) -> None:
        Path(self._permit).unlink(missing_ok=True)

    def remember(self, memory: Memory) -> None:
        write_record(self._memory, msgspec.json.encode(_Kept(self._boot_id, memory)))

    def recall(self) -> Recalled:
        """Where the memory is lost, what the feeder was allowed is still known from the lease."""
        memory = self._recall_memory() or Memory(conduct=Conduct())
        lease = read_lease(self._lease)
        if not isinstance(lease, FeedLease) or lease.boot_id != self._boot_id:
            return Recalled(memory, condemned=False)
        fed_until = max(memory.fed_until, lease.until / _NANOSECONDS)
        return Recalled(msgspec.structs.replace(memory, fed_until=fed_until), lease.condemned)

    def _recall_memory(self) -> Memory | None:
        try:
            kept = decoder_of(_Kept).decode(Path(self._memory).read_bytes())
        except (OSError, *UNREADABLE):
            return None
        return kept.memory if kept.boot_id == self._boot_id else None
