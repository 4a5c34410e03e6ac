"""Simulated kube-apiserver and etcd at the level of HTTP: the clients that ship run against it unchanged.

It is synchronous and deterministic. It has no clock, randomness or threads: the caller passes functions for
the time and for UIDs, every call happens at one instant, and the same calls return the same bytes.

    server = SimulatedApiServer(now, definitions=crds, rules=rules, authorizer=may)
    answer = server.handle(request, user)       # all requests except watches; an Answer with real JSON
    watch = server.watch(request, user)         # a SimulatedWatch, or the Answer that refuses it
    watch.take()                                # lines that are due: JSON and a newline each
    watch.ended                                 # None, or the reason why no line follows those
    watch.subscribe(callback)                   # called when lines become due or the watch ends
    watch.close()

    now: Callable[[], datetime]                 # time zone aware; called at every write
    new_uid: Callable[[], str] = counted        # source of UIDs
    definitions: Iterable[dict]                 # CustomResourceDefinition documents
    rules: Mapping[Resource, Sequence[AdmissionRule]]   # Nodemend's admission rules; see `admission`
    authorizer: Callable[[Question], bool]      # decides who may do what; allows all requests by default
    namespaces: Iterable[str]                   # namespaces that exist at the start
    streaming_lists: bool = True                # False: as in Kubernetes 1.33
    compacts_every: timedelta | None            # five minutes; None: compact only on request

The simulation drives it with these methods:

    server.tick()              # bookmarks, ends of watches, and a compaction every five minutes
    server.next_due()          # time at which tick has something to do
    server.compact()           # drop history: pages and watches from before it get 410
    server.lag(resource, at)   # delay the watch cache of a resource, at a revision or a function of one
    server.break_watches()     # end every watch, as a restart of the server does
    server.collect_garbage()   # one pass of the garbage collector; returns the number of its writes
    server.define(crd)         # serve another CustomResourceDefinition
    server.revision            # of the last write
    server.export()            # the JSON of every object by path: equal worlds, equal bytes

Reads without a resourceVersion return every write that was answered before. Reads with one, and watches, use
the watch cache, which may lag. A write that changes nothing does not raise the revision.

Random sequences of operations compare it with a real server (tests/simulation/differential), on Nodes,
Leases, Pods, VolumeAttachments, Events, a custom kind that uses every feature of schemas, and Nodemend's own
kinds and policies. Known differences are listed there. It does not implement:

- CEL: the rules of the CRDs and policies that decide correctness are Python functions (`policies.our_rules`).
- Every default and check of built-in kinds. It knows all their fields and types, but only the defaults and
  checks that those sequences reach. Namespaces, StatefulSets, Jobs, ConfigMaps, Secrets, ServiceAccounts and
  PersistentVolumeClaims are stored without checks.
- Strategic merge patches, tables, protobuf, and subresources other than `status`, a pod's `binding` and the
  `approval` of a CertificateSigningRequest. The PEM request in a CertificateSigningRequest is not parsed, and
  the times of its conditions stay as the client wrote them.
- The volume with a service account's token that admission adds to pods. `generateName` gets other suffixes
  than on a real server.
- Waiting: a read that requests a version which a lagging cache has not reached fails at once with the 504
  that the real server returns after three seconds.
"""
