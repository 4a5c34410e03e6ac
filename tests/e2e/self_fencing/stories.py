"""Stories of five nodes: which nodes end, which survive, and when workloads are released."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from nodemend.protocol.peers import PeerReply
from nodemend.protocol.timing import RenewalPace
from tests.e2e.self_fencing.agent_and_feeder import W
from tests.e2e.self_fencing.cluster import Cluster
from tests.e2e.self_fencing.faults import FAULTS, Heals, Plan, hang_kubelet, heal
from tests.e2e.self_fencing.history import End, History, WrongError
from tests.e2e.self_fencing.host import Host, boottime
from tests.e2e.self_fencing.peer_queries import Caller

NODES: Final = 5
WATCHED: Final = 75.0
"""Seconds in which nothing may happen: more than twice a feed lease."""
G: Final = RenewalPace().feed_lease
AT_MOST: Final = G + W + 1.0
"""From the cut to the reset: the last clean API check precedes the cut; the last ping is at most G later."""
BYZANTINE: Final = 4
"""The number of the Byzantine node, in stories that have one."""
ELSEWHERE: Final = 3
"""The number of the node where released workloads start."""


@dataclass
class Stage:
    """One cluster, and the counts of its stories. Its nodes by number."""

    cluster: Cluster
    margins: list[float] = field(default_factory=list)
    outcomes: Counter[End] = field(default_factory=Counter)
    refused: int = 0

    def name(self, number: int) -> str:
        return list(self.cluster.hosts)[number]

    def names(self, *numbers: int) -> list[str]:
        return [self.name(number) for number in numbers]

    def host(self, number: int) -> Host:
        return self.cluster.hosts[self.name(number)]

    def lie(self, lie: PeerReply | None) -> None:
        (self.cluster.folder / "lie").write_text(lie or "")

    def none_ends(self, seconds: float = WATCHED, but: Sequence[int] = ()) -> None:
        since, others = boottime(), {*self.cluster.hosts} - {*self.names(*but)}
        time.sleep(seconds)
        self.cluster.check()
        if more := {name for name, at in self.cluster.resets() if at > since and name in others}:
            raise WrongError(f"{sorted(more)} ended, and should have lived on")

    def ends(self, number: int, since: float) -> float:
        """Seconds until its watchdog reset it."""
        name = self.name(number)

        def resets() -> list[float]:
            return [at for who, at in self.cluster.resets() if who == name and at > since]

        self.cluster.until("its watchdog ends it", lambda: bool(resets()), within=AT_MOST + 4 * W)
        took = resets()[0] - since
        if took > AT_MOST:
            raise WrongError(f"it was reset {took:.1f} s after it was cut off; at most {AT_MOST:.1f}")
        return took

    def is_released(self, number: int, fault: str) -> History:
        """Create a remediation at the fault. The node ends within the bound, and is released after that."""
        struck = next(one for one in FAULTS if one.name == fault)
        plan = Plan(struck, asked_after=0.0, heals=Heals.AT_RELEASE, heals_after=0.0, off_for=5.0)
        history = History(self.cluster, self.name(number), self.name(ELSEWHERE), plan)
        history.play()
        if not history.margins:
            raise WrongError("it was never released")
        if history.resets[0] > AT_MOST:
            raise WrongError(f"it was reset after {history.resets[0]:.1f} s; at most {AT_MOST:.1f}")
        self.margins += history.margins
        self.outcomes.update([history.end] if history.end else [])
        return history

    def mend_all(self) -> None:
        for name in self.cluster.hosts:
            heal(self.cluster, name)


def api_down_for_all(stage: Stage) -> str:
    """More than half of each node's peers cannot reach it either: no node ends."""
    names = list(stage.cluster.hosts)
    for name in names:
        stage.cluster.networks.cut_api(name)
    stage.none_ends()
    reported = [name for name in names if "api_out_of_reach" in stage.cluster.hosts[name].agent.said]
    if len(reported) < len(names):
        raise WrongError(f"only {reported} lived on because others had lost it, too")
    return f"{len(reported)} lived on for {WATCHED:.0f} s without it"


def api_down_without_certificates(stage: Stage) -> str:
    """No peer would answer, and every node has published that before: no node ends."""
    hosts = stage.cluster.hosts
    for host in hosts.values():
        host.agent.lose_certificate()
    stage.cluster.until("they give their peers up", lambda: all(map(_has_no_peers, hosts.values())))
    for name in hosts:
        stage.cluster.networks.cut_api(name)
    stage.none_ends()
    return f"{len(hosts)} gave their peers up, and lived on for {WATCHED:.0f} s without it"


def _has_no_peers(host: Host) -> bool:
    return host.agent.report().get("peers") == [[]]


def api_out_of_reach_for_one(stage: Stage) -> str:
    """Its peers check its Lease and find no marker: it survives. Then they find one, and it ends."""
    stage.cluster.networks.cut_api(stage.name(1))
    stage.none_ends()
    marked = boottime()
    stage.cluster.remediate(stage.name(1))
    took = stage.ends(1, marked)
    if "peers have seen a marker" not in stage.host(1).agent.said:
        raise WrongError("it ended, and not because its peers told it to")
    stage.cluster.networks.mend(stage.name(1))
    stage.cluster.until("it is back", lambda: stage.cluster.view.phase(stage.name(1)) == "Succeeded")
    stage.cluster.withdraw(stage.name(1))
    return f"lived {WATCHED:.0f} s on its peers' word, and ended {took:.1f} s after it was asked to"


