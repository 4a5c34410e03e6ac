"""GET: one object, a list in pages, or a watch."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from bisect import bisect_left
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from nodemend.kube.outcome import ApiResponse
from simulation.api_server.calls import Call
from simulation.api_server.selectors import FieldTerm, Filter, Requirement, parse_fields, parse_labels
from simulation.api_server.statuses import (
    Cause,
    Refusal,
    bad_request,
    expired,
    forbidden_value,
    invalid,
    not_found,
    not_supported,
    too_large_version,
)
from simulation.api_server.storage import Object, Stored
from simulation.api_server.watching import SimulatedWatch, WatchCache

TOO_OLD: Final = "The resourceVersion for the provided list is too old."
PAGE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
MATCHES: Final = ("Exact", "NotOlderThan")


def get(call: Call, cache: WatchCache) -> ApiResponse:
    """Read one object from storage, or from the watch cache if the request has a resourceVersion."""
    version = call.query.get("resourceVersion", "")
    if not version:
        stored = call.table.rows.get(call.route.key)
    else:
        _require_reached(parse_version(version), cache.revision)
        stored = call.table.row_at(call.route.key, cache.revision)
    if stored is None:
        raise not_found(call.kind.resource, call.route.name)
    return call.backend.answer(200, stored.body)


def parse_version(text: str, *, of_list: bool = False) -> int:
    """Parse a resourceVersion. Raises Refusal if it is not a number: 400 for a list, otherwise 500."""
    if not text or (text.isascii() and text.isdigit()):
        return int(text or "0")
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
    raise bad_request(f"invalid resource version: {why}") if of_list else Refusal(500, "", why)


def _require_reached(asked: int, present: int) -> None:
    if asked > present:
        raise too_large_version(asked, present)


def parse_selectors(call: Call) -> tuple[tuple[Requirement, ...], tuple[FieldTerm, ...]]:
    return parse_labels(call.query.get("labelSelector", "")), parse_fields(
        call.query.get("fieldSelector", "")
    )


def filter_of(call: Call) -> Filter:
    """Return the filter of a list, watch or collection. Raises Refusal 400."""
    labels, terms = parse_selectors(call)
    for term in terms:
        if term.field not in call.kind.selectable:
            raise bad_request(f"field label not supported: {term.field}")
    return Filter(call.route.namespace, labels, terms, call.kind.selectable)


@dataclass(frozen=True, slots=True)
class ListOptions:
    limit: int
    token: str
    version: str
    match: str


def list_options(call: Call) -> ListOptions:
    """Parse the options. Raises Refusal 400 if one is malformed, 422 if they contradict each other."""
    query = call.query
    parse_selectors(call)
    limit = query.get("limit", "0")
    if not limit.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{limit}": invalid syntax')
    options = ListOptions(
        int(limit),
        query.get("continue", ""),
        query.get("resourceVersion", ""),
        query.get("resourceVersionMatch", ""),
    )
    causes = list(_contradictions(options))
    if "sendInitialEvents" in query:
        causes.append(forbidden_value("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)
    return options


def _contradictions(options: ListOptions) -> list[Cause]:
    field, causes = "resourceVersionMatch", []
    if not options.match:
        return []
    if not options.version:
        causes.append(forbidden_value(field, f"{field} is forbidden unless resourceVersion is provided"))
    if options.token:
        causes.append(forbidden_value(field, f"{field} is forbidden when continue is provided"))
    if options.match not in MATCHES:
        causes.append(not_supported(field, options.match, (*MATCHES, "")))
    if options.match == "Exact" and options.version == "0":
        causes.append(forbidden_value(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    return causes


@dataclass(frozen=True, slots=True)
class _ListPosition:
    """The revision that a list reads, and the key at which it begins."""

    revision: int
    start: str = ""


def list_objects(call: Call, cache: WatchCache) -> ApiResponse:
    options, chosen = list_options(call), filter_of(call)
    limit = 0 if options.version == "0" and not options.match else options.limit
    place = _place(call, cache, options, chosen)
    rows = call.table.rows_at(place.revision)
    keys, span = _span(call, rows, chosen, place.start)
    page, more_from = _page(keys, rows, span, chosen, limit)
    metadata: dict[str, Any] = {"resourceVersion": str(place.revision)}
    if more_from:
        prefix = f"{chosen.namespace}/" if chosen.namespace else ""
        metadata["continue"] = encode_token(place.revision, more_from.removeprefix(prefix))
        if chosen.empty:
            metadata["remainingItemCount"] = span[1] - span[0] - limit
    return call.backend.answer(200, list_body(call, metadata, page))


def _span(
    call: Call, rows: dict[str, Stored], chosen: Filter, start: str
) -> tuple[list[str], tuple[int, int]]:
    """Return the sorted keys, and the range of them that this list covers."""
    single = single_key(call, chosen)
    if single is not None:
        return [single], (0, 1 if single in rows else 0)
    keys = call.table.sorted_keys(rows)
    prefix = f"{chosen.namespace}/" if chosen.namespace else ""
    end = bisect_left(keys, prefix[:-1] + "0") if prefix else len(keys)
    return keys, (bisect_left(keys, start or prefix), end)


def single_key(call: Call, chosen: Filter) -> str | None:
    """Return the key of the only object that can match, or None.

    A list with a selector by name is read like a get, without pages.
    """
    name = chosen.exact("metadata.name")
    if name is None or (call.kind.resource.namespaced and not chosen.namespace):
        return None
    return f"{chosen.namespace}/{name}" if chosen.namespace else name


def _page(
    keys: list[str], rows: dict[str, Stored], span: tuple[int, int], chosen: Filter, limit: int
) -> tuple[list[Stored], str]:
    """Return the items, and the start key of the next page if there may be more, otherwise ""."""
    found: list[Stored] = []
    for index in range(*span):
        row = rows[keys[index]]
        if chosen.empty or chosen.matches(row.object):
            found.append(row)
            if len(found) == limit and index + 1 < span[1]:
                return found, keys[index] + "\x00"
    return found, ""


def _place(call: Call, cache: WatchCache, options: ListOptions, chosen: Filter) -> _ListPosition:
    storage = call.backend.storage
    if options.token and single_key(call, chosen) is None:
        return _continued(call, options)
    version = parse_version(options.version, of_list=True)
    exact = options.match == "Exact" or (not options.match and options.limit > 0 and version > 0)
    if exact:
        _require_reached(version, storage.revision)
        if version < storage.compacted:
            raise expired(TOO_OLD)
        return _ListPosition(version)
    if not options.version:
        return _ListPosition(storage.revision)
    _require_reached(version, cache.revision)
    return _ListPosition(cache.revision)


def _continued(call: Call, options: ListOptions) -> _ListPosition:
    revision, start = decode_token(options.token)
    if options.version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    storage = call.backend.storage
    prefix = f"{call.route.namespace}/" if call.route.namespace else ""
    if revision < 0:
        return _ListPosition(storage.revision, prefix + start)
    if revision < storage.compacted:
        raise expired(PAGE_TOO_OLD, encode_token(-1, start))
    return _ListPosition(revision, prefix + start)


def encode_token(revision: int, start: str) -> str:
    token = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return urlsafe_b64encode(token).rstrip(b"=").decode()


def decode_token(token: str) -> tuple[int, str]:
    """Return revision and start key of a continue token. Raises Refusal 400."""
    try:
        found = msgspec.json.decode(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(found["rv"]), str(found["start"])
    except (Base64Error, msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error


def list_body(call: Call, metadata: Object, rows: list[Stored]) -> bytes:
    resource = call.kind.resource
    head = b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[%s]}'
    kind, version = f"{resource.kind}List".encode(), resource.api_version.encode()
    if call.kind.is_custom:
        metadata = {"continue": "", **metadata}
        items = b",".join(row.body for row in rows)
    else:
        items = b",".join(row.bare for row in rows)
    return head % (kind, version, msgspec.json.encode(metadata), items)


DEFAULT_DURATION: Final = timedelta(minutes=45)
"""The real server draws between 30 and 60 minutes."""

NOT_OLDER_THAN: Final = "NotOlderThan"


def open_watch(call: Call, cache: WatchCache) -> SimulatedWatch:
    """Open a watch. Raises Refusal 400 or 422; a version that is too old gives an ERROR event instead."""
    query = call.query
    initial = query.get("sendInitialEvents")
    match = query.get("resourceVersionMatch", "")
    parse_selectors(call)
    if initial is not None and not call.backend.streaming_lists:
        why = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        raise invalid("ListOptions", "meta.k8s.io", "", [forbidden_value("sendInitialEvents", why)])
    causes = _watch_contradictions(initial, match, query.get("continue", ""))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)
    version = query.get("resourceVersion", "")
    revision = parse_version(version)
    watch = _watch(call, cache)
    if initial == "true":
        needed = revision if version else call.backend.storage.revision
        cache.begin_with_state(watch, at_least=needed, ends_with_bookmark=watch.bookmarks)
    elif revision == 0 and initial is None:
        cache.begin_with_state(watch, at_least=0, ends_with_bookmark=False)
    else:
        cache.begin_after(watch, revision or cache.revision)
    return watch


def _watch(call: Call, cache: WatchCache) -> SimulatedWatch:
    seconds = call.query.get("timeoutSeconds", "0")
    if not seconds.isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{seconds}": invalid syntax')
    now = call.backend.now()
    duration = timedelta(seconds=int(seconds)) or DEFAULT_DURATION
    watch = SimulatedWatch(cache, filter_of(call), now, now + duration)
    watch.bookmarks = call.query.get("allowWatchBookmarks") in {"true", "1"}
    return watch


def _watch_contradictions(initial: str | None, match: str, token: str) -> list[Cause]:
    field, causes = "resourceVersionMatch", []
    if initial is not None and match != NOT_OLDER_THAN:
        causes.append(
            forbidden_value(field, f"sendInitialEvents requires setting {field} to {NOT_OLDER_THAN}")
        )
    if match and initial is None:
        causes.append(
            forbidden_value(field, f"{field} is forbidden for watch unless sendInitialEvents is provided")
        )
    if match and match != NOT_OLDER_THAN:
        causes.append(not_supported(field, match, (NOT_OLDER_THAN,)))
    if match and token:
        causes.append(forbidden_value(field, f"{field} is forbidden when continue is provided"))
    return causes
