"""Taking a remediation back."""

from nodemend.kube.api_request import Precondition, Request, delete
from nodemend.kube.remediation_record import RemediationRecord


def withdraw_remediation(record: RemediationRecord) -> Request:
    """Only the very version that the decision was made on."""
    only_if = Precondition(record.uid, record.version)
    return delete(record.resource, record.name, record.namespace, only_if=only_if)
