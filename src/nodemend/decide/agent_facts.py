"""What the Lease that a node has with us said, in one version."""

from dataclasses import dataclass

from nodemend.api.agent_lease import AgentReport, Marker


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """`report` is None where there is none that can be read; then `doubt` says why."""

    uid: str
    version: str
    report: AgentReport | None
    marker: Marker | None
    doubt: str = ""

    def marked_for(self, remediation_uid: str, boot_id: str) -> bool:
        """Whether the marker of this remediation is on it, for this boot."""
        marker = self.marker
        return marker is not None and (marker.remediation_uid, marker.boot_id) == (remediation_uid, boot_id)
