"""Users, authorization, and the admission rules of Nodemend that a write must pass.

Policies and CEL rules are not interpreted here: each one that decides correctness is a plain function over an
Attempt. Runs against a real server check that the function and the rule agree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nodemend.api.resources import Resource
from simulation.api_server.statuses import Cause, Refusal, forbidden
from simulation.api_server.storage import Object


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated caller."""

    name: str
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Further claims of a token, such as the node of its pod."""


ADMIN = User("admin", ("system:masters",))


@dataclass(frozen=True, slots=True)
class Question:
    """An authorization request. Parts that do not apply are empty strings."""

    user: User
    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


Authorizer = Callable[[Question], bool]


def allow_everything(_question: Question) -> bool:
    return True


class Operation(StrEnum):
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that is otherwise valid. `old` is None on create, `new` is None on delete."""

    operation: Operation
    resource: Resource
    subresource: str
    old: Object | None
    new: Object | None
    user: User
    allows: Authorizer


@dataclass(frozen=True, slots=True)
class PolicyDenial:
    """Denial by a ValidatingAdmissionPolicy: 422, or 403 if its reason is Forbidden."""

    policy: str
    """Also the name of its binding."""
    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """Denial by a CEL rule in a CRD: 422, with the field."""

    field: str
    message: str


Denial = PolicyDenial | RuleViolation
AdmissionRule = Callable[[Attempt], Sequence[Denial]]
"""Returns all denials of the write; empty if the write may pass."""
AdmissionRules = Mapping[Resource, Sequence[AdmissionRule]]

CODES = {"Invalid": 422, "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


def violations(denials: Iterable[Denial]) -> list[Cause]:
    """Return the violations of CRD rules, which are reported with schema errors, before any policy."""
    return [
        Cause("FieldValueInvalid", f"Invalid value: {one.message}", one.field or "<nil>")
        for one in denials
        if isinstance(one, RuleViolation)
    ]


def policy_refusal(resource: Resource, name: str, denials: Iterable[Denial]) -> Refusal | None:
    """Return the refusal of the first policy that denies, or None. Later denials are not reported."""
    for denial in denials:
        if isinstance(denial, PolicyDenial):
            said = (
                f"ValidatingAdmissionPolicy '{denial.policy}' with binding '{denial.policy}' denied request"
            )
            found = forbidden(resource, name, f"{said}: {denial.message}")
            found.details["causes"] = [{"message": f"{said}: {denial.message}"}]
            found.code, found.reason = CODES[denial.reason], denial.reason
            return found
    return None


def unauthorized(question: Question) -> Refusal:
    resource = question.resource
    what = f"{resource.plural}/{question.subresource}" if question.subresource else resource.plural
    where = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    why = (
        f'User "{question.user.name}" cannot {question.verb} resource "{what}" '
        f'in API group "{resource.group}" {where}'
    )
    return forbidden(resource, question.name, why)
