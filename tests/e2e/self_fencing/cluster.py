"""A cluster of nodes that fence themselves: real agents, feeders, gates and a real manager."""

import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from controlplane.process import Process
from controlplane.rounds import Rounds
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from host_program.pack import pack
from installed.eager_policy import eager_policy
from installed.manifests import install
from installed.programs import start
from nodemend.api import well_known
from nodemend.protocol.peers import MOST_PEERS
from nodemend.safety.time_proof import enough
from tests.e2e.agent_nodes.agent_node import AgentNode
from tests.e2e.agent_nodes.counting_proxy import CountingProxy
from tests.e2e.power.audit import Audit
from tests.e2e.self_fencing.host import Host, boottime
from tests.e2e.self_fencing.kubelets import Kubelets
from tests.e2e.self_fencing.networks import API, PEER_PORT, Networks
from tests.e2e.self_fencing.view import SELF_REMEDIATIONS, View
from tests.unit.agent.certificates import Authority

POLL_INTERVAL: Final = 0.3
STALLED_AFTER: Final = {"watchdogs": 60.0, "kubelets": 300.0}
"""Seconds. The threads that play watchdogs must run, or no node would ever be reset."""
PATIENCE: Final = 600.0
STARTING_AT_ONCE: Final = 6
"""Nodes in their first boot. More at once would delay one another."""
_MANAGER: Final = "nodemend-remediator"

Cast = Callable[[AgentNode, Authority], None]
"""Changes the agent before it is started."""


@dataclass
class Cluster:
    plane: ControlPlane
    networks: Networks
    hosts: dict[str, Host]
    kubelets: Kubelets
    manager: Process
    audit: Audit
    authority: Authority
    folder: Path
    ticked_at: float = field(default_factory=boottime)
    manager_back_at: float = 0.0

    @property
    def view(self) -> View:
        """At most some seconds old, while the API server answers."""
        return self.kubelets.view

    def tick(self) -> None:
        starting = sum(host.is_starting for host in self.hosts.values())
        for host in self.hosts.values():
            if host.boots or starting < STARTING_AT_ONCE:
                starting += not host.boots
                host.tick()
        if not self.manager.running and boottime() >= self.manager_back_at:
            self.manager.start()
        self.ticked_at = boottime()

    def kill_manager(self, back_after: float) -> None:
        self.manager_back_at = boottime() + back_after
        self.manager.kill()

    def until(self, what: str, holds: Callable[[], bool], within: float = PATIENCE) -> None:
        """Wait, with rare polls because of the load."""
        deadline = time.monotonic() + within
        while not holds():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {within:.0f} s in vain until {what}")
            time.sleep(POLL_INTERVAL)

    def check(self) -> None:
        """Raises TimeoutError if the threads that play watchdogs or kubelets have stopped."""
        for who, at in (("watchdogs", self.ticked_at), ("kubelets", self.kubelets.served_at)):
            if boottime() - at > STALLED_AFTER[who]:
                raise TimeoutError(f"the {who} were last looked after {boottime() - at:.1f} s ago")

    # Requests.

    def remediate(self, node: str) -> None:
        """Create the remediation as a check does."""
        self.plane.api.create(
            {
                "apiVersion": "nodemend.io/v1alpha1",
                "kind": "SelfRemediation",
                "metadata": {"name": node, "namespace": well_known.SYSTEM_NAMESPACE},
                "spec": {"accept": ["UntestedWatchdog"]},
            }
        )

    def withdraw(self, node: str) -> None:
        self.plane.api.delete(f"{SELF_REMEDIATIONS}/{node}")

    # Observations.

    def is_well(self, node: str) -> bool:
        """True if its agent runs in the current boot, behind its gate, with an armed watchdog."""
        boot, report = self.hosts[node].boot, self.view.report(node)
        published = boot is not None and report.get("bootID") == boot.id and report.get("acknowledged", 0) > 0
        armed = report.get("watchdog", {}).get("class") == "untested" and report.get("bootGate", False)
        return bool(published and armed and not self.view.marked(node) and boot and boot.kubelet)

    def is_whole(self) -> bool:
        """True if all nodes are healthy, and none has more peers to get."""
        most = min(MOST_PEERS, len(self.hosts) - 1)
        return all(self.is_well(name) and len(self.view.peers(name)) == most for name in self.hosts)

    def resets(self) -> list[tuple[str, float]]:
        """The nodes that were reset so far, and the times."""
        boots = [(name, boot) for name, host in self.hosts.items() for boot in host.boots]
        return [(name, boot.reset_at) for name, boot in boots if boot.reset_at is not None]

    def spare_peers(self, node: str, but: Collection[str]) -> bool:
        """True if, without those, enough of its peers can be covered for a proof by time."""
        peers = self.view.peers(node)
        return len(peers) > 1 and enough(set(peers) - set(but), [peers], byzantine_peers=1)

    def releases(self, node: str, since: float) -> list[float]:
        """The times at which its release was requested, by the clock of the register."""
        offset = time.time() - boottime()
        return [at - offset for at in self.audit.releases(node, since + offset)]

    def reported(self, node: str) -> str:
        """The state of the node and its last log lines, for error messages."""
        status = self.view.status(node)
        boots = [(boot.id, boot.kubelet, boot.reset_at) for boot in self.hosts[node].boots]
        logs = (self.folder / node).glob("*.log")
        said = [f"  {log.name}: {line}" for log in logs for line in log.read_text().splitlines()[-8:]]
        return "\n".join([f"{node}: {status.get('phase')} {status.get('message')} {boots}", *said])


