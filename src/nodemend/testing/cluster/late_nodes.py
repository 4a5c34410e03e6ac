"""Nodes as a controller knows them whose watch may be late."""

from collections import deque

from nodemend.api.group_versions import NODE
from nodemend.kube.api_request import EVERYTHING
from nodemend.testing.cluster.direct import Direct, Object
from nodemend.testing.scheduler import Scheduler


class LateNodes:
    """What it knows never goes back: a watch that begins to be late shows nothing new for a while."""

    def __init__(self, api: Direct, scheduler: Scheduler) -> None:
        self.lag = 0.0
        self._api = api
        self._scheduler = scheduler
        self._news = api.news((NODE, EVERYTHING))
        self._past: deque[tuple[float, list[Object]]] = deque()
        """What there was from when on, the oldest first. Its first entry is what is known."""

    def list(self) -> list[Object]:
        now = self._scheduler.now
        if self._news.any() or not self._past:
            self._past.append((now, self._api.list(NODE)))
        while len(self._past) > 1 and self._past[1][0] <= now - self.lag:
            self._past.popleft()
        return self._past[0][1]
