"""`python -m tests.chaos.watch_faults --rounds 1000`: watches on a real API server behind faulty proxies.

After every round the cache must equal a fresh list, and every object that went must have been reported.
Before that, reflectors with the patience of production meet watches that always fail, and their requests
are counted. The last line is the figure; exits 1 on a single miss.
"""

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from nodemend.kube.asyncio_shell import run
from tests.chaos.watch_faults.faults import Fault
from tests.chaos.watch_faults.request_budget import MOST_REQUESTS, WAYS, most_requests
from tests.chaos.watch_faults.watcher import Watcher, watching

WATCHERS = 8
PRIVATE_FAULTS = tuple(fault for fault in Fault if fault not in {Fault.NONE, Fault.MUTE})
RESTART, COMPACTION = "API server restart", "etcd compaction"
# One batch in so many breaks the server itself, for all watchers at once.
SERVER_EVERY_BATCHES = 4


@dataclass
class Tally:
    rounds: Counter[str] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def note(self, what: str, wrong: Sequence[str]) -> None:
        self.rounds[what] += 1
        self.misses += [f"{what}: {why}" for why in wrong]


async def try_rounds(plane: ControlPlane, rounds: int, seed: int) -> tuple[Tally, int]:
    """So many rounds, several at a time; what became of them, and how many objects were deleted."""
    tally = Tally()
    chance = random.Random(seed)
    async with AsyncExitStack() as owned:
        watchers = [
            await owned.enter_async_context(watching(plane, number, seed)) for number in range(WATCHERS)
        ]
        for watcher in watchers:
            tally.misses += await watcher.settle({})
        batch = 0
        while (left := rounds - tally.rounds.total()) > 0:
            batch += 1
            if batch % SERVER_EVERY_BATCHES == 0:
                what = COMPACTION if batch // SERVER_EVERY_BATCHES % 2 else RESTART
                await _break_server(plane, what, watchers[:left], tally)
            else:
                await _break_paths(batch, watchers[:left], chance, tally)
        return tally, sum(watcher.objects.deleted for watcher in watchers)


async def _break_paths(batch: int, watchers: list[Watcher], chance: random.Random, tally: Tally) -> None:
    async def suffer(number: int, watcher: Watcher) -> None:
        # Each watcher meets each fault: eight watchers and an even step never meet all of twelve.
        fault = PRIVATE_FAULTS[(batch + number * 5) % len(PRIVATE_FAULTS)]
        tally.note(fault, await watcher.suffer(fault, chance))

    await asyncio.gather(*(suffer(number, watcher) for number, watcher in enumerate(watchers)))


async def _break_server(plane: ControlPlane, what: str, watchers: list[Watcher], tally: Tally) -> None:
    """Objects change before the server goes, unseen by watchers that are cut off already, and after."""
    known = [dict(watcher.ledger.present) for watcher in watchers]
    for watcher in watchers:
        watcher.proxy.strike(Fault.STALL)
    await asyncio.gather(*(asyncio.to_thread(watcher.objects.change, 8) for watcher in watchers))
    if what == COMPACTION:
        await asyncio.to_thread(plane.compact)
    await asyncio.to_thread(plane.restart_api_server)
    await asyncio.gather(*(asyncio.to_thread(watcher.objects.change, 3) for watcher in watchers))
    for watcher in watchers:
        watcher.proxy.strike(Fault.NONE)
    settled = await asyncio.gather(
        *(watcher.settle(before) for watcher, before in zip(watchers, known, strict=True))
    )
    for wrong in settled:
        tally.note(what, wrong)


async def count_requests(plane: ControlPlane, seconds: float) -> dict[str, int]:
    """For each way to fail, and each way to list, the most requests in any 30 s."""
    cases = [(fault, streaming) for fault in WAYS for streaming in (True, False)]
    counts = await asyncio.gather(
        *(most_requests(plane, fault, seconds, streaming=streaming) for fault, streaming in cases)
    )
    return {
        f"{fault}, listed {'as a stream' if streaming else 'by pages'}": count
        for (fault, streaming), count in zip(cases, counts, strict=True)
    }


async def campaign(rounds: int, seconds: float, seed: int) -> int:
    with ControlPlane(API_SERVER_ALONE) as plane:
        counts = await count_requests(plane, seconds)
        for way, count in counts.items():
            print(f"always fails ({way}): at most {count} requests in 30 s")
        tally, deleted = await try_rounds(plane, rounds, seed)
    for what, number in tally.rounds.most_common():
        print(f"{number:5d} rounds: {what}")
    for miss in tally.misses[:50]:
        print(f"MISS {miss}")
    most = max(counts.values())
    print(
        f"watch-faults: {tally.rounds.total()} rounds of {len(tally.rounds)} faults, {deleted} deletes, "
        f"{len(tally.misses)} misses; at most {most} requests in 30 s against a watch that always fails"
    )
    return 1 if tally.misses or most > MOST_REQUESTS or tally.rounds.total() < rounds else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=32.0, help="how long watches always fail")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return run(campaign(arguments.rounds, arguments.seconds, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
