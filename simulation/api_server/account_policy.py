"""The policy nodemend-accounts, for the writes of checker and remediator in the simulated world."""

from typing import Final

from nodemend.api.well_known import AGENT_NAMESPACE, SYSTEM_NAMESPACE
from simulation.api_server.admission import Attempt, PolicyDenial
from simulation.api_server.policies import CHECKER, FORBIDDEN, REMEDIATOR

_NAME: Final = "nodemend-accounts"


def accounts_policy(attempt: Attempt) -> list[PolicyDenial]:
    """Deny writes by which a Nodemend account could obtain the identity of another account."""
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    account = attempt.user.name.rpartition(":")[2]
    kind = attempt.resource.plural + (f"/{attempt.subresource}" if attempt.subresource else "")
    if kind != "leases":
        message = f"{account} may not write this object ({kind}): with it, it could act as another account"
        return [PolicyDenial(_NAME, _NAME, message, FORBIDDEN)]
    if _is_its_own(attempt, account):
        return []
    others = ", locks (node-UID) and the Leases of nodes" if attempt.user.name == REMEDIATOR else ""
    message = f"{account} may write only its own leader-election Lease{others}"
    return [PolicyDenial(_NAME, _NAME, message, FORBIDDEN)]


def _is_its_own(attempt: Attempt, account: str) -> bool:
    metadata = (attempt.new or attempt.old or {})["metadata"]
    where = f"{metadata.get('namespace', '')}/{metadata['name']}"
    if where == f"{SYSTEM_NAMESPACE}/{account}":
        return True
    others = (f"{SYSTEM_NAMESPACE}/node-", f"{AGENT_NAMESPACE}/")
    return attempt.user.name == REMEDIATOR and where.startswith(others)
