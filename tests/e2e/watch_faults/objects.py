"""The Nodes of one watcher, and their changes during a fault."""

import random
from contextlib import suppress
from dataclasses import dataclass, field

from controlplane.api import Api, ApiError

LABEL = "watch-faults.example/watcher"
_NAMES = 10


@dataclass
class Objects:
    """Up to ten Nodes with the watcher's label, changed at random. Every call blocks."""

    api: Api
    watcher: str
    chance: random.Random
    uids: dict[str, str] = field(default_factory=dict)
    """The existing objects, by the writes that the server acknowledged."""
    deleted: int = 0
    _beats: int = 0

    @property
    def selector(self) -> str:
        return f"{LABEL}={self.watcher}"

    def change(self, times: int) -> None:
        for _ in range(times):
            name = f"{self.watcher}-{self.chance.randrange(_NAMES)}"
            if name not in self.uids:
                self._create(name)
            else:
                self.chance.choice((self._delete, self._replace, self._relabel, self._beat))(name)

    def beat(self) -> None:
        """A change that leaves every record as it is, so that healthy watches are never silent."""
        name = f"{self.watcher}-pulse"
        if name not in self.uids:
            self._create(name)
        self._beat(name)

    def _create(self, name: str) -> None:
        labels = {LABEL: self.watcher}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        self.uids[name] = self.api.create(node)["metadata"]["uid"]

    def _delete(self, name: str) -> None:
        self.api.delete(_path(name))
        self.deleted += 1
        del self.uids[name]

    def _replace(self, name: str) -> None:
        self._delete(name)
        self._create(name)

    def _relabel(self, name: str) -> None:
        self.api.patch(_path(name), {"metadata": {"labels": {"turn": str(self.chance.randrange(10**6))}}})

    def _beat(self, name: str) -> None:
        self._beats += 1
        with suppress(ApiError):
            self.api.patch(_path(name), {"metadata": {"annotations": {"beat": str(self._beats)}}})


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"
