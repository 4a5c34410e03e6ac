"""The rows: behaviors that users of related projects rely on, in Nodemend's terms."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import yaml

TABLES: Final = Path(__file__).with_name("tables")


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One behavior. With a `decision` it is not adopted, or not unchanged, `because` of one sentence."""

    behaviour: str
    decision: int = 0
    because: str = ""
    note: str = ""
    """A note if Nodemend follows the row in substance but not literally."""

    def __post_init__(self) -> None:
        if bool(self.decision) != bool(self.because):
            raise ValueError("a row with a decision needs a reason, and only such a row has one")


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    rows: dict[str, Row | str]
    """A row that is only a text is its behaviour."""

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        return ((id_, Row(row) if isinstance(row, str) else row) for id_, row in self.rows.items())


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    about: str
    sections: list[Section]


def read_tables(folder: Path = TABLES) -> list[Table]:
    """Every table, by file name. Raises ValueError for an invalid table, or a duplicate id."""
    tables = [msgspec.convert(read_yaml(file), Table) for file in sorted(folder.glob("*.yaml"))]
    ids = [id_ for table in tables for section in table.sections for id_, _ in section]
    if twice := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        raise ValueError(f"duplicate rows: {', '.join(twice)}")
    return tables


def read_yaml(file: Path) -> object:
    """Raises ValueError for a duplicate key."""
    found: object = yaml.load(file.read_text(), _Loader)  # noqa: S506 - a SafeLoader, stricter
    return found


def rows_of(tables: list[Table]) -> dict[str, Row]:
    return {id_: row for table in tables for section in table.sections for id_, row in section}


class _Loader(yaml.SafeLoader):
    """Refuses duplicate keys, of which YAML itself keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [self.construct_object(key) for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise ValueError(f"duplicate keys: {twice}")
        return super().construct_mapping(node, deep)
