"""Firmware settings that are applied at the next reboot."""

from simulation.metal3.host import Host, Object
from simulation.metal3.host_api import HostApi
from simulation.metal3.names import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY


async def work_is_pending(api: HostApi, host: Host) -> bool:
    """Return whether settings changed and a policy allows applying them while the host is off."""
    name, namespace = host.metadata["name"], host.metadata["namespace"]
    policy = await api.find(HOST_UPDATE_POLICY, name, namespace)
    if policy is None or policy.get("spec", {}).get("firmwareSettings") != "onReboot":
        return False
    settings = await api.find(HOST_FIRMWARE_SETTINGS, name, namespace)
    return settings is not None and {"ChangeDetected", "Valid"} <= _true_conditions(settings)


async def settle_work(api: HostApi, host: Host) -> None:
    """Record that the requested settings are applied. Raises TroubleError."""
    name, namespace = host.metadata["name"], host.metadata["namespace"]
    settings = await api.find(HOST_FIRMWARE_SETTINGS, name, namespace)
    if settings is None:
        return
    conditions = [
        {**one, "status": "False"} if one["type"] == "ChangeDetected" else one
        for one in settings.get("status", {}).get("conditions", ())
    ]
    change = {"status": {"conditions": conditions}}
    await api.change(HOST_FIRMWARE_SETTINGS, settings, change, subresource="status")


def _true_conditions(settings: Object) -> set[str]:
    conditions = settings.get("status", {}).get("conditions", ())
    return {one["type"] for one in conditions if one["status"] == "True"}