def cut_off_alone(stage: Stage) -> str:
    """No peer answers it: its watchdog ends it within the bound, and its workload moves after that."""
    history = stage.is_released(2, "cut off")
    [took], [later] = history.resets, history.margins
    return (
        f"reset {took:.1f} s after it was cut off (at most {AT_MOST:.1f}), and released {later:.1f} s later"
    )


def agents_stopped(stage: Stage) -> str:
    """All agents stop at once, as in an uninstall: no node ends, and nothing is released by time meanwhile.

    A node that is remediated meanwhile ends as soon as its agent is back; the others count again.
    """
    hosts, asked = stage.cluster.hosts, stage.name(1)
    for host in hosts.values():
        host.stop_agent()
    classes = {host.agent.report()["watchdog"]["class"] for host in hosts.values()}
    if classes != {"unsupported"}:
        raise WrongError(f"stopped, they still say {classes}")
    # A healthy node is never ended by a request.
    hang_kubelet(stage.cluster, asked)
    stage.cluster.remediate(asked)
    stage.none_ends(G + 3 * W + WATCHED)
    if stage.cluster.view.status(asked).get("evidence"):
        raise WrongError(f"there is evidence against {asked}, which runs")
    back = boottime()
    stage.mend_all()
    took = stage.ends(1, back)
    stage.cluster.until("it is back", lambda: stage.cluster.view.phase(asked) == "Succeeded")
    stage.cluster.withdraw(asked)
    return f"{len(hosts)} lived on; the one that was asked for ended {took:.1f} s after its agent was back"


def split(without: int) -> Callable[[Stage], str]:
    """This many nodes lose the API server and the rest of the cluster. They end, and the others survive.

    At most half of each node's four peers report that they have lost it, too.
    """

    def story(stage: Stage) -> str:
        names, networks = list(stage.cluster.hosts), stage.cluster.networks
        for name in names[:without]:
            networks.cut_api(name)
        networks.part(names[:without], names[without:])
        cut = boottime()
        took = max(stage.ends(number, cut) for number in range(without))
        stage.none_ends(10.0, but=range(without))
        return (
            f"{without} ended, at most {took:.1f} s after the cut (at most {AT_MOST:.1f}); the others live on"
        )

    return story


def one_byzantine_peer(stage: Stage) -> str:
    """Its answer "no marker" keeps no node alive, and its answer "a marker" ends none."""
    networks, isolated = stage.cluster.networks, stage.name(0)
    stage.lie(PeerReply.FENCE_NOW)
    networks.cut_api(isolated)
    stage.none_ends()
    networks.mend(isolated)
    margins = []
    for lie in (PeerReply.HEALTHY, PeerReply.API_OUT_OF_REACH):
        stage.cluster.until("all are well", stage.cluster.is_whole)
        stage.lie(lie)
        networks.silence(isolated, stage.names(1, 2, 3))
        margins += stage.is_released(0, "without the API").margins
    stage.lie(None)
    return (
        f"ended nobody by its word, kept nobody alive; released {min(margins):.1f} s after the end at least"
    )


def false_certificates(stage: Stage) -> str:
    """Its peers all answer that there is no marker, and none presents a valid certificate: it ends."""
    stage.lie(PeerReply.HEALTHY)
    cut = boottime()
    stage.cluster.networks.cut_api(stage.name(0))
    took = stage.ends(0, cut)
    lines = [line for line in stage.host(0).agent.said.splitlines() if "peers were asked" in line]
    if not lines or '"healthy"' in "".join(lines):
        raise WrongError(f"one of them was believed: {lines}")
    stage.refused += NODES - 1
    return f"{NODES - 1} peers whose certificates are not to be believed: it ended after {took:.1f} s"


def in_anothers_name(stage: Stage) -> str:
    """Peers inform a marked node of its marker; a query under another name gets no answer about it."""
    marked, door = stage.name(1), stage.name(3)
    issue = stage.cluster.authority.issue
    own, other = (
        Caller(name, issue(f"{name}.agent.nodemend.io", file=f"asks-{name}")) for name in stage.names(1, 2)
    )
    stage.cluster.networks.cut_off(marked)
    stage.cluster.remediate(marked)
    stage.cluster.until("it is marked", lambda: stage.cluster.view.marked(marked))
    heard = own.ask(stage.cluster, door, marked), other.ask(stage.cluster, door, marked)
    if heard[0] != PeerReply.FENCE_NOW or heard[1] == PeerReply.FENCE_NOW:
        raise WrongError(f"in its own name {heard[0]}, in another's {heard[1]}")
    stage.refused += 1
    stage.cluster.withdraw(marked)
    return f"in its own name {heard[0]!r}, in another's {heard[1]!r}"


Stories = dict[str, Callable[[Stage], str]]
HONEST: Final[Stories] = {
    "api-down-for-all": api_down_for_all,
    "api-out-of-reach-for-one": api_out_of_reach_for_one,
    "agents-stopped": agents_stopped,
    "cut-off-alone": cut_off_alone,
    "split-2-of-5-without": split(2),
    "split-3-of-5-without": split(3),
    "in-anothers-name": in_anothers_name,
    # Must be the last: its nodes get no new certificates.
    "api-down-without-certificates": api_down_without_certificates,
}
LYING: Final[Stories] = {"one-liar": one_byzantine_peer}
FALSE: Final[Stories] = {"false-certificates": false_certificates}
