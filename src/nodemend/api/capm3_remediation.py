"""CAPM3's own Metal3Remediation, of infrastructure.cluster.x-k8s.io: what we read of it, and write."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class Capm3Strategy(Wire):
    type: str = ""
    retry_limit: int = 0
    """None is the same as one, for CAPM3."""
    timeout: str | None = None
    """As Go writes durations."""


class Capm3RemediationSpec(Wire):
    strategy: Capm3Strategy | None = None


class Capm3RemediationStatus(Wire):
    phase: str = ""
    retry_count: int = 0
    last_remediated: str | None = None


class Capm3Remediation(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: Capm3RemediationSpec = Capm3RemediationSpec()
    status: Capm3RemediationStatus = Capm3RemediationStatus()
