"""CertificateSigningRequests: the server fills in the requester; each endpoint writes only its own part."""

from collections.abc import Iterator
from typing import Any, Final

from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST
from simulation.api_server.admission import User
from simulation.api_server.fields import FieldSet
from simulation.api_server.kinds import STATUS, TypedKind
from simulation.api_server.statuses import Cause, duplicate, forbidden_value, not_supported, required, wrong
from simulation.api_server.storage import Object

APPROVAL: Final = "approval"
SHORTEST: Final = 600
DECIDES: Final = ("Approved", "Denied")
STAYS: Final = (*DECIDES, "Failed")
USAGES: Final = (
    *("any", "cert sign", "client auth", "code signing", "content commitment", "crl sign"),
    *("data encipherment", "decipher only", "digital signature", "email protection", "encipher only"),
    *("ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc"),
    *("netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"),
)


class CertificateRequestKind(TypedKind):
    subresources = (STATUS, APPROVAL)

    def __init__(self) -> None:
        super().__init__(CERTIFICATE_SIGNING_REQUEST, "certificates.v1.CertificateSigningRequest")
        self.selectable = {**self.selectable, "spec.signerName": lambda one: one["spec"]["signerName"]}

    def resets(self, subresource: str) -> FieldSet:
        match subresource:
            case "":
                return {"f:status": {}}
            case "approval":
                return {"f:spec": {}, "f:status": {"f:certificate": {}}}
            case _:
                return {"f:spec": {}}

    def authored(self, new: Object, author: User) -> Object:
        """Overwrite the requester's claims about itself with the authenticated user."""
        said = ("username", "uid", "groups", "extra")
        spec = {name: part for name, part in new["spec"].items() if name not in said}
        spec["username"] = author.name
        if author.groups:
            spec["groups"] = list(author.groups)
        if author.extra:
            spec["extra"] = {name: list(values) for name, values in author.extra}
        return {**new, "spec": spec}

    def prepare_create(self, new: Object) -> Object:
        return {**new, "status": self.empty["status"]}

    def prepare_update(self, new: Object, old: Object, subresource: str) -> Object:
        match subresource:
            case "":
                return {**new, "spec": old["spec"], "status": old["status"]}
            case "approval":
                status = {name: part for name, part in old["status"].items() if name != "conditions"}
                if "conditions" in new["status"]:
                    status["conditions"] = new["status"]["conditions"]
                return {**new, "spec": old["spec"], "status": status}
            case _:
                return {**new, "spec": old["spec"]}

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        yield from _check_spec(new["spec"])
        if old is not None and subresource:
            yield from _check_conditions(new["status"], old["status"], subresource)
            yield from _check_certificate(new["status"], old["status"])


def _check_spec(spec: Any) -> Iterator[Cause]:
    if not spec["request"]:
        yield wrong("spec.request", "", "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages", [])
    if not usages:
        yield required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            yield not_supported(f"spec.usages[{index}]", usage, USAGES)
        if usage in usages[:index]:
            yield duplicate(f"spec.usages[{index}]", usage)
    if "/" not in spec["signerName"]:
        yield wrong("spec.signerName", spec["signerName"], "must be a fully qualified domain and path")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST:
        yield wrong("spec.expirationSeconds", seconds, "may not specify a duration less than 600 seconds")


def _check_conditions(new: Any, old: Any, subresource: str) -> Iterator[Cause]:
    """Only the `approval` endpoint adds a decision, and no endpoint removes one."""
    now, before = ({one["type"]: one for one in part.get("conditions", [])} for part in (new, old))
    for type_ in STAYS:
        if type_ in before and type_ not in now:
            yield forbidden_value(
                "status.conditions", f"updates may not remove a condition of type {type_!r}"
            )
    for type_ in DECIDES:
        if subresource != APPROVAL and type_ in now and type_ not in before:
            yield forbidden_value(
                "status.conditions", f"updates may not add a condition of type {type_!r} via this endpoint"
            )
    if all(type_ in now for type_ in DECIDES):
        yield wrong("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive")
    for type_, condition in now.items():
        if type_ in STAYS and condition["status"] != "True":
            yield not_supported("status.conditions.status", condition["status"], ("True",))


def _check_certificate(new: Any, old: Any) -> Iterator[Cause]:
    before = old.get("certificate")
    if before and new.get("certificate") != before:
        yield forbidden_value("status.certificate", "updates may not change certificate once set")
