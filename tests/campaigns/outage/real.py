"""The same with real parts: agents, feeders and boot gates, a real API server with an outage, a real signer.

Each node is in its own network namespace, and its watchdog is a file (tests/e2e/self_fencing).
Certificates are valid for ten minutes in an outage of 45, and proportionally shorter in a shorter run.
Meanwhile agents and a node are restarted. Then the API server is back until that node's gate opens, and fails
once more before its agent has started. No node may be reset; afterwards every node has a new certificate,
and reports again.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography.x509 import load_pem_x509_certificate

from controlplane.rounds import Rounds
from installed.programs import flags_for
from nodemend.cmd.agent import PAIR
from tests.e2e.agent_nodes.agent_node import AgentNode
from tests.e2e.refusals.agent_cluster import TRUST
from tests.e2e.self_fencing.cluster import Cluster, open_cluster
from tests.e2e.self_fencing.host import Host, boottime
from tests.unit.agent.certificates import Authority

NODES: Final = 5
NUMBER: Final = 9
"""The number of the cluster: clusters of fencing-e2e, which may run beside this, have lower ones."""
LIFE_SHARE: Final = 10 / 45
"""Certificate lifetime as a fraction of the outage."""
SHORTEST_LIFE: Final = 200.0
"""Agents check their certificates every 30 seconds, and rely on peers for the first half of a lifetime."""
SETTLED_SHARE: Final = 16 / 45
"""Fraction of the outage, before it: in a full run more than the 15 minutes after which contact is settled.
"""
HUNG_SHARE: Final = 1 / 3
"""Fraction of the outage during which the API server hangs. Then it is stopped."""
RENEWED_WITHIN: Final = 660.0
"""Seconds after the outage: agents that failed for long request certificates in five to ten minutes."""
PATIENCE: Final = 720.0
TOKENS_EVERY: Final = 300.0
POLL_INTERVAL: Final = 1.0
AWAY_AGAIN: Final = 90.0
"""Seconds: twice the time of a feed lease and a watchdog."""


@dataclass
class Outage:
    cluster: Cluster
    seconds: float
    life: float
    began: float = 0.0
    wrong: list[str] = field(default_factory=list)

    @property
    def hosts(self) -> list[Host]:
        return list(self.cluster.hosts.values())

    def play(self) -> str:
        """The result; `wrong` has the violations."""
        cluster = self.cluster
        self._sign()
        cluster.until("all are well", cluster.is_whole)
        _say(f"{NODES} nodes are well, with certificates of {self.life:.0f} s")
        self._watch(self.seconds * SETTLED_SHARE)
        self._go_away()
        over = min(time.time() - self._ends(host) for host in self.hosts if len(host.boots) == 1)
        if over <= 0:
            self.wrong.append("there were certificates that lasted for the whole outage")
        self._be_back_for_a_moment()
        took = self._come_back()
        self._evaluate()
        pings = [_longest_gap(host) for host in self.hosts]
        return (
            f"{NODES} nodes, certificates of {self.life / 60:.1f} min, API server away for"
            f" {self.seconds / 60:.0f} min and {AWAY_AGAIN:.0f} s, certificates over for"
            f" {over / 60:.1f} min at least, 2 agents and 1 node restarted, {len(self._resets())} resets,"
            f" longest time between pings {max(pings):.1f} s, all renewed {took:.0f} s afterwards"
        )

    # Actions.

    def _sign(self) -> None:
        plane = self.cluster.plane
        flags = flags_for(plane, "nodemend-signer")
        words = ["-m", "tests.campaigns.outage.short_signer", str(int(self.life)), *flags]
        plane.run("nodemend-signer", words, program=Path(sys.executable))
        self.cluster.until("the signer has an authority", lambda: plane.api.find(TRUST) is not None)
        bundle = plane.api.get(TRUST)["data"]["ca.crt"]
        for host in self.hosts:
            (host.agent.folder / "trust.crt").write_text(bundle)

    def _go_away(self) -> None:
        """First hung, then stopped; one agent is restarted in each part, and one node between them."""
        plane, (first, second, third, *_) = self.cluster.plane, self.hosts
        for host in self.hosts:
            host.agent.renew_token()
        self.began = boottime()
        steps: list[tuple[float, str, Callable[[], None]]] = [
            (0.0, "the API server hangs", lambda: plane.pause("kube-apiserver")),
            (HUNG_SHARE / 2, f"the agent of {first.name} is killed", lambda: first.kill_agent(3.0)),
            (HUNG_SHARE, "the API server is killed", plane.stop_api_server),
            (0.5, f"{second.name} is restarted", second.restart),
            (0.75, f"the agent of {third.name} is killed", lambda: third.kill_agent(8.0)),
        ]
        for share, words, act in steps:
            self._watch(self.began + share * self.seconds - boottime())
            _say(words)
            act()
        self._watch(self.began + self.seconds - boottime())
        if second.boot is None or second.boot.kubelet:
            self.wrong.append(f"{second.name} was let in while there was no API server")

    def _be_back_for_a_moment(self) -> None:
        """Until the gate of the restarted node has opened."""
        plane, restarted = self.cluster.plane, self.hosts[1]
        plane.start_api_server()
        _say("the API server is back for a moment")
        self._wait(
            "its gate has opened", lambda: restarted.boot is not None and restarted.boot.kubelet, every=0.05
        )
        plane.stop_api_server()
        if (restarted.agent.folder / "agent" / "lease").exists():
            self.wrong.append(f"the agent of {restarted.name} had begun: this was to be before")
        _say(f"{restarted.name} is let in, and the API server is gone again")
        self._watch(AWAY_AGAIN)

    def _come_back(self) -> float:
        """Seconds until every node is healthy, with a certificate issued afterwards."""
        cluster, back = self.cluster, time.time()
        cluster.plane.start_api_server()
        _say("the API server is back")
        self._wait("all are well again", cluster.is_whole)
        self._wait("all have new certificates", lambda: all(self._ends(one) > back for one in self.hosts))
        took = time.time() - back
        if took > RENEWED_WITHIN:
            self.wrong.append(f"it took {took:.0f} s until all had new certificates")
        return took

    def _watch(self, seconds: float) -> None:
        """Watch that no node is reset."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self._must_live()
            time.sleep(POLL_INTERVAL)

    def _wait(self, what: str, holds: Callable[[], bool], every: float = POLL_INTERVAL) -> None:
        ends = time.monotonic() + PATIENCE
        while not holds():
            self._must_live()
            if time.monotonic() > ends:
                raise TimeoutError(f"not within {PATIENCE:g} s: {what}")
            time.sleep(every)

    def _must_live(self) -> None:
        if resets := self._resets():
            reported = "\n".join(self.cluster.reported(name) for name in resets)
            raise TimeoutError(f"{', '.join(resets)} did nothing wrong, and were reset\n{reported}")
        if boottime() - self.cluster.ticked_at > 60.0:
            raise TimeoutError("nobody plays the watchdogs any more")

    # Observations.

    def _resets(self) -> list[str]:
        """Resets by watchdogs, without external restarts."""
        boots = [(host.name, boot) for host in self.hosts for boot in host.boots]
        return [name for name, boot in boots if boot.reset_at is not None and not boot.restarted]

    def _ends(self, host: Host) -> float:
        """The expiry of the agent's certificate; 0 if it has none."""
        pair = host.agent.folder / "agent" / "tls" / PAIR
        if not pair.exists():
            return 0.0
        return load_pem_x509_certificate(pair.read_bytes()).not_valid_after_utc.timestamp()

    def _evaluate(self) -> None:
        for host in self.hosts:
            if len(host.boots) == 1 and "api_out_of_reach" not in host.agent.said:
                self.wrong.append(f"{host.name} never asked its peers")
        restarted = [host.name for host in self.hosts for boot in host.boots if boot.restarted]
        if len(restarted) != 1:
            self.wrong.append(f"one node was to be restarted: {restarted}")


