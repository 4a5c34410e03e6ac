"""Lease of coordination.k8s.io, as far as we read it."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class LeaseSpec(Wire):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Wire):
    """Who holds something, and when they last said so."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
