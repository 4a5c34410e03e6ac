"""How our types look on the wire: camelCase, frozen, absent means default."""

from typing import Any, dataclass_transform

import msgspec


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


def about(text: str, *, rules: tuple[tuple[str, str], ...] = (), **limits: Any) -> msgspec.Meta:
    """What a field means, how far it may go, and CEL rules as (expression, message a person understands)."""
    extra = {"rules": rules} if rules else None
    return msgspec.Meta(description=text, extra=extra, **limits)
