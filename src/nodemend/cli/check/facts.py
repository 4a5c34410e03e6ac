"""What `kubectl mend check` looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nodemend.api.lease import Lease
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.agents import AgentSeen
from nodemend.cli.leaders import LeaderView
from nodemend.cli.remediations import Remediation
from nodemend.cli.reviews import ServerVersion
from nodemend.controllers.checking.remedies import NotServed
from nodemend.decide.admission_policies import PolicySeen
from nodemend.decide.facts import Absent, Seen
from nodemend.kube.node_record import NodeRecord

_NONE: Final = Absent()


Templates = Mapping[TemplateReference, Seen[object] | NotServed]
"""The templates that checks name, each as it was found."""


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    server: ServerVersion
    served: Seen[frozenset[str]]
    policies: Seen[Mapping[str, PolicySeen]]
    bindings: Seen[Mapping[str, str]]
    """Admission policies, and their bindings by fingerprint, both by name."""


@dataclass(frozen=True, slots=True)
class CallerFacts:
    name: str
    abilities: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """All of it, read one after another; `now` is the API server's clock at the end."""

    cluster: ClusterFacts
    caller: CallerFacts
    leaders: Sequence[LeaderView]
    policy: Seen[RemediationPolicy]
    checks: Seen[list[NodeHealthCheck]]
    templates: Templates
    nodes: Seen[list[NodeRecord]]
    remediations: Seen[list[Remediation]]
    locks: Seen[list[Lease]]
    system_namespace: str
    now: datetime
    agents: Seen[list[AgentSeen]] = _NONE
    """The Leases that nodes have with us."""
