"""How far back a candidate knows the Lease of its election: from there on etcd was not restored.

Why an epoch above `remembers_from` is of a term after which etcd was not restored
-----------------------------------------------------------------------------------
1. After a restore from a backup the Lease shows an older version than one that was seen before. A candidate
   reads the Lease more often than once in a lease duration, and nobody claims a restored Lease before that is
   over, so a candidate that was there before the restore sees the Lease go back. Its memory begins again.
2. Every version and every epoch in a restored etcd is at most the version that the Lease shows first.
3. Each claim and each renewal says from where on its writer remembers. A candidate that sees such a write
   happen knows as much as its writer: the writer named the version that it had written or watched before, and
   after a restore there is no such version. So a process that starts while another leads remembers what the
   other remembers, and the memory is lost only where nobody is left who has it.

What a record says when it is first seen proves nothing: it may be out of the backup, its writer long gone.
Nor does a record that somebody else changed (`kubectl annotate`): only the holder moves `renewTime`.
"""

from dataclasses import dataclass, replace

from nodemend.kube.leader_record import Record


@dataclass(frozen=True, slots=True)
class LeaseMemory:
    """What one process knows of the past of the Lease."""

    remembers_from: int
    """The revision from which on the Lease has not gone back."""
    since: float
    """When this process itself began to watch."""
    newest: Record
    asked_at: float
    """When it asked for that."""

    def goes_back_to(self, record: Record) -> bool:
        return record.revision < self.newest.revision

    def after(self, record: Record, *, asked_at: float, now: float, gap: float) -> "LeaseMemory":
        """With one more look at the Lease. Looks that are `gap` apart do not follow one another."""
        if self.goes_back_to(record) or now - self.asked_at >= gap:
            return begin_memory(record, asked_at=asked_at, now=now)
        known = self.remembers_from
        if record.remembers_from and record.renewed != self.newest.renewed:
            known = min(known, record.remembers_from)
        return replace(self, remembers_from=known, newest=record, asked_at=asked_at)


def begin_memory(record: Record, *, asked_at: float, now: float) -> LeaseMemory:
    return LeaseMemory(record.revision, now, record, asked_at)
