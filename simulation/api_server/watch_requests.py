"""Watch requests: their options, and combinations of options that are refused."""

from datetime import timedelta
from typing import Final

from simulation.api_server.calls import Call
from simulation.api_server.field_causes import forbidden_value, not_supported
from simulation.api_server.reading import filter_of, parse_selectors, parse_version
from simulation.api_server.statuses import Cause, bad_request, invalid
from simulation.api_server.watching import SimulatedWatch, WatchCache

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
    causes = _contradictions(initial, match, query.get("continue", ""))
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


def _contradictions(initial: str | None, match: str, token: str) -> list[Cause]:
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
