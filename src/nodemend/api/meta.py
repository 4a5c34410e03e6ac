"""Building blocks of API types: encoding, times, limits, formats, conditions, selectors, metadata, pauses.

API types are immutable. In JSON their keys are camelCase (nodeUID), and a missing field has its default.

Times are written as Kubernetes writes them: in UTC, with seconds (metav1.Time) or microseconds (MicroTime).

CEL rules check the formats of names and durations. The `pattern` of a schema would do it too, but the error
that a user gets would be the regular expression.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, dataclass_transform

import msgspec

from nodemend.api.quantities import DURATION_PATTERN


def print_time(moment: datetime) -> str:
    """Raise ValueError for a time without a time zone."""
    return _in_utc(moment).strftime("%Y-%m-%dT%H:%M:%SZ")


def print_micro_time(moment: datetime) -> str:
    """Format a time for Leases and Events. Raise ValueError for a time without a time zone."""
    return _in_utc(moment).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Raise ValueError for text that is not an RFC 3339 time."""
    return datetime.fromisoformat(text)


def written_moment(text: str | None) -> datetime | None:
    """Return None for text that is missing, is not a time, or has no time zone or a year out of range."""
    try:
        moment = parse_time(text or "")
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a moment without a time zone is ambiguous")
    return moment.astimezone(UTC)


class Rule(NamedTuple):
    """A CEL rule that the API server applies to every write.

    `message` states the requirement for the user. `field` is the path of the invalid field, relative to the
    value that has the rule (".period"). The API server evaluates a rule that uses oldSelf on updates only,
    unless it is `from_creation`: then oldSelf is optional and has no value on creation.
    """

    expression: str
    message: str
    field: str = ""
    from_creation: bool = False


_IN_CAPITALS: Final = ("id", "uid", "uuid")


def camel_case(field: str) -> str:
    """Return the key in JSON. Kubernetes writes identifiers in capitals unless they begin the key."""
    first, *rest = field.rstrip("_").split("_")
    return first + "".join(part.upper() if part in _IN_CAPITALS else part.capitalize() for part in rest)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _WireMeta(msgspec.StructMeta):
    """Gives every Wire type the same settings, so that no type can forget one."""

    def __new__(  # noqa: PYI034 - a metaclass has no Self
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]
    ) -> "_WireMeta":
        return super().__new__(
            mcs,
            name,
            bases,
            namespace,
            frozen=True,
            kw_only=True,
            rename=camel_case,
            omit_defaults=True,
            gc=False,
        )


class Wire(msgspec.Struct, metaclass=_WireMeta):
    """One JSON object. Decoding ignores unknown fields, so Nodemend never writes a whole object back."""

    RULES: ClassVar[tuple[Rule, ...]] = ()
    """CEL rules that relate the fields of this type."""

    def but(self, **changes: Any) -> Self:
        """Return a copy with other values in the named fields."""
        return msgspec.structs.replace(self, **changes)


def about(
    text: str,
    *,
    rules: tuple[Rule, ...] = (),
    keys: tuple[str, ...] = (),
    example: object = None,
    **limits: Any,
) -> msgspec.Meta:
    """Describe a field: its meaning, its limits and its rules.

    `keys` are the fields that identify an item of a list. `example` is a valid value; it is needed if the
    rules refuse most values.
    """
    extra = {"rules": rules, "keys": keys, "example": example}
    return msgspec.Meta(
        description=text, extra={key: value for key, value in extra.items() if value}, **limits
    )


LIMIT_FORM = Rule(
    "type(self) == int ? self >= 0 && self <= 100000"
    " : self.matches('^([0-9]{1,5}|([0-9]|[1-9][0-9]|100)%)$')",
    "must be a count such as 3, or a percentage from 0% to 100%, such as 40%",
)

Limit = Annotated[int | str, about("A count such as 3, or a percentage such as 40%.")]


_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_NAME: Final = f"^({_DNS_LABEL}([.]{_DNS_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_LABEL_VALUE: Final = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"


def _of_form(pattern: str, message: str) -> Rule:
    return Rule(f"self.matches('{pattern}')", message)


OBJECT_NAME: Final = _of_form(
    f"^{_DNS_LABEL}([.]{_DNS_LABEL})*$",
    "must be the name of an object: lower case letters, digits, '-' and '.', such as call-the-admin",
)
NAMESPACE_NAME: Final = _of_form(
    f"^{_DNS_LABEL}$",
    "must be the name of a namespace: lower case letters, digits and '-', such as nodemend-system",
)
LABEL_KEY: Final = _of_form(
    _QUALIFIED_NAME,
    "must be a label key, such as topology.kubernetes.io/zone",
)
LABEL_VALUE: Final = _of_form(
    _LABEL_VALUE,
    "must be a label value: letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
)
CONDITION_TYPE: Final = _of_form(
    _QUALIFIED_NAME,
    "must be the type of a condition, such as Ready or example.com/DiskHealthy",
)
LABELS: Final = Rule(
    f"self.all(key, key.size() <= 317 && key.matches('{_QUALIFIED_NAME}'))",
    "each key must be a label key, such as topology.kubernetes.io/zone",
)
DURATION: Final = Rule(
    f"self.matches('{DURATION_PATTERN}') && duration(self) > duration('0s')",
    "must be a duration longer than zero, such as 90s, 5m or 1h30m",
)


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


