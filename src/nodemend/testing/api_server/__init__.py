"""A kube-apiserver and its etcd, simulated at the level of HTTP: shipped clients run against it unchanged.

It is synchronous and deterministic. It has no clock, no chance and no threads of its own: time and uids are
functions that it is given, every call happens at one instant, and the same calls give the same bytes.

    server = SimulatedApiServer(now, definitions=crds, rules=rules, authorizer=may)
    answer = server.handle(request, user)       # everything but watches; an Answer with real JSON
    watch = server.watch(request, user)         # a SimulatedWatch, or the Answer that refuses it
    watch.take()                                # lines that are due: JSON and a newline each
    watch.ended                                 # None, or why no more will come after those
    watch.subscribe(callback)                   # called whenever lines fall due or the watch ends
    watch.close()

    now: Callable[[], datetime]                 # time zone aware; asked at every write
    new_uid: Callable[[], str] = counted        # where uids come from
    definitions: Iterable[dict]                 # CustomResourceDefinition documents
    rules: Mapping[Resource, Sequence[AdmissionRule]]   # our admission rules, as functions; see `admission`
    authorizer: Callable[[Question], bool]      # who may do what; everybody everything by default
    namespaces: Iterable[str]                   # those that exist at the start
    streaming_lists: bool = True                # off, as Kubernetes 1.33 has it
    compacts_every: timedelta | None            # five minutes; None for a server that forgets only when told

What the world around it drives:

    server.tick()              # bookmarks, ends of watches, and a compaction every five minutes
    server.next_due()          # when there is something to tick for
    server.compact()           # history is gone: pages and watches from before it get 410
    server.lag(resource, at)   # hold the watch cache of a resource back, at a revision or a function of one
    server.break_watches()     # every watch ends, as when the server restarts
    server.collect_garbage()   # one pass of the garbage collector; returns how much it did
    server.define(crd)         # serve another CustomResourceDefinition
    server.revision            # of the last write
    server.export()            # every object's JSON by path: equal worlds, equal bytes

Reads without a resourceVersion see every write that was answered before. Reads with one, and watches, see
the watch cache, which may be held back. A write that changes nothing does not raise the revision.

It is held to a real server by random sequences of operations (tests/simulation/differential), on Nodes,
Leases, Pods, VolumeAttachments, Events, a custom kind with all that schemas can say, and Nodemend's own kinds
and policies. Where it is known to differ is listed there. What it does not do:

- CEL is not interpreted: rules of our CRDs and policies that decide correctness are functions (`our_rules`).
- Of built-in kinds it knows every field and type, but only the defaults and checks that those sequences meet.
  Namespaces, StatefulSets, Jobs, ConfigMaps, Secrets, ServiceAccounts and claims are stored, not judged.
- Strategic merge patches, tables, protobuf, and subresources other than `status`, a pod's `binding` and the
  `approval` of a CertificateSigningRequest. What is inside such a request is not looked at, and the times of
  its conditions are left to whoever writes them.
- The volume with a service account's token that admission adds to pods. `generateName` has its own chance.
- It never waits: a read that asks for a version which a lagging cache has not reached is refused at once with
  the 504 that the real server gives after three seconds.
"""

from nodemend.testing.api_server.admission import (
    ADMIN,
    AdmissionRule,
    Attempt,
    Operation,
    PolicyDenial,
    Question,
    RuleViolation,
    User,
)
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.api_server.watching import SimulatedWatch

__all__ = [
    "ADMIN",
    "AdmissionRule",
    "Attempt",
    "Operation",
    "PolicyDenial",
    "Question",
    "RuleViolation",
    "SimulatedApiServer",
    "SimulatedWatch",
    "User",
]
