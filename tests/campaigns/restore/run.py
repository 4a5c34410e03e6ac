"""One seed: a node fails and is healed, and etcd is restored. No running boot may be released then."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server.storage import Snapshot
from simulation.cluster.replicas import Replica
from simulation.cluster.world import Account
from tests.campaigns.restore.stories import BEGINS, OVER_AFTER, SICK, Story, begin, draw

WAYS: Final = {"snapshot": 0, "bumped": 1_000_000, "copied": 0}
"""Ways to restore etcd, and the increase of its revisions. A copied folder is like a snapshot."""
PLAYED_ON: Final = 400.0
MOST_FORGOTTEN: Final = 20
"""Limit for one seed. A restore voids evidence once, and so does a failing power cycle."""
NODES: Final = "/api/v1/nodes/"


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a seed."""

    seed: int
    broken: str
    restores: int
    releases: int
    counts: Counter[str] = field(default_factory=Counter)
    lines: tuple[str, ...] = ()


@dataclass(slots=True)
class Backup:
    phase: tuple[object, ...]
    taken: Snapshot


class Witness:
    """Observes every write of the remediators: takes a backup after each, and judges each release."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self.backups: list[Backup] = []
        self.releases = 0
        self.broken: list[str] = []
        self._forgotten = 0
        story.world.remediator.witnesses.append(self._saw)

    def back_up(self) -> None:
        self.backups.append(Backup(self._story.phase, self._story.world.server.snapshot()))

    def _saw(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if _releases(request, answer):
            self.releases += 1
            now = self._story.world.scheduler.now
            if request.path.removeprefix(NODES) == SICK and self._story.runs:
                boot = self._story.sick.boot_id
                self.broken.append(f"{SICK} is released at {now:.1f} s while {boot} runs")
        self._count_forgotten(request)
        if "/coordination.k8s.io/" not in request.path or "nodemend-agents" in request.path:
            self.back_up()

    def _count_forgotten(self, request: Request) -> None:
        """Evidence that is gathered and forgotten again and again would never lead to a release."""
        if request.method is Method.PATCH and request.path.endswith("/status"):
            status = msgspec.json.decode(request.body).get("status") or {}
            self._forgotten += status.get("evidence", ...) is None
            if self._forgotten == MOST_FORGOTTEN:
                self.broken.append(f"evidence is forgotten for the {MOST_FORGOTTEN}th time")


def _releases(request: Request, answer: ApiResponse) -> bool:
    if not request.path.startswith(NODES):
        return False
    if request.method is Method.DELETE:
        return True
    asked = msgspec.json.decode(request.body).get("spec") or {}
    taints: list[dict[str, Any]] = asked.get("taints") or []
    return answer.status < 300 and any(taint["key"] == well_known.OUT_OF_SERVICE for taint in taints)


def play(seed: int, *, keep_trace: bool = False) -> Run:
    chance = Random(f"restore {seed}")
    kind = draw(chance)
    story = begin(kind, f"restore {seed}", keep_trace=keep_trace)
    scheduler = story.world.scheduler
    witness, counts = Witness(story), Counter[str]({kind: 1})
    restores = 0
    try:
        _fall_sick_and_heal(story, witness, chance, counts)
        for _ in range(chance.choice((1, 1, 2))):
            _restore(story, witness, chance, counts)
            restores += 1
            story.world.run(scheduler.now + chance.uniform(0.5, 1.0) * PLAYED_ON)
    finally:
        story.close()
    broken = "; ".join(witness.broken)
    return Run(seed, broken, restores, witness.releases, counts, tuple(scheduler.trace.lines))


def _fall_sick_and_heal(story: Story, witness: Witness, chance: Random, counts: Counter[str]) -> None:
    """Run to the end of its remediation, or to some moment during it."""
    world = story.world
    world.run(BEGINS)
    witness.back_up()
    story.fall_sick()
    if story.fenced is not None and chance.random() < 0.3:
        # It receives its marker, and its new boot reports the end of the old one.
        world.run(BEGINS + chance.uniform(0.1, 2.0))
        story.join()
    ends = BEGINS + OVER_AFTER * (1.0 if chance.random() < 0.7 else chance.random())
    # Its Node is Unknown by then, and a boot that ended itself may or may not be proven over by time yet.
    joins = BEGINS + chance.choice((chance.uniform(45.0, 70.0), chance.uniform(100.0, 260.0)))
    while world.scheduler.now < ends:
        world.run(min(ends, world.scheduler.now + 15.0))
        if world.scheduler.now >= joins:
            # It stays cut off until it is off, or has ended itself; its next boot is connected again.
            story.join()
        witness.back_up()
        if chance.random() < 0.1:
            # One at a time, so that the restarted one has to learn from the other.
            _crash([chance.choice(_remediators(story))], counts)


def _restore(story: Story, witness: Witness, chance: Random, counts: Counter[str]) -> None:
    world, sick = story.world, story.sick
    if story.fenced is not None and chance.random() < 0.5:
        story.give_peers_up()
        world.run(world.scheduler.now + 40.0)
        counts["gave its peers up"] += 1
    if story.fenced is not None and chance.random() < 0.3:
        story.hang_kubelet()
        counts["kubelet hung before"] += 1
    elif chance.random() < 0.7:
        # Its workloads keep running, and it cannot report.
        story.cut_off()
        counts["cut off before"] += 1
        world.run(world.scheduler.now + chance.choice((0.0, 2.0, 30.0, 60.0)))
    phases = sorted({backup.phase for backup in witness.backups}, key=str)
    # Every other time, a phase directly before a release, if there is one.
    close = [phase for phase in phases if phase[0] or "power-off" in phase or phase[5]]
    phase = chance.choice(close if close and chance.random() < 0.5 else phases)
    backup = chance.choice([one for one in witness.backups if one.phase == phase])
    _away(story, chance.choice((0.0, 0.0, 0.0, 3.0, 12.0, 40.0)), counts)
    way = chance.choice(tuple(WAYS))
    counts[way] += 1
    world.scheduler.note(f"etcd is restored ({way}) to {backup.phase}; {sick.boot_id} runs: {story.runs}")
    world.server.restore(backup.taken, bump=WAYS[way])
    remediators = _remediators(story)
    _crash(chance.choice(([], [], remediators[:1], remediators[1:], remediators)), counts)
    if story.kind in ("power", "deletion") and chance.random() < 0.5:
        # The operator of hosts comes back late: the hosts' status in etcd is from the backup.
        _forbid(story.accounts[-1:], chance.uniform(30.0, 200.0), story)
        counts["operator away"] += 1


def _remediators(story: Story) -> list[Replica]:
    return [one for one in story.world.replicas if one.name.startswith("remediator")]


def _away(story: Story, seconds: float, counts: Counter[str]) -> None:
    if seconds:
        counts["API server away"] += 1
        _forbid(story.accounts, seconds, story)
        story.world.run(story.world.scheduler.now + seconds)


def _forbid(accounts: list[Account], seconds: float, story: Story) -> None:
    everything = {(method, "") for method in Method}
    for account in accounts:
        account.forbidden |= everything
        story.world.scheduler.after(seconds, account.forbidden.clear)


def _crash(replicas: list[Replica], counts: Counter[str]) -> None:
    for replica in replicas:
        replica.process.crash()
        counts["remediators crashed"] += 1
