"""The changes that a reflector reported, as an account that must balance."""

from collections.abc import Sequence

from nodemend.kube.store import Change
from nodemend.records.node import NodeRecord


class Ledger:
    """Every reported object until its deletion. An entry that contradicts an earlier one is an error."""

    def __init__(self) -> None:
        self.present: dict[str, NodeRecord] = {}
        self.gone: set[str] = set()
        """The uids reported as deleted."""
        self.errors: list[str] = []

    def record(self, changes: Sequence[Change[NodeRecord]]) -> None:
        for change in changes:
            self._upsert(change)

    def _upsert(self, change: Change[NodeRecord]) -> None:
        if self.present.get(change.key) != change.old:
            self.errors.append(f"{change.key}: the old record is not the one reported before")
        if change.old is not None and change.new is not None and change.old.uid != change.new.uid:
            self.errors.append(f"{change.key}: one object turned into another without going")
        if change.new is not None:
            if change.new.uid in self.gone:
                self.errors.append(f"{change.key}: {change.new.uid} came back after it went")
            self.present[change.key] = change.new
        elif change.old is not None:
            self.gone.add(change.old.uid)
            del self.present[change.key]
