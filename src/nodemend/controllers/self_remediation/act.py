"""Each step as the one write that it is."""

from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.controllers.remediating import writes
from nodemend.controllers.self_remediation.gather import Gathered
from nodemend.decide import remediation_steps as steps
from nodemend.decide.self_remediation_status import after
from nodemend.decide.self_remediation_steps import PlaceMarker, Step, TakeMarkerOff
from nodemend.kube.agent_lease import write_marker
from nodemend.kube.api_request import Precondition, Request


def request_for(gathered: Gathered, step: Step, *, namespace: str, now: str) -> Request | None:
    """The write that makes `step` true; None for a step without one."""
    facts = gathered.facts
    metadata, status = facts.remediation.metadata, facts.remediation.status
    match step:
        case steps.AddFinalizer() | steps.DropFinalizer():
            return writes.write_finalizer(SELF_REMEDIATION, metadata, step)
        case steps.TakeLock():
            return writes.take_lock(SELF_REMEDIATION, metadata, status.node_uid, gathered.lock, namespace)
        case steps.DropLock():
            return writes.drop_lock(gathered.lock)
        case steps.Release() | steps.Untaint() | steps.VoidOnNode() | steps.ClearVoidMark():
            return writes.write_node(gathered.node, step)
        case PlaceMarker(agent, marker):
            return write_marker(status.node_name, Precondition(agent.uid, agent.version), marker)
        case TakeMarkerOff(agent):
            return write_marker(status.node_name, Precondition(agent.uid, agent.version), None)
        case steps.Done():
            return None
        case _:
            wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
            return writes.write_status(SELF_REMEDIATION, metadata, status, wanted)
