"""Reads what `kubectl mend wind-down` looks at. Writes nothing."""

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, LEASE, NODE
from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.cli.cluster import Cluster
from nodemend.cli.leaders import look_at_leaders
from nodemend.cli.remediations import list_remediations
from nodemend.cli.reviews import ServedResources, ask_served
from nodemend.cli.wind_down.facts import Known, OpenFacts, WindDownFacts
from nodemend.decide.facts import Absent, Seen, Unreadable
from nodemend.kube.api_request import Selection


async def look_at_open(cluster: Cluster) -> OpenFacts:
    """What is looked at again and again: it is little, however large the cluster."""
    leaders = await look_at_leaders(cluster)
    (remediator,) = (leader for leader in leaders if leader.component == "remediator")
    return OpenFacts(listed=await list_remediations(cluster), leader=remediator)


async def look_at_everything(cluster: Cluster, known: Known) -> WindDownFacts:
    return WindDownFacts(
        hosts=await _hosts(cluster),
        nodes=await cluster.all(NODE, Node),
        locks=await cluster.all(LEASE, Lease, Selection(namespace=cluster.system_namespace)),
        agents=await cluster.all(LEASE, Lease, Selection(namespace=keys.AGENT_NAMESPACE)),
        open=await look_at_open(cluster),
        known=known,
    )


async def _hosts(cluster: Cluster) -> Seen[list[BareMetalHost]]:
    """Absent where metal3 is not installed, also to those who may not see hosts."""
    hosts = await cluster.all(BARE_METAL_HOST, BareMetalHost)
    if not isinstance(hosts, Unreadable):
        return hosts
    served = await cluster.ask(ask_served(BARE_METAL_HOST), ServedResources)
    return Absent() if isinstance(served, Absent) else hosts
