"""The simulated remediations: they come, end well or not, and go."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf

import msgspec
from msgspec.structs import replace

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.remedies import Asked, NotServed, Remedies, RemedyKind
from nodemend.controllers.node_health_check.gather import Target
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


class Remediations:
    """Changes the cache that the checker looks at, and tells what it would have seen."""

    def __init__(self, remedies: Remedies, seen: Observations) -> None:
        self._remedies = remedies
        self._seen = seen
        self._made = 0
        self._named: Counter[str] = Counter()
        self._note((Change(_key(record), None, record) for record in remedies.all()), 0.0)

    def has(self, name: str) -> bool:
        """Whether there is one of this name. Most nodes have none, and of those no more need be asked."""
        return self._named[name] > 0

    def open(self, target: Target, kind: RemedyKind, index: int, now: float) -> RemediationRecord:
        self._made += 1
        check, template = target.check.metadata, target.check.spec.remedies[index].template
        metadata = {
            "name": target.node.name,
            "namespace": template.namespace,
            "uid": f"simulated-{self._made}",
            "labels": {keys.CHECK: check.name},
            "annotations": {keys.CHECK_UID: check.uid},
            "finalizers": [keys.SAFE_END],  # Somebody serves it.
        }
        wire = msgspec.convert({"metadata": metadata}, RemediationWire)
        record = as_record(kind.remediation, wire)
        self._put(record, now)
        return record

    def end(self, record: RemediationRecord, *, succeeded: bool, now: float) -> None:
        """It says how it went, and waits to be withdrawn."""
        status = ConditionStatus.TRUE if succeeded else ConditionStatus.FALSE
        said = {"metadata": {}, "status": {"conditions": [{"type": "Succeeded", "status": status}]}}
        told = as_record(record.resource, msgspec.convert(said, RemediationWire))
        self._put(replace(record, conditions=told.conditions), now)

    def withdraw(self, record: RemediationRecord, now: float) -> None:
        """It is gone at once."""
        changes: list[Change[RemediationRecord]] = []
        self._remedies.caches[record.resource].drop(_key(record), changes)
        self._note(changes, now)

    def find(self, record: RemediationRecord) -> RemediationRecord | None:
        """The same as it is now; None when it is gone."""
        found = self._remedies.caches[record.resource].get(_key(record))
        return found if found is not None and found.uid == record.uid else None

    def _put(self, record: RemediationRecord, now: float) -> None:
        changes: list[Change[RemediationRecord]] = []
        self._remedies.caches[record.resource].put(_key(record), record, changes)
        self._note(changes, now)

    def _note(self, changes: Iterable[Change[RemediationRecord]], now: float) -> None:
        for change in changes:
            self._seen.note_remediation(change, now)
            self._named[change.key.rpartition("/")[2]] += (change.old is None) - (change.new is None)


def remedies_of(
    kinds: Mapping[Asked, RemedyKind | NotServed], records: Iterable[RemediationRecord]
) -> Remedies:
    """What the checker would have in its caches."""
    remedies = Remedies(kinds=dict(kinds))
    for kind in kinds.values():
        if isinstance(kind, RemedyKind):
            cache: ObjectCache[RemediationRecord] = ObjectCache(lambda record: record.uid)
            cache.replace({_key(one): one for one in records if one.resource == kind.remediation}, [])
            cache.synced_at = cache.last_contact = inf
            remedies.caches[kind.remediation] = cache
    return remedies


def _key(record: RemediationRecord) -> str:
    return f"{record.namespace}/{record.name}"
