"""Field ownership: `metadata.managedFields` as the real server maintains it.

An entry belongs to one manager, operation and subresource. An update removes the fields that it changed from
all other entries and adds them to its own; the time of its entry changes only if it acquired a field. An
apply owns exactly the fields that it names; it takes fields from other managers only by force.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from simulation.api_server.fields import (
    EMPTY,
    Comparison,
    FieldSet,
    compare,
    difference,
    field_set,
    intersection,
    members,
    merge,
    overlap,
    union,
    with_named_fields,
    without,
)
from simulation.api_server.schema import Schema
from simulation.api_server.statuses import Cause, apply_conflict

Entry = dict[str, Any]

UNOWNED: Final[FieldSet] = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:name": {},
        "f:namespace": {},
        "f:creationTimestamp": {},
        "f:selfLink": {},
        "f:uid": {},
        "f:clusterName": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:resourceVersion": {},
    },
}
"""Fields that belong to the server."""

MOST_UPDATERS: Final = 10
"""With more Update entries than this, the oldest are merged into one."""


class Writer(NamedTuple):
    """The manager and endpoint of a write."""

    manager: str
    api_version: str
    subresource: str
    time: str

    def entry(self, operation: str, fields: FieldSet) -> Entry:
        made = {
            "manager": self.manager or "unknown",
            "operation": operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        return {**made, "subresource": self.subresource} if self.subresource else made

    def owns(self, entry: Entry, operation: str) -> bool:
        return (
            entry["manager"] == (self.manager or "unknown")
            and entry["operation"] == operation
            and entry.get("subresource", "") == self.subresource
            and (operation == "Apply" or entry["apiVersion"] == self.api_version)
        )


def record_update(
    schema: Schema,
    reset: FieldSet,
    old: dict[str, Any],
    new: dict[str, Any],
    entries: list[Entry],
    writer: Writer,
) -> list[Entry]:
    """Return the entries after `writer` changed `old` into `new`.

    `reset` names the fields that this endpoint ignores.
    """
    found = _less(compare(schema, old, new), reset)
    taken = found.written
    mine = taken if UNOWNED.keys().isdisjoint(taken) else difference(taken, UNOWNED)
    own = next((entry for entry in entries if writer.owns(entry, "Update")), None) if mine else None
    kept = _take([entry for entry in entries if entry is not own], taken, found.removed)
    if not mine:
        return kept
    if own is None:
        return _sorted(_capped([*kept, writer.entry("Update", mine)]))
    fields = difference(own["fieldsV1"], found.removed) if found.removed else own["fieldsV1"]
    return _sorted([*kept, {**own, "time": writer.time, "fieldsV1": union(fields, mine)}])


def _less(found: Comparison, reset: FieldSet) -> Comparison:
    if not any(name in found.removed or name in found.modified or name in found.added for name in reset):
        return found
    return Comparison(
        difference(found.removed, reset, recursive=True),
        difference(found.modified, reset, recursive=True),
        difference(found.added, reset, recursive=True),
    )


def _take(entries: Sequence[Entry], taken: FieldSet, removed: FieldSet) -> list[Entry]:
    """Return the entries without these fields. Entries without remaining fields are dropped."""
    kept = []
    for entry in entries:
        fields = entry["fieldsV1"]
        if not overlap(fields, taken) and not overlap(fields, removed):
            kept.append(entry)
        elif left := difference(difference(fields, taken), removed):
            kept.append({**entry, "fieldsV1": left})
    return kept


def _sorted(entries: list[Entry]) -> list[Entry]:
    if len(entries) == 1:
        return entries
    return sorted(
        entries,
        key=lambda entry: (
            entry["operation"],
            entry.get("time", ""),
            entry["manager"],
            entry["apiVersion"],
            entry.get("subresource", ""),
        ),
    )


def _capped(entries: list[Entry]) -> list[Entry]:
    updates = _sorted([entry for entry in entries if entry["operation"] == "Update"])
    surplus = len(updates) - MOST_UPDATERS
    if surplus <= 0:
        return entries
    old, young = updates[: surplus + 1], updates[surplus + 1 :]
    fields = EMPTY
    for entry in old:
        fields = union(fields, entry["fieldsV1"])
    bucket = {key: value for key, value in old[-1].items() if key != "subresource"}
    bucket |= {"manager": "ancient-changes", "fieldsV1": fields}
    return [*(entry for entry in entries if entry["operation"] == "Apply"), bucket, *young]


def apply_fields(
    schema: Schema,
    reset: FieldSet,
    empty_and_old: tuple[dict[str, Any], dict[str, Any]],
    document: dict[str, Any],
    writer: Writer,
    *,
    force: bool,
) -> tuple[dict[str, Any], list[Entry]]:
    """Merge `document` into `old`; return the object and its entries.

    Raises Refusal 409 if others own a changed field, unless forced.
    """
    empty, old = empty_and_old
    entries: list[Entry] = old.get("metadata", {}).get("managedFields", [])
    live = without_entries(old)
    if not entries and live.get("metadata", {}).get("uid"):
        fields = _unapplied(schema, reset, empty, live)
        entries = [writer._replace(manager="before-first-apply").entry("Update", fields)] if fields else []
    last = next((entry["fieldsV1"] for entry in entries if writer.owns(entry, "Apply")), EMPTY)
    others = [entry for entry in entries if not writer.owns(entry, "Apply")]
    named = difference(field_set(schema, document), reset, recursive=True)
    merged = _pruned(schema, merge(schema, live, document), last, [named, *(e["fieldsV1"] for e in others)])
    found = _less(compare(schema, live, merged), reset)
    if not force:
        _refuse_conflicts(others, found.written)
    kept = _take(others, found.written, found.removed)
    own = writer.entry("Apply", difference(named, UNOWNED))
    if merged == live:
        # The apply changed nothing, so its time stays. An applier that never changed anything has no time.
        before = next((entry for entry in entries if writer.owns(entry, "Apply")), {})
        own = {key: value for key, value in own.items() if key != "time"}
        own |= {"time": before["time"]} if "time" in before else {}
    return merged, _sorted([*kept, own] if own["fieldsV1"] else kept)


def _unapplied(schema: Schema, reset: FieldSet, empty: dict[str, Any], live: dict[str, Any]) -> FieldSet:
    return difference(_less(compare(schema, empty, live), reset).written, UNOWNED)


def _pruned(schema: Schema, merged: dict[str, Any], last: FieldSet, owned: list[FieldSet]) -> dict[str, Any]:
    """Remove fields that this applier named last time and that no manager names now."""
    if not last:
        return merged
    last = with_named_fields(schema, last)
    pruned = without(schema, merged, last) or {}
    held = EMPTY
    for fields in owned:
        held = union(held, fields)
    everything = with_named_fields(schema, field_set(schema, merged))
    left = with_named_fields(schema, field_set(schema, pruned))
    kept = union(left, with_named_fields(schema, held))
    pruned = without(schema, merged, difference(everything, kept)) or {}
    left = with_named_fields(schema, field_set(schema, pruned))
    result: dict[str, Any] = without(schema, merged, intersection(difference(everything, left), last)) or {}
    return result


def _refuse_conflicts(others: Sequence[Entry], written: FieldSet) -> None:
    found = [(entry, members(intersection(entry["fieldsV1"], written))) for entry in others]
    found = sorted(((entry, paths) for entry, paths in found if paths), key=lambda one: one[0]["manager"])
    causes = [
        Cause("FieldManagerConflict", f"conflict with {_shown(entry)}", _dotted(path))
        for entry, paths in found
        for path in paths
    ]
    if len(causes) == 1:
        raise apply_conflict(causes, f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}")
    if causes:
        lines = [
            "\n".join([f"conflicts with {_shown(entry)}:", *(f"- {_dotted(path)}" for path in paths)])
            for entry, paths in found
        ]
        raise apply_conflict(causes, f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines))


def _shown(entry: Entry) -> str:
    below = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
    using = f" using {entry['apiVersion']}" if entry["operation"] == "Update" else ""
    return f'"{entry["manager"]}"{below}{using}'


def _dotted(path: Sequence[str]) -> str:
    return "".join(_element(name) for name in path)


def _element(name: str) -> str:
    kind, _, rest = name.partition(":")
    match kind:
        case "k":
            keys: dict[str, Any] = msgspec.json.decode(rest)
            listed = (f"{key}={msgspec.json.encode(value).decode()}" for key, value in keys.items())
            return f"[{','.join(listed)}]"
        case "v":
            return f"[={rest}]"
        case _:
            return f".{rest}"


def without_entries(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object without its managed fields."""
    metadata = document.get("metadata", {})
    if "managedFields" not in metadata:
        return dict(document)
    return {**document, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
