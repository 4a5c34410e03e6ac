"""The caches that machine health checks live on."""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.remedies import Remedies
from nodemend.controllers.machine_health_check.clusters import Clusters
from nodemend.controllers.machine_health_check.fleet import Fleet
from nodemend.kube.etcd_pod_record import EtcdPodRecord
from nodemend.kube.object_cache import ObjectCache


@dataclass(frozen=True, slots=True)
class MachineView:
    fleet: Fleet
    clusters: Clusters
    remedies: Remedies
    remedies_seen: dict[str, float]
    """When we first saw each remediation, by UID."""
    policies: ObjectCache[RemediationPolicy]
    etcd_pods: ObjectCache[EtcdPodRecord]

    def age(self, now: float) -> float:
        """Of the oldest of them, but for the Nodes of other clusters: each of these has an age of its own."""
        return max(self.clusters.own.nodes.age(now), self.age_without_nodes(now))

    def age_without_nodes(self, now: float) -> float:
        caches = [self.remedies.age(now), self.policies.age(now), self.etcd_pods.age(now)]
        for realm in self.fleet.realms.values():
            caches.append(realm.machines.age(now))
            if realm.clusters is not None:
                caches.append(realm.clusters.age(now))
        caches.extend(book.checks.age(now) for book in self.fleet.books.values())
        return max(caches)

    @property
    def synced(self) -> bool:
        return (
            self.remedies.synced
            and self.clusters.own.nodes.synced_at is not None
            and self.policies.synced_at is not None
            and self.etcd_pods.synced_at is not None
            and self.fleet.settled
        )

    def rules_in_force(self) -> object:
        """Changes whenever who is whose target, or in which domain, may have changed for many at once."""
        books = sorted((book.group, book.of, book.only_claimed) for book in self.fleet.books.values())
        policy = self.policies.get(keys.POLICY_NAME)
        domains = policy.spec.failure_domains if policy is not None else None
        domain = domains.key if domains is not None else ""
        return self.fleet.rules, tuple(books), tuple(sorted(self.fleet.realms)), domain
