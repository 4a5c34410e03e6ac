"""What a reflector has reported, kept as an account that must balance."""

from collections.abc import Sequence

from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import Change


class Ledger:
    """Every object that came, until it went. An entry that contradicts an earlier one is an error."""

    def __init__(self) -> None:
        self.present: dict[str, NodeRecord] = {}
        self.gone: set[str] = set()
        """The uids reported as gone."""
        self.errors: list[str] = []

    def enter(self, changes: Sequence[Change[NodeRecord]]) -> None:
        for change in changes:
            self._enter(change)

    def _enter(self, change: Change[NodeRecord]) -> None:
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
