"""Tells of CAPM3's remediations: on them, for their own status has no room for a reason."""

from collections.abc import Callable

from nodemend.api.capm3_remediation import Capm3Remediation
from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import CAPM3_REMEDIATION
from nodemend.decide import capm3_remediation as capm3
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.kube.event_book import Happening
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.printable import printable


class Capm3RemediationRecorder:
    """The Recorder of the service. `record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, record: Callable[[Happening], None]) -> None:
        self._log = log
        self._record = record
        self._unserved = ""

    def took(self, theirs: Capm3Remediation, step: capm3.Step) -> None:
        metadata = theirs.metadata
        self._log.info(
            "step taken", step=type(step).__name__, name=metadata.name, namespace=metadata.namespace
        )
        match step:
            case capm3.Ask():
                said = f"Metal3Remediation {metadata.name} of remediation.metal3.io carries it out."
                self._tell(theirs, event_reasons.STAND_IN_MADE, said)
            case capm3.Withdraw():
                why = "It is no longer wanted" if metadata.deleting else "CAPM3 serves it"
                self._tell(theirs, event_reasons.STAND_IN_WITHDRAWN, f"{why}: ours comes to its safe end.")
            case capm3.Tell(phase=capm3.FAILED):
                said = "It has failed, or was stopped; what a person should do stands in our own remediation."
                self._tell(theirs, event_reasons.REMEDIATION_FAILED, said)
            case _:
                pass

    def held(self, theirs: Capm3Remediation, hold: Hold) -> None:
        """Whoever keeps events sees to it that the same words are not told again and again."""
        self._tell(theirs, event_reasons.REMEDIATION_HELD, str(explain(hold.reason)))

    def unserved(self, why: str) -> None:
        if why and why != self._unserved:
            self._log.warning("CAPM3's remediations cannot be served", note=why)
        self._unserved = why

    def _tell(self, theirs: Capm3Remediation, reason: EventReason, note: str) -> None:
        metadata, resource = theirs.metadata, CAPM3_REMEDIATION
        self._record(
            Happening(
                regarding=ObjectReference(
                    api_version=resource.api_version,
                    kind=resource.kind,
                    name=metadata.name,
                    namespace=metadata.namespace,
                    uid=metadata.uid,
                ),
                type=reason.type,
                reason=reason.word,
                action=reason.action,
                note=printable(note),
            )
        )
