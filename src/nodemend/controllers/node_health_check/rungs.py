"""How far up its ladder of remedies each target has come. It outlives the remediation that was given up."""

from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.remediation_request import Create, Escalate, Request


class Rungs:
    """One leadership's memory. Were it lost, a target would begin with the first remedy again.

    So a check's status says how far a target has come before the remedy that it leaves is withdrawn.
    """

    def __init__(self, view: View) -> None:
        """Begins with what the last leadership wrote."""
        self._reached = {
            report.name: report.remedy - 1
            for check in view.checks.all()
            for report in check.status.reports
            if report.remedy > 0
        }

    def note(self, target: Target, health: NodeHealth, ours: Found | None, request: Request) -> int:
        """Which remedy it has come to, counted from 1. Forgotten when it is healthy and nothing is open."""
        name = target.node.name
        if isinstance(request, Escalate):
            self._reached[name] = request.to
        elif ours is not None and not ours.record.deleting:
            self._reached[name] = ours.index
        elif ours is None and isinstance(health, Healthy):
            self._reached.pop(name, None)
        at_work = ours is not None or isinstance(request, Create) or name in self._reached
        return self._reached.get(name, 0) + 1 if at_work else 0

    def of(self, node: str) -> int:
        """Which remedy it had come to when it was last looked at, counted from 1; 0 before the first."""
        return self._reached[node] + 1 if node in self._reached else 0

    def next_of(self, target: Target) -> int:
        """The index of the remedy to begin with. The check may have fewer now than when it was reached."""
        return min(self._reached.get(target.node.name, 0), len(target.check.spec.remedies) - 1)
