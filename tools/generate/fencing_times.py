"""The page of the times of self-fencing: what follows from the size of a cluster and from a watchdog."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Final

from nodemend.protocol.timing import pace_for
from nodemend.safety.time_proof import FencingTimes, safe_time

NODES: Final = (3, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000)
WATCHDOGS: Final = (10, 30, 60)
"""Seconds."""
RIDES: Final = (0.0, 60.0, 120.0, 300.0)


def fencing_times_page() -> Iterator[str]:
    yield "# The times of self-fencing"
    yield ""
    yield "Made from the code that decides by them. [What they mean](../explanation/self_fencing.md)."
    yield ""
    yield "- G: how long a node lives on one clean look; what `NODEMEND_LEASE_LENGTH` on its host must allow."
    yield "- K: after how long without contact a peer may say so."
    yield "- W: the watchdog's *effective* time to reset."
    yield ""
    resets = " | ".join(f"T_safe, W = {seconds} s" for seconds in WATCHDOGS)
    yield f"| nodes, up to | renews every | K | G | {resets} |"
    yield f"|---:|---:|---:|---:|{'---:|' * len(WATCHDOGS)}"
    for nodes in NODES:
        pace = pace_for(nodes)
        times = (FencingTimes(feed_lease=pace.feed_lease, watchdog=seconds) for seconds in WATCHDOGS)
        waits = " | ".join(f"{ceil(safe_time(one))} s" for one in times)
        yield (f"| {nodes:,} | {pace.every:g} s | {pace.contact_age:g} s | {pace.feed_lease:g} s | {waits} |")
    yield ""
    yield "A node that nobody reaches resets itself at most G + W after it was cut off, marked or not. It"
    yield "is released T_safe after its marker, or as soon as a new boot is published."
    yield ""
    yield "A ride-through of R seconds (`selfFencing.agent.rideThroughSeconds`, 0 unless set) makes G, and"
    yield "with it T_safe, R seconds longer. A site whose nodes lose everybody else is not ended by an uplink"
    yield f"that is back within R seconds. For W = {WATCHDOGS[0]} s and up to 5,000 nodes:"
    yield ""
    yield "| R | G | T_safe |"
    yield "|---:|---:|---:|"
    for ride in RIDES:
        length = replace(pace_for(NODES[0]), ride_through=ride).feed_lease
        wait = ceil(safe_time(FencingTimes(feed_lease=length, watchdog=WATCHDOGS[0])))
        yield f"| {ride:g} s | {length:g} s | {wait} s |"
