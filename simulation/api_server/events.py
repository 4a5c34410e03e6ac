"""Events of events.k8s.io, with its strict rules: only the series of an Event may change."""

from collections.abc import Iterator
from typing import Any, Final

from nodemend.api.resources import EVENT, Resource
from simulation.api_server.kinds import TypedKind
from simulation.api_server.object_meta import is_qualified_name
from simulation.api_server.statuses import Cause, immutable, required, wrong
from simulation.api_server.storage import Object

FOR_CLUSTER_SCOPED: Final = ("default", "kube-system")
"""Namespaces in which an Event about an object without a namespace may be."""

LIMITS: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "note": 1024}
OF_THE_PAST: Final = {
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "deprecatedSource": "source",
}
NEVER_CHANGE: Final = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
    **OF_THE_PAST,
}
"""Maps each field to its name in refusals, which is the name in the older core/v1 API."""


class EventKind(TypedKind):
    creates_on_put = True
    knows_collector = False

    def __init__(self) -> None:
        super().__init__(EVENT, "events.v1.Event")
        self.internal = Resource("", "v1", "Event", "events")
        self.selectable = {
            **self.selectable,
            "regarding.kind": lambda event: event["regarding"].get("kind", ""),
            "regarding.name": lambda event: event["regarding"].get("name", ""),
            "regarding.namespace": lambda event: event["regarding"].get("namespace", ""),
        }

    def check(self, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
        if new.get("eventTime"):
            yield from _check_parts(new)
        elif new["regarding"].get("namespace", "") != new["metadata"]["namespace"]:
            yield wrong("involvedObject.namespace", "", "does not match event.namespace")
        if old is None:
            yield from _check_new(new)
        else:
            for field, called in NEVER_CHANGE.items():
                if new.get(field) != old.get(field):
                    yield immutable(called, new.get(field))
        series = new.get("series")
        if series is not None and (old is None or series != old.get("series")):
            yield from _check_series(series)


def _check_parts(event: Object) -> Iterator[Cause]:
    namespace = event["metadata"]["namespace"]
    if not event["regarding"].get("namespace") and namespace not in FOR_CLUSTER_SCOPED:
        yield wrong("involvedObject.namespace", "", "does not match event.namespace")
    for field in ("reportingController", "reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(field)
    if not is_qualified_name(event.get("reportingController", "")):
        yield wrong("reportingController", event.get("reportingController", ""), "a qualified name is wanted")
    for field, most in LIMITS.items():
        if len(event.get(field, "").encode()) > most:
            called = "message" if field == "note" else field
            yield wrong(called, "", f"can have at most {most} characters")


def _check_new(event: Object) -> Iterator[Cause]:
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in {"Normal", "Warning"}:
        yield wrong("type", "", f"has invalid value: {event.get('type', '')}")
    for field, called in OF_THE_PAST.items():
        if event.get(field):
            yield wrong(called, "", "needs to be unset")


def _check_series(series: dict[str, Any]) -> Iterator[Cause]:
    if series.get("count", 0) < 2:
        yield wrong("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")
