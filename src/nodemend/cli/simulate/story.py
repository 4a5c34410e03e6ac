"""What happened in a simulation, in order."""

from dataclasses import dataclass, field
from enum import StrEnum

from nodemend.cli.simulate.spells import Sort, Spells


class What(StrEnum):
    """One word for each sort of step."""

    FAIL = "Fail"
    HEAL = "Heal"
    STORM = "Storm"
    SETTLE = "Settle"
    CALM = "Calm"
    UNHEALTHY = "Unhealthy"
    HOLD = "Hold"
    BEGIN = "Begin"
    BACK = "Back"
    STILL_SICK = "StillSick"
    GIVE_UP = "GiveUp"
    CLOSE = "Close"
    """Withdrawn after it has healed the node."""
    WITHDRAW = "Withdraw"
    """Withdrawn because the node is well without it."""


@dataclass(slots=True)
class Step:
    """Something that happened to some nodes at one moment, and why. Holds have a `reason` and a `sort`."""

    at: float
    what: What
    why: str = ""
    reason: str = ""
    sort: Sort | None = None
    nodes: list[str] = field(default_factory=list)


class Ending(StrEnum):
    """How a remediation ended."""

    UNDER_WAY = "UnderWay"
    HEALED = "Healed"
    GIVEN_UP = "GivenUp"
    WITHDRAWN = "Withdrawn"


@dataclass(slots=True)
class Attempt:
    """One remediation that began."""

    node: str
    check: str
    remedy: str
    number: int
    """Which of the check's remedies, counted from 1."""
    unhealthy_at: float
    waited: float
    """For so long the guard let it wait."""
    begun_at: float
    over_at: float | None = None
    ending: Ending = Ending.UNDER_WAY


@dataclass(slots=True)
class Story:
    """`watched` are the nodes under a check."""

    watched: int = 0
    steps: list[Step] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    spells: Spells = field(default_factory=Spells)
    most_at_once: int = 0

    def tell(
        self,
        at: float,
        what: What,
        *nodes: str,
        why: str = "",
        reason: str = "",
        sort: Sort | None = None,
    ) -> None:
        """What happens to several nodes at one moment for one cause is one step."""
        for step in reversed(self.steps):
            if step.at != at:
                break
            if (step.what, step.why) == (what, why):
                step.nodes.extend(nodes)
                return
        self.steps.append(Step(at, what, why, reason, sort, list(nodes)))
