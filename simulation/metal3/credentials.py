"""The BMC's credentials, and the registration of a host with the provisioner.

The operator labels the Secret with the credentials, owns it and protects it with a finalizer. It registers a
host again after new credentials or a detachment.
"""

from dataclasses import dataclass
from typing import Any

from nodemend.api.resources import BARE_METAL_HOST, SECRET
from simulation.metal3.host import SECRET_FINALIZER, SECRET_LABEL, ErrorType, Host, Object, Operational
from simulation.metal3.host_api import HostApi
from simulation.metal3.provisioner import Working
from simulation.metal3.reconcile_pass import ImmediateOutcome, Look, Outcome, Tools


@dataclass(frozen=True, slots=True)
class Credentials:
    """Name and version of a Secret."""

    name: str
    namespace: str
    version: str

    def as_status(self) -> Object:
        return {
            "credentials": {"name": self.name, "namespace": self.namespace},
            "credentialsVersion": self.version,
        }


@dataclass(frozen=True, slots=True)
class Missing:
    """The Secret does not exist. The operator polls, because it watches only Secrets that it labelled."""

    why: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """The credentials cannot be used until the host or the Secret changes; the operator watches both."""

    why: str


async def obtain(api: HostApi, host: Host) -> Credentials | Missing | Unusable:
    """Read the host's Secret and mark it. Raises TroubleError."""
    bmc = host.spec.get("bmc", {})
    name, namespace = bmc.get("credentialsName", ""), host.metadata["namespace"]
    if not bmc.get("address") or not name:
        return Unusable("the host names no BMC address, or no credentials")
    secret = await api.find(SECRET, name, namespace)
    if secret is None:
        return Missing(f"there is no Secret {name}")
    secret = await _marked(api, host, secret)
    lacking = [key for key in ("username", "password") if not secret.get("data", {}).get(key)]
    if lacking:
        return Unusable(f"the Secret {name} has no {' and no '.join(lacking)}")
    return Credentials(name, namespace, secret["metadata"]["resourceVersion"])


async def release(api: HostApi, host: Host) -> None:
    """Remove the finalizer of the Secret: the host owns it, so it is deleted with it. Raises TroubleError."""
    name, namespace = host.spec.get("bmc", {}).get("credentialsName", ""), host.metadata["namespace"]
    secret = await api.find(SECRET, name, namespace) if name else None
    if secret is None or SECRET_FINALIZER not in secret["metadata"].get("finalizers", ()):
        return
    kept = [one for one in secret["metadata"]["finalizers"] if one != SECRET_FINALIZER]
    await api.change(SECRET, secret, {"metadata": {"finalizers": kept}})


async def _marked(api: HostApi, host: Host, secret: Object) -> Object:
    """Set the label for the operator's watch, the owner reference to the host, and the finalizer."""
    metadata = secret["metadata"]
    if "deletionTimestamp" in metadata:
        return secret
    change: dict[str, Any] = {}
    label, value = SECRET_LABEL
    if metadata.get("labels", {}).get(label) != value:
        change["labels"] = {label: value}
    owners = metadata.get("ownerReferences", [])
    if all(owner["uid"] != host.metadata["uid"] for owner in owners):
        change["ownerReferences"] = [*owners, _owner(host)]
    finalizers = metadata.get("finalizers", [])
    if SECRET_FINALIZER not in finalizers:
        change["finalizers"] = [*finalizers, SECRET_FINALIZER]
    return await api.change(SECRET, secret, {"metadata": change}) if change else secret


def _owner(host: Host) -> Object:
    return {
        "apiVersion": BARE_METAL_HOST.api_version,
        "kind": BARE_METAL_HOST.kind,
        "name": host.metadata["name"],
        "uid": host.metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


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
