"""Tells which admission policies are in force: a metric; a log line and an event when that changes."""

from collections.abc import Callable, Mapping

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import ADMISSION_POLICY
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.guard_explanations import explain_guard
from nodemend.decide.guard_holds import PolicyNotInForce
from nodemend.kube.event_book import Happening
from nodemend.telemetry.event_reasons import POLICY_NOT_PROVEN
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics


class AdmissionTelemetry:
    """`record` takes an event, and never waits or fails."""

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[Happening], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._told: dict[str, Doubt | None] = {}

    def proved(self, doubts: Mapping[str, Doubt | None]) -> None:
        for policy, doubt in doubts.items():
            self._metrics.policy_in_force.labels(policy).set(0 if doubt else 1)
            if self._told.get(policy) != doubt:
                self._tell(policy, doubt)
            self._told[policy] = doubt

    def _tell(self, policy: str, doubt: Doubt | None) -> None:
        if doubt is None:
            self._log.info("admission policy is in force again", policy=policy)
            return
        regarding = ObjectReference(
            api_version=ADMISSION_POLICY.api_version, kind=ADMISSION_POLICY.kind, name=policy
        )
        told, note = POLICY_NOT_PROVEN, str(explain_guard(doubt))
        self._record(Happening(regarding, told.type, told.word, told.action, note))
        if isinstance(doubt, PolicyNotInForce):
            self._log.error("admission policy is not in force", policy=policy, why=doubt.why)
        else:
            self._log.warning("admission policy could not be proven", policy=policy, why=doubt.why)
