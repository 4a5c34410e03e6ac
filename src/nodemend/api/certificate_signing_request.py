"""Kubernetes' CertificateSigningRequest, as far as we read and write it."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class CertificateSigningRequestSpec(Wire):
    """`username` and `extra` are the API server's own words about whoever made it."""

    request: str = ""
    """PKCS#10, as PEM in base64."""
    signer_name: str = ""
    expiration_seconds: int | None = None
    usages: tuple[str, ...] = ()
    username: str = ""
    extra: dict[str, tuple[str, ...]] = {}


class CertificateSigningRequestCondition(Wire):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None


class CertificateSigningRequestStatus(Wire):
    conditions: tuple[CertificateSigningRequestCondition, ...] = ()
    certificate: str = ""
    """PEM in base64."""

    def says(self, type_: str) -> CertificateSigningRequestCondition | None:
        return next((one for one in self.conditions if one.type == type_), None)


class CertificateSigningRequest(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()
