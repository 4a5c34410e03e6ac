"""What a person should know before they reset a node, read fresh."""

from dataclasses import dataclass

from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.api.node import Node
from nodemend.cli.agents import AgentSeen, read_agent
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.node_case import NodeCase, gather_case
from nodemend.cli.remediations import Remediation, open_remediations
from nodemend.controllers.fresh_reads import project
from nodemend.decide.facts import PolicyFacts, Seen


@dataclass(frozen=True, slots=True)
class DrillFacts:
    case: NodeCase
    node: Node
    agent: Seen[AgentSeen]
    policy: Seen[PolicyFacts]
    at_work: tuple[Remediation, ...]
    """What is under way in the whole cluster."""
    caller: str
    may: bool
    """Whether the caller may ask for a SelfRemediation, and take it back."""


async def gather(cluster: Cluster, name: str) -> DrillFacts:
    """Writes nothing. Raises CommandFailure where there is no such node, or it may not be seen."""
    case = await gather_case(cluster, name)
    where = cluster.system_namespace
    rights = [
        await cluster.may(verb, SELF_REMEDIATION, where, name) for verb in ("create", "drill", "delete")
    ]
    return DrillFacts(
        case=case,
        node=must_have(case.node, f"node {name}"),
        agent=project(case.agent, lambda lease: read_agent(lease, case.now)),
        policy=await cluster.reader.policy(),
        at_work=tuple(await open_remediations(cluster)),
        caller=await cluster.caller(),
        may=all(rights),
    )