@contextmanager
def open_cluster(names: tuple[str, ...], folder: Path, number: int, cast: Cast) -> Iterator[Cluster]:
    """Boot the nodes on entry."""
    clients, peers = Authority(folder, "clients"), Authority(folder, "peers")
    flags = {"kube-apiserver": (f"--client-ca-file={folder / 'clients.crt'}",)}
    settings = Settings(controller_manager=False, scheduler=False, audit=True, flags=flags)
    with ExitStack() as owned:
        plane = owned.enter_context(ControlPlane(settings))
        install(plane, "selfFencing.enabled=true")
        plane.api.create(eager_policy())
        networks = owned.enter_context(Networks(names, number))
        owned.enter_context(CountingProxy(plane.port, (API, plane.port)))
        starter = _unpack(folder)
        agents = [_agent(plane, networks, peers, name, folder) for name in names]
        for agent in agents:
            cast(agent, peers)
        hosts = {agent.name: Host(agent, networks, clients, starter) for agent in agents}
        (folder / "registers").mkdir()
        kubelets = Kubelets(plane.api, networks, hosts, folder / "registers")
        manager = start(plane, _MANAGER, "--self-fencing=on")
        audit = Audit(plane.directory / "audit.log")
        cluster = Cluster(plane, networks, hosts, kubelets, manager, audit, peers, folder)
        for host in hosts.values():
            owned.callback(host.end)
        owned.callback(Rounds("watchdogs", cluster.tick).close)
        owned.callback(Rounds("kubelets", kubelets.serve).close)
        yield cluster


def _agent(plane: ControlPlane, networks: Networks, peers: Authority, name: str, folder: Path) -> AgentNode:
    agent = AgentNode(plane, name, folder / name, peers, host=networks.address(name), peer_port=PEER_PORT)
    agent.inside = networks.inside(name)
    agent.environment = {"KUBERNETES_SERVICE_HOST": API}
    return agent


def _unpack(folder: Path) -> list[str]:
    """Unpack the program, and return the command as on a host."""
    isolated = [sys.executable, "-I", "-S"]
    run = folder / "run"
    subprocess.run([*isolated, str(pack(folder)), "unpack", str(run)], check=True, timeout=60)
    return [*isolated, str(run / "start.py")]
