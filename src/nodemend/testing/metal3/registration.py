"""Making a host known to the provisioner, also again: after new credentials, and after it was detached."""

from nodemend.testing.metal3.credentials import Credentials
from nodemend.testing.metal3.look import AtOnce, Look, Outcome, Tools
from nodemend.testing.metal3.names import ErrorType, Operational
from nodemend.testing.metal3.provisioner import Working


async def register(look: Look, tools: Tools, credentials: Credentials) -> Outcome | None:
    """None when the provisioner knows the host, and the status says so already."""
    host = look.host
    tried = credentials.as_status()
    if host.operational is Operational.NONE or look.error_type == ErrorType.REGISTRATION:
        look.clear_error()
    _note(look, "triedCredentials", tried)
    registration = await tools.provisioner.register(host.ref)
    if registration.anew:
        look.tell("Registered", "Registered new host")
    provisioning = host.status["provisioning"]
    if provisioning["ID"] != registration.id:
        provisioning["ID"] = registration.id
        look.dirty = True
    if isinstance(registration.progress, Working):
        return tools.settings.after(registration.progress.seconds)
    if _note(look, "goodCredentials", tried):
        look.tell("BMCAccessValidated", "Verified access to BMC")
    return AtOnce() if look.dirty else None


def _note(look: Look, field: str, value: object) -> bool:
    """Whether it is news."""
    if look.host.status.get(field) == value:
        return False
    look.host.status[field] = value
    look.dirty = True
    return True
