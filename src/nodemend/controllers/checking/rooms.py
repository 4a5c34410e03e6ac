"""How full each limit of the guard is, for people who watch a cluster fill up."""

from collections.abc import Iterator
from dataclasses import dataclass

from nodemend.controllers.checking.standings import Place, Standings
from nodemend.controllers.checking.weather import Region
from nodemend.decide.facts import PolicyFacts
from nodemend.decide.guard_facts import Census, CheckFacts
from nodemend.decide.limits import Gate, Reading, closes_at


@dataclass(frozen=True, slots=True)
class Room:
    """So many are not healthy in a scope, and so many close the guard there."""

    region: Region
    name: str
    unhealthy: int
    limit: int


def room_of_check(standings: Standings, check: CheckFacts) -> Room | None:
    """None for a check without a limit of its own."""
    if check.gate is None:
        return None
    return _room(Region.CHECK, check.name, standings.census_of_check(check.name), check.gate, check.reading)


def rooms_of_cluster(standings: Standings, policy: PolicyFacts, cluster: str) -> Iterator[Room]:
    """The cluster if it has targets, and those of its failure domains that are large enough for a limit."""
    census, ours = standings.census_of_cluster(cluster), Reading.SPARES_ONE
    if not census.total:
        return
    yield _room(Region.CLUSTER, cluster, census, policy.max_unhealthy, ours)
    if policy.domains is None:
        return
    for domain in standings.domains_of(cluster):
        census = standings.census_of_domain(Place("", domain, cluster))
        if census.total >= policy.domains.min_nodes:
            name = f"{cluster}/{domain}" if cluster else domain
            yield _room(Region.DOMAIN, name, census, policy.domains.max_unhealthy, ours)


def _room(region: Region, name: str, census: Census, gate: Gate, reading: Reading) -> Room:
    return Room(region, name, census.unhealthy, closes_at(gate, census.total, reading))
