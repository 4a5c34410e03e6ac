"""How our types look on the wire: camelCase, frozen, absent means default."""

from typing import Any, ClassVar, NamedTuple, Self, dataclass_transform

import msgspec


class Rule(NamedTuple):
    """A CEL rule to which the API server holds every write.

    `message` tells a person what is right. `field` is the path, from the value the rule stands on, of what is
    wrong (".period"). A rule that names oldSelf is asked on updates only, unless it is `from_creation`: then
    oldSelf is optional and has no value at the creation.
    """

    expression: str
    message: str
    field: str = ""
    from_creation: bool = False


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
            rename="camel",
            omit_defaults=True,
            gc=False,
        )


class Wire(msgspec.Struct, metaclass=_WireMeta):
    """One JSON object. Unknown fields are ignored on reading, and we never write one back whole."""

    RULES: ClassVar[tuple[Rule, ...]] = ()
    """What must hold between the fields of this type."""

    def but(self, **changes: Any) -> Self:
        """The same with other values in the named fields."""
        return msgspec.structs.replace(self, **changes)


def about(
    text: str,
    *,
    rules: tuple[Rule, ...] = (),
    keys: tuple[str, ...] = (),
    example: object = None,
    **limits: Any,
) -> msgspec.Meta:
    """What a field means and how far it may go.

    `keys` name the fields by which the items of a list are told apart. `example` is a valid value, needed
    where the rules refuse most others.
    """
    extra = {"rules": rules, "keys": keys, "example": example}
    return msgspec.Meta(
        description=text, extra={key: value for key, value in extra.items() if value}, **limits
    )
