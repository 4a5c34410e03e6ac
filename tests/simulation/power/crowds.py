"""Directed seeds: several nodes fail at once, and the policy's limits are kept whoever asks."""

from typing import ClassVar

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, NODE, REMEDIATION_POLICY
from tests.simulation.power.directed import BEGUN_WITHIN, LENIENT, NAMESPACE, Directed
from tests.simulation.power.members import ROLE

NOTICED: float = 70.0
"""Seconds after which lost nodes have been observed not Ready for 20 s."""
ASKED: float = 60.0
"""Seconds in which limits that a person's remediations meet are watched."""


class Crowd(Directed):
    """Some nodes are lost within a few seconds, and another client asks for each of them at once."""

    machines: ClassVar[int] = 5
    lost: ClassVar[int] = 2

    def play(self) -> None:
        self.arrange()
        self.begin()
        names = sorted(self.world.machines)[: self.lost]
        for name in names:
            self.lose(self.world.machines[name])
            self.run(self.chance.choice((0.0, 0.0, 1.0)))
        self.run(NOTICED + self.chance.uniform(0.0, 20.0))
        for name in names:
            self.ask(name)
            self.run(self.chance.choice((0.0, 0.0, 0.5, 5.0)))
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

    def change_policy(self, **spec: object) -> None:
        self.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": spec})
        self.invariants.note_policy()


class Quorum(Crowd):
    """Two of four control-plane nodes are lost: without one more there is no majority of members."""

    family: ClassVar[str] = "Quorum"

    def arrange(self) -> None:
        for name in sorted(self.world.machines)[:4]:
            self.api.patch(NODE, name, {"metadata": {"labels": {ROLE: ""}}})


class Interval(Crowd):
    """The policy wants a minute between starts."""

    family: ClassVar[str] = "Interval"
    policy = {**LENIENT, "minInterval": "60s"}


class TooMany(Crowd):
    """More nodes are lost than the policy allows for any start, or than may be off at a time."""

    family: ClassVar[str] = "TooMany"
    policy = {**LENIENT, "maxUnhealthy": 3, "maxConcurrent": 1}
    lost: ClassVar[int] = 3


class NotAllowed(Crowd):
    """The policy only permits dry runs, or it is deleted."""

    family: ClassVar[str] = "NotAllowed"
    lost: ClassVar[int] = 1

    def arrange(self) -> None:
        if self.chance.random() < 0.5:
            self.tell("dry runs only")
            self.change_policy(mode="DryRun")
            return
        self.tell("no policy")
        self.api.delete(REMEDIATION_POLICY, well_known.POLICY_NAME)
        self.invariants.note_policy()

    def relieve(self) -> None:
        if self.counts["dry runs only"]:
            self.change_policy(mode="Act")
            return
        named = {"metadata": {"name": well_known.POLICY_NAME}, "spec": {"mode": "Act", **self.policy}}
        self.api.create(REMEDIATION_POLICY, named)
        self.invariants.note_policy()
