"""A BareMetalHost as facts, and what it states about whose machine it is."""

from typing import Final

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.decide.host_identity import HostClues
from nodemend.decide.host_power import HostFacts

LONGEST_ERROR: Final = 500
LONGEST_TIME: Final = 64
"""Characters."""


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
        error_message=status.error_message[:LONGEST_ERROR],
        manageable=manageable.reason if manageable and manageable.status == "False" else "",
        state=status.provisioning.state,
        # One that no status could record is none, and then nothing is certain about the host.
        last_updated=status.last_updated if len(status.last_updated) <= LONGEST_TIME else "",
        marked_unhealthy=any(key in metadata.annotations for key in keys.HOST_UNHEALTHY),
    )


def host_clues(host: BareMetalHost) -> HostClues:
    consumer = host.spec.consumer_ref
    return HostClues(
        name=f"{host.metadata.namespace}/{host.metadata.name}",
        uid=host.metadata.uid,
        consumer=f"{consumer.kind} {consumer.namespace}/{consumer.name}" if consumer else "",
        system_uuid=host.metadata.annotations.get(keys.HOST_SYSTEM_UUID, ""),
    )