TransitionTime = Annotated[
    str,
    about(
        "The time of the last change of the status.",
        extra_json_schema={"format": "date-time"},
        example="2026-01-31T12:00:00Z",
    ),
]


class Condition(Wire):
    """One fact about an object, with its reason."""

    type: Annotated[
        str,
        about("The type of the condition.", min_length=1, max_length=316, rules=(CONDITION_TYPE,)),
    ]
    status: Annotated[ConditionStatus, about("True, False or Unknown.")]
    reason: Annotated[
        str, about("The reason for the status, as one CamelCase identifier.", min_length=1, max_length=1024)
    ]
    last_transition_time: TransitionTime
    message: Annotated[str, about("The reason for the status, as text for users.", max_length=32768)] = ""
    observed_generation: Annotated[
        int, about("The generation of the spec that the condition describes.", ge=0)
    ] = 0


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == type_), None)


def find_true(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition if its status is True; None if it is missing or has another status."""
    found = find(conditions, type_)
    return found if found is not None and found.status is ConditionStatus.TRUE else None


def merged(old: Iterable[Condition], new: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the new conditions; one whose status did not change keeps its transition time.

    Old conditions of other types are kept unchanged.
    """
    before = {condition.type: condition for condition in old}
    for condition in new:
        known = before.get(condition.type)
        kept = known.last_transition_time if known and known.status == condition.status else None
        before[condition.type] = condition.but(last_transition_time=kept) if kept else condition
    return tuple(before[type_] for type_ in sorted(before))


Duration = Annotated[
    str,
    about(
        "A duration, such as 5m.",
        pattern=DURATION_PATTERN,
        min_length=2,
        max_length=16,
        rules=(DURATION,),
        example="7m",
    ),
]


ObservedGeneration = Annotated[int, about("The generation of the spec that this status is based on.", ge=0)]
_LabelValue = Annotated[str, about("A label value.", max_length=63, rules=(LABEL_VALUE,), example="rack-7")]


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(Wire):
    """A requirement on one label."""

    RULES: ClassVar = (
        Rule(
            "!(self.operator in ['In', 'NotIn']) || self.?values.orValue([]).size() > 0",
            "must name at least one value for the operators In and NotIn",
            field=".values",
        ),
        Rule(
            "self.operator in ['In', 'NotIn'] || self.?values.orValue([]).size() == 0",
            "must be empty for the operators Exists and DoesNotExist",
            field=".values",
        ),
    )

    key: Annotated[
        str,
        about(
            "The label's key.",
            min_length=1,
            max_length=317,
            rules=(LABEL_KEY,),
            example="topology.kubernetes.io/rack",
        ),
    ]
    operator: Annotated[Operator, about("The relation between the label and the values.")]
    values: Annotated[
        tuple[_LabelValue, ...],
        about("At least one value for In and NotIn; empty for Exists and DoesNotExist.", max_length=64),
    ] = ()


class LabelSelector(Wire):
    """All requirements must match. A selector without requirements selects every object."""

    match_labels: Annotated[
        dict[str, _LabelValue],
        about(
            "Labels that must have exactly these values.",
            max_length=32,
            rules=(LABELS,),
            example={"kubernetes.io/os": "linux"},
        ),
    ] = {}
    match_expressions: Annotated[tuple[Requirement, ...], about("Further requirements.", max_length=32)] = ()


class OwnerReference(Wire):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFields(Wire):
    """Fields that one manager owns, with the time of its last write by the API server's clock."""

    subresource: str = ""
    time: str = ""
    fields_v1: msgspec.Raw = msgspec.Raw(b"{}")


class ObjectMeta(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    managed_fields: tuple[ManagedFields, ...] = ()

    @property
    def deleting(self) -> bool:
        return self.deletion_timestamp is not None


class KubernetesObject(Wire):
    """Any object of the API. Used by itself where only the metadata is read, in any version."""

    metadata: ObjectMeta = ObjectMeta()


class Pause(Wire):
    """Stops new actions immediately. A remediation in progress stops at its next safe point."""

    reason: Annotated[str, about("The reason, for other users.", min_length=1, max_length=1024)]
    by: Annotated[str, about("The user who paused.", max_length=316)] = ""
    until: (
        Annotated[
            str,
            about(
                "The time when the pause ends by itself. If absent, a user must end it.",
                max_length=64,
                extra_json_schema={"format": "date-time"},
                example="2026-01-31T12:00:00Z",
            ),
        ]
        | None
    ) = None
