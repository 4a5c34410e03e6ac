"""Agents that behave differently from the shipped one."""

from nodemend.api.agent import certified_name
from nodemend.protocol.peers import PeerReply
from tests.e2e.agent_nodes.agent_node import AgentNode
from tests.e2e.self_fencing.peer_queries import pair_of
from tests.unit.agent.certificates import Authority, Shown

_PROGRAM = "tests.e2e.self_fencing.lying_agent"


def all_honest(_agent: AgentNode, _peers: Authority) -> None:
    pass


def last_lies(agent: AgentNode, _peers: Authority) -> None:
    """Agent number 4 gives the answer in a file that all of them share, which is empty at first."""
    if agent.name.endswith("-4"):
        _take_over(agent)


def last_says_healthy(agent: AgentNode, _peers: Authority) -> None:
    if agent.name.endswith("-4"):
        _take_over(agent, lie=PeerReply.HEALTHY)


def all_but_the_first_show_false_ones(agent: AgentNode, peers: Authority) -> None:
    """A different wrong certificate for each: another node's, an expired one, one of another CA, its own with
    TLS 1.2.
    """
    cell, _, number = agent.name.rpartition("-")
    name = certified_name(agent.name)
    match number:
        case "1":
            _show(agent, peers.issue(certified_name(f"{cell}-2"), file="of-another"))
        case "2":
            _show(agent, peers.issue(name, file="over", days=-1))
        case "3":
            _show(agent, Authority(peers.folder, "strange").issue(name, file="strange-one"))
        case "4":
            _show(agent, peers.issue(name, file="old-tls"))
            agent.environment["OLD_TLS"] = "yes"
        case _:
            pass


def _show(agent: AgentNode, shown: Shown) -> None:
    _take_over(agent)
    agent.environment["SHOWN"] = str(pair_of(shown, agent.folder / "shown.pem"))


def _take_over(agent: AgentNode, lie: PeerReply | None = None) -> None:
    file = agent.folder.parent / "lie"
    file.write_text(lie or "")
    agent.program = _PROGRAM
    agent.environment["LIE"] = str(file)
