"""Frozen values without `dataclasses`, for code that the feeder loads.

The feeder's memory is locked, so every page that it touches stays in it permanently. Beside a bare
interpreter with `ctypes` (8.9 MB of 10), `dataclasses` costs 2.6 MB at import, `typing` 1.6, `enum` 0.7, and
this module a few kilobytes. A subclass looks like a frozen dataclass and is type-checked as one: fields by
annotation, defaults by assignment.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import dataclass_transform
else:

    def dataclass_transform(**_):
        """Replace the function of this name in `typing`; only type checkers need that."""
        return lambda decorated: decorated


_set = object.__setattr__


@dataclass_transform(frozen_default=True)
class SmallValue:
    """Immutable value; equal if type and fields are equal. Its repr is the call that creates it."""

    _fields: tuple[str, ...] = ()
    _defaults: dict[str, object] = {}  # noqa: RUF012 - never changed, and there is no ClassVar without `typing`

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *cls.__annotations__)
        cls._defaults = {name: getattr(cls, name) for name in cls._fields if hasattr(cls, name)}
        cls.__match_args__ = cls._fields  # type: ignore[attr-defined, misc] # one per subclass

    def __init__(self, *values: object, **named: object) -> None:
        fields = self._fields
        if named or len(values) != len(fields):
            rest = set(fields[len(values) :])
            if len(values) > len(fields) or not rest - self._defaults.keys() <= named.keys() <= rest:
                raise TypeError(f"{type(self).__name__}{fields} was given {values} and {named}")
            self.__dict__.update(self._defaults, **named)
        for name, value in zip(fields, values):  # noqa: B905 - the lengths were checked above
            _set(self, name, value)

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a value: its {name} does not change")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *[getattr(self, name) for name in self._fields]))

    def __repr__(self) -> str:
        reported = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({reported})"