def _longest_gap(host: Host) -> float:
    gaps = [0.0]
    for boot in host.boots:
        if boot.watchdog.file.exists():
            pings = [int(line) / 1e9 for line in boot.watchdog.file.read_text().split()]
            gaps += [after - before for before, after in pairwise(pings)]
    return max(gaps)


def play_real(minutes: float) -> int:
    seconds = minutes * 60
    names = tuple(f"o{number}" for number in range(NODES))
    with (
        tempfile.TemporaryDirectory(prefix="nodemend-outage-") as folder,
        open_cluster(names, Path(folder), NUMBER, _without_certificate) as cluster,
    ):
        tokens = Rounds("tokens", _Tokens(cluster).renew)
        outage = Outage(cluster, seconds, max(SHORTEST_LIFE, seconds * LIFE_SHARE))
        try:
            figure = outage.play()
        except TimeoutError as error:
            figure = "not played to its end"
            outage.wrong.append(f"{error}\n" + "\n".join(cluster.reported(name) for name in cluster.hosts))
        finally:
            tokens.close()
    for one in outage.wrong:
        print(f"WRONG: {one}")
    print(f"outage-real: {figure}, {len(outage.wrong)} wrong")
    return 1 if outage.wrong else 0


def _without_certificate(agent: AgentNode, _peers: Authority) -> None:
    """The signer issues its certificate, and provides the bundle."""
    agent.lose_certificate()
    (agent.folder / "trust.crt").unlink()


@dataclass
class _Tokens:
    """Renewed as kubelets do: while the API server answers, and long before they expire."""

    cluster: Cluster
    renewed_at: float = field(default_factory=time.monotonic)

    def renew(self) -> None:
        if time.monotonic() - self.renewed_at < TOKENS_EVERY:
            return
        for host in self.cluster.hosts.values():
            host.agent.renew_token()
        self.renewed_at = time.monotonic()


_BEGAN: Final = time.monotonic()


def _say(line: str) -> None:
    print(f"{time.monotonic() - _BEGAN:6.1f} s  {line}", flush=True)
