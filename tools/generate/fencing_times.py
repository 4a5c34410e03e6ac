"""The page of self-fencing times: the values that result from cluster size and watchdog."""

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
    yield "# Self-fencing times"
    yield ""
    yield "Generated from the code that uses these times. See [self-fencing](../explanation/self_fencing.md)."
    yield ""
    yield "- G: the seconds for which one clean API check lets the feeder ping the watchdog."
    yield "  `NODEMEND_LEASE_LENGTH` on the host must not be shorter."
    yield "- K: the seconds since its last acknowledged renewal after which a peer may report that it cannot"
    yield "  reach the API server."
    yield "- W: the watchdog's *effective* time from the last ping to the reset."
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
    yield "A node that can reach neither the API server nor a peer resets itself within G + W, or within"
    yield "G + 3 W if its feeder is paused or dies meanwhile, with or without a marker on its Lease. The"
    yield "remediator releases its workloads T_safe after the marker, or as soon as the node publishes a new"
    yield "boot."
    yield ""
    yield "A ride-through of R seconds (`selfFencing.agent.rideThroughSeconds`, 0 unless set) makes G, and"
    yield "with it T_safe, R seconds longer. If a site loses its uplink and the uplink is back within R"
    yield f"seconds, the site's nodes do not reset. For W = {WATCHDOGS[0]} s and up to 5,000 nodes:"
    yield ""
    yield "| R | G | T_safe |"
    yield "|---:|---:|---:|"
    for ride in RIDES:
        length = replace(pace_for(NODES[0]), ride_through=ride).feed_lease
        wait = ceil(safe_time(FencingTimes(feed_lease=length, watchdog=WATCHDOGS[0])))
        yield f"| {ride:g} s | {length:g} s | {wait} s |"
