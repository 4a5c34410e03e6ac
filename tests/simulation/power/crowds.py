"""Directed seeds: several nodes fail at once, and the policy's limits are kept for every requester."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from nodemend.api.resources import METAL3_REMEDIATION
from simulation.metal3.rack import NAMESPACE
from tests.simulation.power.directed import BEGUN_WITHIN, Directed
from tests.simulation.walking_path.faults import LENIENT

NOTICED: Final = 70.0
"""Seconds after which lost nodes have been observed not Ready for 20 s."""


class Crowd(Directed):
    """Some nodes are lost within a few seconds, and another client asks for them at once."""

    machines: ClassVar[int] = 5
    lost: ClassVar[int] = 2
    asked: ClassVar[int] = 5
    """Highest number of remediations of the other client."""

    def play(self) -> None:
        self.arrange()
        self.begin()
        names = sorted(self.world.machines)[: self.lost]
        for name in names:
            self.lose(self.world.machines[name])
            self.run(self.chance.choice((0.0, 0.0, 1.0)))
        self.run(NOTICED + self.chance.uniform(0.0, 20.0))
        together = self.chance.random() < 0.7
        for name in names[: self.asked]:
            self.ask(name)
            self.run(0.0 if together else self.chance.uniform(0.1, 5.0))
        self.run(BEGUN_WITHIN)
        self.relieve()
        for name in names:
            self.api.delete(METAL3_REMEDIATION, name, NAMESPACE)
            self.heal(self.world.machines[name])
        self.settles()

    def arrange(self) -> None:
        """Prepare the world before the loss."""

    def relieve(self) -> None:
        """Remove what keeps remediations from a start."""


class Quorum(Crowd):
    """Two of four control-plane nodes are lost: without one more there is no majority of members."""

    family: ClassVar[str] = "Quorum"
    asked: ClassVar[int] = 1
    control_plane: ClassVar[int] = 4


class Interval(Crowd):
    """The policy wants a minute between starts."""

    family: ClassVar[str] = "Interval"
    policy: ClassVar[Mapping[str, Any]] = {**LENIENT, "minInterval": "60s"}
    lost: ClassVar[int] = 3


class TooMany(Crowd):
    """More nodes are lost than the policy allows for any start, or than may be off at a time."""

    family: ClassVar[str] = "TooMany"
    policy: ClassVar[Mapping[str, Any]] = {**LENIENT, "maxUnhealthy": 3, "maxConcurrent": 1}
    lost: ClassVar[int] = 3


class NotAllowed(Crowd):
    """The policy permits only dry runs, is paused, or does not exist."""

    family: ClassVar[str] = "NotAllowed"
    lost: ClassVar[int] = 1

    def arrange(self) -> None:
        self.forbid()

    def relieve(self) -> None:
        self.allow()
