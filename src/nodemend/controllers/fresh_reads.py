"""Facts straight from the API server: linearizable reads, with not knowing as one of the answers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar, assert_never

from nodemend.api import keys
from nodemend.api.group_versions import NODE, REMEDIATION_POLICY, Resource
from nodemend.api.node import Node
from nodemend.api.quantities import parse_duration
from nodemend.api.remediation_policy import FailureDomains, LimitReading, RemediationPolicy
from nodemend.api.value_forms import is_boot_id
from nodemend.controllers.pauses import in_force
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.facts import (
    Absent,
    DomainLimits,
    MachineWishes,
    NodeFacts,
    PolicyFacts,
    Present,
    Seen,
    Taint,
    Unreadable,
)
from nodemend.decide.host_identity import hardware_id
from nodemend.decide.limits import Reading, parse_gate
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_outcome import Ok, ReadOutcome, Reason, Refused, ServerFault, Undecodable, Unreachable
from nodemend.kube.api_request import get
from nodemend.kube.ports import Runtime

T = TypeVar("T")
V = TypeVar("V")

READ_WITHIN = 5.0
WRITE_WITHIN = 5.0

_READINGS = {
    LimitReading.STOPS_AT: Reading.STOPS_AT,
    LimitReading.STOPS_ABOVE: Reading.STOPS_ABOVE,
    LimitReading.SPARES_ONE: Reading.SPARES_ONE,
}


class Reader:
    """Reads objects one at a time, each within a few seconds."""

    def __init__(
        self,
        client: ApiClient,
        runtime: Runtime,
        doubt: Callable[[], Doubt | None] = lambda: None,
        reports_from: Callable[[], int | None] = lambda: 0,
    ) -> None:
        """`doubt` tells what speaks against the admission policies that everything rests on.

        `reports_from` tells the version after which Leases of nodes are these nodes' own word; None: none is.
        """
        self.client = client
        self.runtime = runtime
        self.doubt = doubt
        self.reports_from = reports_from

    @property
    def deadline(self) -> float:
        return self.runtime.monotonic() + READ_WITHIN

    async def get(self, resource: Resource, name: str, kind: type[T], namespace: str = "") -> ReadOutcome[T]:
        return await self.client.read(get(resource, name, namespace), kind, deadline=self.deadline)

    async def node(self, name: str) -> Seen[Node]:
        return seen(await self.get(NODE, name, Node))

    async def policy(self) -> Seen[PolicyFacts]:
        found = await self.get(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
        return project(
            seen(found),
            lambda policy: replace(policy_facts(policy, self.runtime.wall()), doubt=self.doubt()),
        )


def seen(outcome: ReadOutcome[T]) -> Seen[T]:
    match outcome:
        case Ok(value):
            return Present(value)
        case Refused(reason=Reason.NOT_FOUND):
            return Absent()
        case Refused(message=why) | Unreachable(why) | ServerFault(message=why) | Undecodable(why):
            return Unreadable(why)
        case _:
            assert_never(outcome)


def project(fact: Seen[T], into: Callable[[T], V]) -> Seen[V]:
    return Present(into(fact.value)) if isinstance(fact, Present) else fact


def value_of(fact: Seen[T]) -> T | None:
    return fact.value if isinstance(fact, Present) else None


def node_facts(node: Node) -> NodeFacts:
    return NodeFacts(
        name=node.metadata.name,
        uid=node.metadata.uid,
        version=node.metadata.resource_version,
        # One of another form is none: it could be recorded in no status, and a node without one is held.
        boot_id=boot_id if is_boot_id(boot_id := node.status.node_info.boot_id) else "",
        ready=node.ready,
        taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in node.spec.taints),
        hardware_id=hardware_id(node.status.node_info.system_uuid, node.status.node_info.machine_id),
    )


def policy_facts(policy: RemediationPolicy, wall: datetime) -> PolicyFacts:
    spec = policy.spec
    return PolicyFacts(
        mode=spec.mode,
        pause=in_force(spec.pause, wall),
        max_concurrent=spec.max_concurrent,
        max_concurrent_percent=spec.max_concurrent_percent,
        max_unhealthy=parse_gate(spec.max_unhealthy),
        domains=_domain_limits(spec.failure_domains),
        settle_time=_seconds(spec.settle_time),
        min_interval=_seconds(spec.min_interval),
        machines=MachineWishes(
            reading=_READINGS[spec.machines.limit_reading],
            delete=spec.machines.delete_machines,
            healthy_delay=_seconds(spec.machines.healthy_delay) if spec.machines.healthy_delay else 0.0,
        ),
        count_released=spec.count_released,
    )


def _seconds(written: str) -> float:
    return parse_duration(written).total_seconds()


def _domain_limits(domains: FailureDomains | None) -> DomainLimits | None:
    if domains is None:
        return None
    return DomainLimits(
        domains.key, parse_gate(domains.max_unhealthy), domains.min_nodes, domains.max_concurrent
    )


POLICY_OF_DEFAULTS: Final = policy_facts(RemediationPolicy(), datetime(1970, 1, 1, tzinfo=UTC))
"""What a policy would allow that says nothing."""
