"""What a person should see before they vouch for a node, read fresh."""

from dataclasses import dataclass
from datetime import datetime

from nodemend.api import keys
from nodemend.api.group_versions import LEASE, MANUAL_REMEDIATION, NODE, POD, VOLUME_ATTACHMENT
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node import Node
from nodemend.api.wire import Wire
from nodemend.api.workloads import Pod
from nodemend.cli.cluster import Cluster
from nodemend.cli.remediations import find_manual
from nodemend.decide.facts import PolicyFacts, Seen
from nodemend.kube.api_request import Selection


class AttachmentSource(Wire):
    persistent_volume_name: str = ""


class AttachmentSpec(Wire):
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class Attachment(Wire):
    """A VolumeAttachment, with the volume that it is about."""

    spec: AttachmentSpec = AttachmentSpec()


@dataclass(frozen=True, slots=True)
class ConfirmFacts:
    remediation: ManualRemediation
    node: Seen[Node]
    lease: Seen[Lease]
    policy: Seen[PolicyFacts]
    pods: Seen[list[Pod]]
    attachments: Seen[list[Attachment]]
    caller: str
    may_confirm: bool
    now: datetime


async def gather(cluster: Cluster, node: str, namespace: str) -> ConfirmFacts:
    remediation = await find_manual(cluster, node, namespace)
    where = remediation.metadata.namespace
    on_node = Selection(fields=f"spec.nodeName={node}")
    return ConfirmFacts(
        remediation=remediation,
        node=await cluster.find(NODE, node, Node),
        lease=await cluster.find(LEASE, node, Lease, keys.KUBELET_LEASE_NAMESPACE),
        policy=await cluster.reader.policy(),
        pods=await cluster.all(POD, Pod, on_node),
        attachments=await cluster.all(VOLUME_ATTACHMENT, Attachment),
        caller=await cluster.caller(),
        may_confirm=await cluster.may("confirm", MANUAL_REMEDIATION, where, node),
        now=cluster.now,
    )
