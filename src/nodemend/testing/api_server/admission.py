"""Who asks, whether they may, and rules of our own that a write must pass.

Policies and CEL rules are not interpreted here: each that decides correctness is a plain function over an
Attempt, and runs against a real server hold the function to the rule it stands for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nodemend.api.group_versions import Resource
from nodemend.testing.api_server.statuses import Cause, Refusal, forbidden
from nodemend.testing.api_server.storage import Object


@dataclass(frozen=True, slots=True)
class User:
    """A caller, authenticated."""

    name: str
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What a token says besides, such as where its pod runs."""


ADMIN = User("admin", ("system:masters",))


@dataclass(frozen=True, slots=True)
class Question:
    """What an authorizer is asked. Empty strings for what does not apply."""

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
    """A write that is otherwise valid. `old` is None on create, `new` on delete."""

    operation: Operation
    resource: Resource
    subresource: str
    old: Object | None
    new: Object | None
    user: User
    allows: Authorizer


@dataclass(frozen=True, slots=True)
class PolicyDenial:
    """As a ValidatingAdmissionPolicy denies: 422 unless its reason is Forbidden."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """As a CEL rule in a CRD refuses: 422, with the field."""

    field: str
    message: str


Denial = PolicyDenial | RuleViolation
AdmissionRule = Callable[[Attempt], Sequence[Denial]]
"""Returns all that it denies the write for; nothing when the write may pass."""
AdmissionRules = Mapping[Resource, Sequence[AdmissionRule]]

CODES = {"Invalid": 422, "Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


def violations(denials: Iterable[Denial]) -> list[Cause]:
    """What CRD rules found: checked with the schema, before any policy."""
    return [
        Cause("FieldValueInvalid", f"Invalid value: {one.message}", one.field or "<nil>")
        for one in denials
        if isinstance(one, RuleViolation)
    ]


def policy_refusal(resource: Resource, name: str, denials: Iterable[Denial]) -> Refusal | None:
    """The first policy that denies speaks alone."""
    for denial in denials:
        if isinstance(denial, PolicyDenial):
            said = (
                f"ValidatingAdmissionPolicy '{denial.policy}' with binding '{denial.binding}' denied request"
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
