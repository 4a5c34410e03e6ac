"""Event of events.k8s.io, as we write it."""

from enum import StrEnum

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class ObjectReference(Wire):
    """The very object that an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


class EventSeries(Wire):
    count: int
    last_observed_time: str


class Event(Wire):
    """Something that happened to an object, for people to read."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    event_time: str
    type: EventType
    reason: str
    action: str
    note: str
    regarding: ObjectReference
    reporting_controller: str
    reporting_instance: str
    related: ObjectReference | None = None
    series: EventSeries | None = None
