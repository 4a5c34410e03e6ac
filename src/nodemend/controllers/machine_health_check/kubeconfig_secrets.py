"""Cluster API's kubeconfig Secrets: read one at a time, by name, and not kept."""

from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.api.group_versions import SECRET
from nodemend.api.object_meta import ObjectMeta
from nodemend.controllers.fresh_reads import READ_WITHIN
from nodemend.controllers.machine_health_check.cluster_line import Trouble
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Ok, ReadOutcome, Reason, Refused
from nodemend.kube.api_request import get
from nodemend.kube.ports import Runtime

CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"
_KEY: Final = "value"
_PACE: Final = 0.1


class _Secret(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class KubeconfigSecrets:
    """Reads those named CLUSTER-`suffix`. Clusters are named by namespace and name."""

    client: ApiClient
    runtime: Runtime
    suffix: str

    async def read(self, cluster: str) -> str | Trouble:
        """The text in the Secret of a Cluster. Ends within a few seconds."""
        full = f"{cluster}-{self.suffix}"
        match found := await self._read(full):
            case Ok(secret):
                return _text_in(secret, full, cluster)
            case Refused(reason=Reason.NOT_FOUND):
                return Trouble(f"there is no Secret {full}")
            case Refused(reason=Reason.FORBIDDEN):
                return Trouble(f"the checker may not read the Secret {full}")
            case _:
                return Trouble(f"the Secret {full} could not be read", str(found))

    async def _read(self, full: str) -> ReadOutcome[_Secret]:
        """At the pace that we are allowed: at the start there are as many to read as there are clusters."""
        namespace, _, name = full.partition("/")
        deadline = self.runtime.monotonic() + READ_WITHIN
        while True:
            found = await self.client.read(get(SECRET, name, namespace), _Secret, deadline=deadline)
            if not isinstance(found, Refused) or found.reason is not Reason.THROTTLED:
                return found
            wait = max(found.retry_after or 0.0, _PACE)
            if self.runtime.monotonic() + wait >= deadline:
                return found
            await self.runtime.sleep(wait)


def _text_in(secret: _Secret, full: str, cluster: str) -> str | Trouble:
    """The label says that it was made to be what its name promises."""
    if secret.metadata.labels.get(CLUSTER_LABEL) != cluster.partition("/")[2]:
        return Trouble(f"the Secret {full} has no label {CLUSTER_LABEL} with the name of its Cluster")
    if _KEY not in secret.data:
        return Trouble(f"the Secret {full} has no key {_KEY}")
    try:
        return secret.data[_KEY].decode()
    except UnicodeDecodeError:
        return Trouble(f"the Secret {full} holds no text")
