"""Nodes as seen by a controller whose watch may lag."""

from collections import deque

from nodemend.api.resources import NODE
from nodemend.kube.request import EVERYTHING
from simulation.cluster.direct import Direct, Object
from simulation.scheduler import Scheduler


class LateNodes:
    """Delayed list of Nodes. It never goes back: when a delay begins, the list first stays constant."""

    def __init__(self, api: Direct, scheduler: Scheduler) -> None:
        self.lag = 0.0
        self._api = api
        self._scheduler = scheduler
        self._news = api.news((NODE, EVERYTHING))
        self._past: deque[tuple[float, list[Object]]] = deque()
        """States with the time at which each began, oldest first. The first entry is the visible state."""

    def list(self) -> list[Object]:
        now = self._scheduler.now
        if self._news.any() or not self._past:
            self._past.append((now, self._api.list(NODE)))
        while len(self._past) > 1 and self._past[1][0] <= now - self.lag:
            self._past.popleft()
        return self._past[0][1]
