"""Registers a host with the provisioner, and repeats that after new credentials or a detachment."""

from simulation.metal3.credentials import Credentials
from simulation.metal3.names import ErrorType, Operational
from simulation.metal3.provisioner import Working
from simulation.metal3.reconcile_pass import ImmediateOutcome, Look, Outcome, Tools


async def register(host_pass: Look, tools: Tools, credentials: Credentials) -> Outcome | None:
    """Register the host. Returns None if it is registered and the status already shows that."""
    host = host_pass.host
    tried = credentials.as_status()
    if host.operational is Operational.NONE or host_pass.error_type == ErrorType.REGISTRATION:
        host_pass.clear_error()
    _note(host_pass, "triedCredentials", tried)
    registration = await tools.provisioner.register(host.ref)
    if registration.anew:
        host_pass.tell("Registered", "Registered new host")
    provisioning = host.status["provisioning"]
    if provisioning["ID"] != registration.id:
        provisioning["ID"] = registration.id
        host_pass.dirty = True
    if isinstance(registration.progress, Working):
        return tools.settings.after(registration.progress.seconds)
    if _note(host_pass, "goodCredentials", tried):
        host_pass.tell("BMCAccessValidated", "Verified access to BMC")
    return ImmediateOutcome() if host_pass.dirty else None


def _note(host_pass: Look, field: str, value: object) -> bool:
    """Set a field of the status; return True if it changed."""
    if host_pass.host.status.get(field) == value:
        return False
    host_pass.host.status[field] = value
    host_pass.dirty = True
    return True
