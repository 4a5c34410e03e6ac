"""What we read of Events, whoever wrote them, by the older API or the newer: both are one store."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class SeriesSeen(Wire):
    count: int = 1
    last_observed_time: str = ""


class SourceSeen(Wire):
    component: str = ""


class ReferenceSeen(Wire):
    """Like an ObjectReference; nothing in it can be relied upon."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""


class EventWire(Wire):
    """An event of events.k8s.io. What has the older API's times has them in the deprecated fields."""

    metadata: ObjectMeta = ObjectMeta()
    event_time: str | None = None
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: ReferenceSeen = ReferenceSeen()
    related: ReferenceSeen | None = None
    reporting_controller: str = ""
    series: SeriesSeen | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
    deprecated_count: int = 1
    deprecated_source: SourceSeen = SourceSeen()

    @property
    def first_time(self) -> str:
        """Empty where it says none."""
        return self.event_time or self.deprecated_first_timestamp or self.metadata.creation_timestamp

    @property
    def last_time(self) -> str:
        said = self.series.last_observed_time if self.series else ""
        return said or self.deprecated_last_timestamp or self.first_time

    @property
    def count(self) -> int:
        return max(self.series.count if self.series else 1, self.deprecated_count)

    @property
    def reporter(self) -> str:
        return self.reporting_controller or self.deprecated_source.component
