"""`python -m bench.peer_load [SECONDS]`: one real agent under all kinds of load at once, and its node
meanwhile.

2,000 queries a second over kept connections, by nodes with valid certificates; 50 handshakes a second, half
of them with invalid certificates; 500 connections that send almost nothing. And six peers in need, which
query as agents do: half of them keep their connection, half reconnect each time.
"""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bench.peer_load import results
from bench.peer_load.crowd import Done, Plan, Shown
from bench.peer_load.real_peers import Peer, ask_for
from bench.process_costs import cpu_of, memory_of
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from exit_status import exit_status
from nodemend.api.agent import certified_name
from tests.e2e.agent_nodes.agent_node import ACCOUNT, AgentNode, furnish
from tests.e2e.self_fencing.agent_and_feeder import Node
from tests.unit.agent.certificates import Authority

SECONDS: Final = 120.0
REQUESTS: Final = 2000.0
HANDSHAKES: Final = 50.0
SLOW: Final = 500
FLOODING_NODES: Final = 20
PASSING_NODES: Final = 5
PEERS: Final = 6
PING_EVERY: Final = 2.0
SETTLES: Final = 5.0
"""Seconds of load before the measurement."""


@dataclass
class Stage:
    agent: AgentNode
    node: Node
    peers: list[Peer]
    plan: Plan
    audit: Path

    @property
    def pid(self) -> int:
        assert self.agent.process is not None
        return self.agent.process.pid


def main(arguments: list[str]) -> int:
    seconds = float(arguments[0]) if arguments else SECONDS
    settings = Settings(controller_manager=False, scheduler=False, audit=True)
    with tempfile.TemporaryDirectory(prefix="nodemend-load-") as name, ExitStack() as owned:
        plane = owned.enter_context(ControlPlane(settings))
        stage = set_up(plane, Path(name), seconds, owned)
        plan = Path(name) / "plan.json"
        plan.write_bytes(msgspec.json.encode(stage.plan))
        crowd = Process([sys.executable, "-m", "bench.peer_load.crowd", plan], log=Path(name) / "crowd.log")
        owned.callback(crowd.end)
        time.sleep(SETTLES)
        return measure(stage, crowd, seconds)


def set_up(plane: ControlPlane, folder: Path, seconds: float, owned: ExitStack) -> Stage:
    furnish(plane)
    authority = Authority(folder)
    agent = AgentNode(plane, "n0", folder / "n0", authority)
    owned.callback(agent.end)
    agent.start()
    node = Node(agent)
    owned.callback(node.feeder.end)
    peers = [
        Peer(AgentNode(plane, f"p{number}", folder / f"p{number}", authority), keeps=number % 2 == 0)
        for number in range(PEERS)
    ]
    for peer in peers:
        peer.place_lease()
    flooding = [authority.issue(certified_name(f"f{number}")) for number in range(FLOODING_NODES)]
    passing = [authority.issue(certified_name(f"g{number}")) for number in range(PASSING_NODES)]
    others = Authority(folder, "others").issue(certified_name("f0"), file="foreign")
    strangers = [others, authority.issue(certified_name("f1"), file="over", days=-1)]
    wait_until("its watchdog runs", lambda: "untested" in str(agent.report()), within=120)
    plan = Plan(
        port=int(agent.address.rpartition(":")[2]),
        server_name=certified_name(agent.name),
        authority=flooding[0].authority,
        nodes=[Shown(one.certificate, one.key) for one in flooding],
        passers=[Shown(one.certificate, one.key) for one in passing],
        strangers=[Shown(one.certificate, one.key) for one in strangers],
        seconds=seconds + 2 * SETTLES,
        requests=REQUESTS,
        handshakes=HANDSHAKES,
        slow=SLOW,
    )
    return Stage(agent, node, peers, plan, plane.directory / "audit.log")


def measure(stage: Stage, crowd: Process, seconds: float) -> int:
    began, since, cpu = time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), cpu_of(stage.pid)
    asyncio.run(ask_for(stage.peers, stage.agent.name, stage.agent.address, seconds))
    used, passed = cpu_of(stage.pid) - cpu, time.time() - began
    asked = results.asked(stage.audit, ACCOUNT, began, began + passed)
    late = results.jitter(stage.node.pings, since, PING_EVERY)
    _, peak = memory_of(stage.pid)
    wait_until("the crowd has gone", lambda: not crowd.running, within=60)
    done = msgspec.json.decode(crowd.log.read_text().splitlines()[-1], type=Done)
    tell_load(done, stage.plan, used / passed)
    return tell_bars(stage, asked, late, peak / 1e6, passed)


def tell_load(done: Done, plan: Plan, cpu: float) -> None:
    spent = plan.seconds
    print(
        f"questions: {done.sent / spent:.0f} a second sent of {REQUESTS:.0f} wanted,"
        f" {done.answered / spent:.0f} refused or answered; {done.floods_closed} connections lost"
    )
    print(f"handshakes: {done.handshakes / spent:.1f} a second begun, of {HANDSHAKES:.0f} wanted")
    print(f"slow: {done.slow_open:.0f} of {SLOW} open on average; closed or refused {done.slow_closed} times")
    print(f"CPU of the agent: {cpu:.2f} of one core")


def tell_bars(stage: Stage, asked: results.SentRequest, late: float, megabytes: float, passed: float) -> int:
    check, reads = results.p99(asked.checks), len(asked.reads) / passed
    answers = [one for peer in stage.peers for one in peer.answers]
    unheard = sum(1 for one in answers if not one.good)
    for keeps in (True, False):
        heard = [one for peer in stage.peers if peer.keeps is keeps for one in peer.answers]
        said = Counter(one.answer.value for one in heard)
        print(f"peers that {'keep their connection' if keeps else 'come anew'} heard {dict(said)}")
    slowest = max((one.took for one in answers), default=0.0)
    in_time = (
        (check < results.MOST_CHECK, f"own check p99 {check:.2f} s (below {results.MOST_CHECK:.1f})"),
        (late < results.MOST_JITTER, f"ping jitter {late:.2f} s (below {results.MOST_JITTER:.2f})"),
    )
    right = (
        (megabytes < results.MOST_MEGABYTES, f"RSS {megabytes:.0f} MB (below {results.MOST_MEGABYTES:.0f})"),
        (reads <= results.MOST_READS, f"{reads:.1f} API reads a second (at most {results.MOST_READS:.0f})"),
        (
            bool(answers) and not unheard,
            f"{len(answers) - unheard} of {len(answers)} questions of peers answered",
        ),
    )
    print(
        f"{len(asked.checks)} own checks, the slowest {max(asked.checks, default=0.0):.2f} s;"
        f" at most {results.busiest_second(asked.reads)} reads in one second;"
        f" the slowest answer to a peer took {slowest:.2f} s"
    )
    reported = (*in_time, *right)
    for holds, text in reported:
        if not holds:
            print(f"MISSED: {text}")
    print(f"peer-load: {', '.join(text for _, text in reported)}")
    return exit_status(
        wrong=not all(holds for holds, _ in right), late=not all(holds for holds, _ in in_time)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
