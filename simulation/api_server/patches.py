"""Merge patches and JSON patches. Both share every part that they do not change."""

from typing import Any

from simulation.api_server.statuses import bad_request, unprocessable


def merge_patch(old: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386). Returns `old` itself if the patch changes nothing."""
    if not isinstance(patch, dict):
        return patch
    before: dict[str, Any] = old if isinstance(old, dict) else {}
    made = before
    for name, part in patch.items():
        present = name in before
        if part is None:
            if present:
                made = dict(before) if made is before else made
                del made[name]
            continue
        known = before.get(name)
        merged = merge_patch(known, part) if isinstance(part, dict) else part
        if present and (merged is known or (type(merged) is type(known) and merged == known)):
            continue
        made = dict(before) if made is before else made
        made[name] = merged
    return {} if made is before and not isinstance(old, dict) else made


def json_patch(old: dict[str, Any], patch: Any) -> Any:
    """Apply a JSON patch (RFC 6902) as the real server's library does: replacing a missing key adds it.

    The patch is applied as a whole or not at all. Raises Refusal if a step does not fit.
    """
    if not isinstance(patch, list) or not all(isinstance(step, dict) for step in patch):
        raise bad_request("error decoding patch: json: cannot unmarshal into a list of operations")
    document: Any = old
    for step in patch:
        document = _apply(document, step)
    return document


def _apply(document: Any, step: dict[str, Any]) -> Any:
    path = _tokens(step.get("path", ""))
    match step.get("op"):
        case "add":
            return _edit(document, path, step.get("value"), "add")
        case "replace":
            return _edit(document, path, step.get("value"), "replace")
        case "remove":
            return _edit(document, path, None, "remove")
        case "test":
            if _find(document, path) != step.get("value"):
                raise unprocessable()
            return document
        case "copy":
            return _edit(document, path, _find(document, _tokens(step.get("from", ""))), "add")
        case "move":
            source = _tokens(step.get("from", ""))
            value = _find(document, source)
            return _edit(_edit(document, source, None, "remove"), path, value, "add")
        case _:
            raise unprocessable()


def _tokens(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise unprocessable()
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _find(document: Any, path: list[str]) -> Any:
    """Return the value at a path. A missing last key counts as null, as in the real server's library."""
    for depth, token in enumerate(path):
        if isinstance(document, dict) and token in document:
            document = document[token]
        elif isinstance(document, list) and token.isdigit() and int(token) < len(document):
            document = document[int(token)]
        elif isinstance(document, dict) and depth == len(path) - 1:
            return None
        else:
            raise unprocessable()
    return document


def _edit(document: Any, path: list[str], value: Any, how: str) -> Any:
    if not path:
        return value
    token, rest = path[0], path[1:]
    if isinstance(document, dict):
        return _edit_map(document, token, rest, value, how)
    if isinstance(document, list):
        return _edit_list(document, token, rest, value, how)
    raise unprocessable()


def _edit_map(document: dict[str, Any], token: str, rest: list[str], value: Any, how: str) -> Any:
    if token not in document and (rest or how == "remove"):
        raise unprocessable()
    made = dict(document)
    if rest:
        made[token] = _edit(document[token], rest, value, how)
    elif how == "remove":
        del made[token]
    else:
        made[token] = value
    return made


def _edit_list(document: list[Any], token: str, rest: list[str], value: Any, how: str) -> Any:
    made = list(document)
    if token == "-" and how == "add" and not rest:  # noqa: S105 - the pointer's own word for the end of a list
        return [*made, value]
    limit = len(made) + (1 if how == "add" and not rest else 0)
    if not token.isdigit() or int(token) >= limit:
        raise unprocessable()
    index = int(token)
    if rest:
        made[index] = _edit(made[index], rest, value, how)
    elif how == "remove":
        del made[index]
    elif how == "add":
        made.insert(index, value)
    else:
        made[index] = value
    return made
