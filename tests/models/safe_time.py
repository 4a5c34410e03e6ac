"""The two inequalities over the reals: T_safe, and the distance between "older than K" and "covered".

A clock's rate lies within 1-rho and 1+rho of true time, the watchdog's within 1-rho_w and 1+rho_w. Every time
below is true time; a party measures a duration times its rate, and each has the worst rate for safety.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import z3

MILLISECOND = z3.Q(1, 1000)
SOLVER_MILLISECONDS = 60_000


@dataclass(frozen=True)
class Claim:
    """`possible`: a violation must exist in this world (the bound is too low), or must not."""

    name: str
    shows: str
    possible: bool
    world: Callable[[], list[z3.BoolRef]]

    def holds(self) -> bool:
        solver = z3.Solver()
        solver.set("timeout", SOLVER_MILLISECONDS)
        solver.add(*self.world())
        return bool(solver.check() == (z3.sat if self.possible else z3.unsat))


def released_too_early(watchdogs: int, *, closing: bool, less: z3.ArithRef | int = 0) -> list[z3.BoolRef]:
    """A node is released before its end, though the manager waits for `watchdogs` times W, less `less`."""
    lease, reset, latency, drain = z3.Reals("G W L D")
    rho, rho_w = z3.Reals("rho rho_w")
    marker, sent, check, before, ping, close, dead = z3.Reals("marker sent check before ping close dead")
    acknowledged, released, waited = z3.Reals("acknowledged released waited")
    # The longest true time of a lease and of a watchdog: their clocks are slow.
    long_lease, long_reset = z3.Reals("long_lease long_reset")
    bound = long_lease + watchdogs * long_reset + latency + drain
    return [
        lease > 0, reset > 0, latency >= 0, drain >= 0,
        rho >= 0, rho < z3.Q(1, 2), rho_w >= 0, rho_w < z3.Q(1, 2),
        long_lease * (1 - rho) == lease, long_reset * (1 - rho_w) == reset,
        sent <= marker,                                   # the last clean observation began before the marker
        sent <= check, check - sent <= long_lease,        # the last check that passed: the lease still lasted
        before <= check, check <= ping, ping - before <= long_reset,  # a pause, but no reset
        ping <= close, close - ping <= long_reset,        # the feeder dies, and the kernel pings for it
        close == ping if not closing else z3.BoolVal(val=True),
        close <= dead, dead - close <= long_reset,
        marker <= acknowledged, acknowledged <= released,
        waited <= (released - acknowledged) * (1 + rho),  # the manager's clock is fast
        waited >= (1 + rho) * bound - less,
        released < dead + latency + drain,
    ]  # fmt: skip


def vouched_while_covered(*, margin: bool, more: z3.ArithRef | int = 0) -> list[z3.BoolRef]:
    """A peer denies contact while the manager takes it as covered: for K, less the margin, plus `more`."""
    age, covered_for, rho = z3.Reals("K covered_for rho")
    poll, committed, acknowledged, says, observations = z3.Reals("poll committed acknowledged says looks")
    return [
        age > 0, rho > 0, rho < z3.Q(1, 2),
        covered_for * (1 + rho) == age * (1 - rho) if margin else covered_for == age,
        poll <= committed, committed <= acknowledged, acknowledged <= says,
        (says - acknowledged) * (1 + rho) >= age,         # the peer's clock is fast
        (observations - poll) * (1 - rho) < covered_for + more,  # the manager's is slow
        says <= observations,
    ]  # fmt: skip


CLAIMS = (
    Claim(
        "t-safe",
        "3W: no release before the node is harmless",
        False,
        lambda: released_too_early(3, closing=True),
    ),
    Claim(
        "t-safe-less-1-ms",
        "3W less 1 ms: too early",
        True,
        lambda: released_too_early(3, closing=True, less=MILLISECOND),
    ),
    Claim(
        "t-safe-2w-closing",
        "2W with a closing ping: too early",
        True,
        lambda: released_too_early(2, closing=True),
    ),
    Claim(
        "t-safe-2w",
        "2W, if the kernel did not ping at closing",
        False,
        lambda: released_too_early(2, closing=False),
    ),
    Claim("t-safe-1w", "1W: too early even so", True, lambda: released_too_early(1, closing=False)),
    Claim(
        "covered",
        "covered for K(1-rho)/(1+rho): no peer vouches",
        False,
        lambda: vouched_while_covered(margin=True),
    ),
    Claim(
        "covered-plus-1-ms",
        "1 ms longer: one may",
        True,
        lambda: vouched_while_covered(margin=True, more=MILLISECOND),
    ),
    Claim(
        "covered-for-k", "covered for K itself: one may", True, lambda: vouched_while_covered(margin=False)
    ),
)


def safe_time(lease: int, reset: int, latency: int, drain: int, rho: Fraction, rho_w: Fraction) -> Fraction:
    """T_safe in seconds."""
    return (1 + rho) * (lease / (1 - rho) + 3 * reset / (1 - rho_w) + latency + drain)


def covered_for(age: int, rho: Fraction) -> Fraction:
    """Seconds for which evidence covers a peer on the manager's clock, if the peer waits for `age` on its
    own.
    """
    return age * (1 - rho) / (1 + rho)
