"""A BareMetalHost as facts, and what several objects say about whose machine it is."""

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.node import Node
from nodemend.controllers.power_cycle.locate import Behind
from nodemend.decide.host_identity import Clues
from nodemend.decide.host_power import HostFacts


def our_hold(uid: str) -> str:
    """The key of the hold of the remediation with this UID."""
    return f"{keys.OUR_HOLD_PREFIX}{uid}"


def is_held(host: BareMetalHost | None, uid: str) -> bool:
    """Whether there is such a host, with the hold of the remediation with this UID on it."""
    return host is not None and our_hold(uid) in host.metadata.annotations


def host_facts(host: BareMetalHost, remediation_uid: str) -> HostFacts:
    metadata, spec, status = host.metadata, host.spec, host.status
    ours, manageable = our_hold(remediation_uid), host.condition("Manageable")
    return HostFacts(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        powered_on=status.powered_on,
        held_by_us=ours in metadata.annotations,
        voided_by_us=metadata.annotations.get(keys.HOLD_VOIDED) == remediation_uid,
        held_by_others=tuple(key for key in host.holds if key != ours),
        online=spec.online,
        paused=keys.HOST_PAUSED in metadata.annotations,
        detached=keys.HOST_DETACHED in metadata.annotations,
        deleting=metadata.deleting,
        power_off_disabled=spec.disable_power_off,
        operational_status=status.operational_status,
        error_type=status.error_type,
        error_message=status.error_message,
        manageable=manageable.reason if manageable and manageable.status == "False" else "",
        state=status.provisioning.state,
        last_updated=status.last_updated,
        marked_unhealthy=any(key in metadata.annotations for key in keys.HOST_UNHEALTHY),
    )


def clues(host: BareMetalHost, node: Node | None, behind: Behind | None, asked_uid: str) -> Clues:
    """`asked_uid` is the UID of the Machine that the remediation belongs to; empty where to none."""
    consumer = host.spec.consumer_ref
    return Clues(
        host=f"{host.metadata.namespace}/{host.metadata.name}",
        host_uid=host.metadata.uid,
        host_consumer=f"{consumer.kind} {consumer.namespace}/{consumer.name}" if consumer else "",
        host_system_uuid=host.metadata.annotations.get(keys.HOST_SYSTEM_UUID, ""),
        node=node.metadata.name if node else "",
        node_provider_id=node.spec.provider_id if node else "",
        node_system_uuid=node.status.node_info.system_uuid if node else "",
        machine=behind.consumer if behind else "",
        machine_node=behind.machine.node if behind else "",
        machine_host="/".join(behind.host) if behind and behind.host else "",
        machine_provider_id=behind.machine.spec.provider_id if behind else "",
        machine_uid=behind.machine.metadata.uid if behind else "",
        asked_uid=asked_uid,
    )
