"""Directed seeds: each meets one danger of a world, with good links and without the faults of mixed seeds.

This module has what the directed seeds of the walking path, of the checks and of power cycles share.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from nodemend.api import well_known
from nodemend.api.resources import REMEDIATION_POLICY
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Replica, find_leader
from simulation.scheduler import Scheduler
from tests.simulation.convergence import InvariantBrokenError, nothing_failed_unseen

DIRECTED_EVERY: Final = 4
"""Every n-th seed is directed, unless the world is played beside another campaign."""


class DirectedWorld(Protocol):
    @property
    def scheduler(self) -> Scheduler: ...
    @property
    def replicas(self) -> Sequence[Replica]: ...
    def run(self, until: float) -> None: ...
    def close(self) -> None: ...


class PolicyInvariants(Protocol):
    def note_policy(self) -> None:
        """Record the policy after a change."""
        ...


W = TypeVar("W", bound=DirectedWorld)
I_ = TypeVar("I_", bound=PolicyInvariants)
D = TypeVar("D")


class DirectedSeed(ABC, Generic[W, I_]):
    """One seed of one family. The base class of each world makes `world`, `invariants` and `api`."""

    family: ClassVar[str]
    """A constant: streams of chance are named by it."""
    policy: ClassVar[Mapping[str, Any]]
    """Limits of the RemediationPolicy."""
    world: W
    invariants: I_
    api: Direct
    """Of an administrator."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(f"directed {seed}")
        self.counts: Counter[str] = Counter({f"directed {self.family}": 1})

    @abstractmethod
    def play(self) -> None:
        """Play the danger. Raises InvariantBrokenError."""

    def play_to_end(self) -> str:
        """Return the violation; empty if every invariant holds."""
        try:
            self.play()
            nothing_failed_unseen(self.world.replicas)
        except InvariantBrokenError as failure:
            return str(failure)
        finally:
            self.close()
        return ""

    def close(self) -> None:
        self.world.close()

    @property
    def now(self) -> float:
        return self.world.scheduler.now

    def run(self, seconds: float) -> None:
        self.world.run(self.now + seconds)

    def tell(self, fault: str) -> None:
        self.counts[f"fault: {fault}"] += 1
        self.world.scheduler.note(f"fault: {fault}")

    def leader(self, role: str) -> Replica:
        return find_leader(self.api, role, self.world.replicas)

    def set_policy(self, spec: Mapping[str, Any] | None) -> None:
        """Change the RemediationPolicy; None deletes it."""
        name = well_known.POLICY_NAME
        if spec is None:
            self.api.delete(REMEDIATION_POLICY, name)
        elif self.api.patch(REMEDIATION_POLICY, name, {"spec": spec}) is None:
            body = {"metadata": {"name": name}, "spec": {"mode": "Act", **self.policy, **spec}}
            self.api.create(REMEDIATION_POLICY, body)
        self.invariants.note_policy()

    def pause(self) -> None:
        self.set_policy({"pause": {"reason": "a look at the switch", "by": "admin"}})

    def forbid(self) -> None:
        """Change the policy such that no step may begin: it is paused, in dry run, or deleted."""
        how = self.chance.choice(("paused", "dry run", "no policy"))
        self.tell(how)
        match how:
            case "paused":
                self.pause()
            case "dry run":
                self.set_policy({"mode": "DryRun"})
            case _:
                self.set_policy(None)

    def allow(self) -> None:
        self.set_policy({"mode": "Act", "pause": None})


def family_of(seed: int, families: Sequence[type[D]]) -> type[D] | None:
    """Return the family that this seed is directed by; None if it has mixed faults."""
    number, mixed = divmod(seed, DIRECTED_EVERY)
    return None if mixed else families[number % len(families)]
