"""What a timeline is made from: the objects around a node as they are now, and the events about them."""

from dataclasses import dataclass

from nodemend.api.group_versions import EVENT
from nodemend.cli.cluster import Cluster
from nodemend.cli.node_case import NodeCase, gather_case
from nodemend.controllers.fresh_reads import value_of
from nodemend.decide.facts import Present, Unreadable
from nodemend.kube.api_request import Selection
from nodemend.kube.event_record import EventWire


@dataclass(frozen=True, slots=True)
class TimelineFacts:
    """`unread` says which events could not be read."""

    case: NodeCase
    events: tuple[EventWire, ...] = ()
    unread: tuple[str, ...] = ()


async def gather(cluster: Cluster, name: str) -> TimelineFacts:
    """Writes nothing. Raises CommandFailure where nothing is known of such a node."""
    case = await gather_case(cluster, name)
    events: list[EventWire] = []
    unread = []
    for kind, object_name, namespace in _told_of(case):
        # Events of the older API are read by the newer one, too: they are one store.
        fields = f"regarding.kind={kind},regarding.name={object_name}"
        found = await cluster.all(EVENT, EventWire, Selection(namespace, fields=fields))
        if isinstance(found, Present):
            events += found.value
        elif isinstance(found, Unreadable):
            unread.append(f"Events of {kind} {object_name} cannot be read: {found.why}.")
    return TimelineFacts(case, tuple(events), tuple(unread))


def _told_of(case: NodeCase) -> list[tuple[str, str, str]]:
    """Kind, name and namespace of all whose events belong to the story."""
    about = [("Node", case.name, "")]
    if isinstance(case.host, Present):
        host = case.host.value.metadata
        about.append(("BareMetalHost", host.name, host.namespace))
    behind = value_of(case.behind)
    if behind is not None:
        machine = behind.machine.metadata
        about.append(("Machine", machine.name, machine.namespace))
    return about
