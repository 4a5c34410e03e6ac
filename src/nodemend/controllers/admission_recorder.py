"""Tells which admission policies are in force: a metric, and a log line when that changes."""

from collections.abc import Mapping

from nodemend.decide.admission_policies import Doubt
from nodemend.decide.guard_holds import PolicyNotInForce
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics


class AdmissionTelemetry:
    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
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
        elif isinstance(doubt, PolicyNotInForce):
            self._log.error("admission policy is not in force", policy=policy, why=doubt.why)
        else:
            self._log.warning("admission policy could not be proven", policy=policy, why=doubt.why)
