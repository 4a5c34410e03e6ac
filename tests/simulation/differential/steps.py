"""Steps of a sequence: requests that may refer to earlier answers, so that both sides can run them.

In a query or a body, `@rv:3`, `@uid:3` and `@token:3` stand for the resourceVersion, UID or continue token in
the answer to step 3 on the side that runs it. `{"@object": 3, "with": {...}}` is the whole object of that
answer, with a merge patch applied.
"""

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from nodemend.kube.request import Content, Method
from simulation.api_server.patches import merge_patch

REFERENCE: Final = re.compile(r"@(rv|uid|token):(\d+)")
NOWHERE: Final = {"rv": "7", "uid": "00000000-dead-4000-8000-000000000000", "token": "bm90LWEtdG9rZW4"}
"""Values of references to an answer without such a field."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request. `label` is the kind of operation under which it is counted."""

    label: str
    method: str = "GET"
    path: str = ""
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    content: str = Content.JSON.value
    user: str = "admin"
    # For a watch: collection and object of an event that arrives after all others.
    sentinel: dict[str, Any] | None = None

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"

    @property
    def verb(self) -> Method:
        return Method(self.method)

    def as_json(self) -> dict[str, Any]:
        defaults = asdict(Step(self.label))
        return {key: value for key, value in asdict(self).items() if key == "label" or value != defaults[key]}


def as_dry_run(step: Step) -> Step:
    """Return the step as a dry run. A deletion with a body has its options only in the body."""
    if step.method == "DELETE" and step.body:
        return replace(step, body={**step.body, "dryRun": ["All"]})
    return replace(step, query={**step.query, "dryRun": "All"})


@dataclass(slots=True)
class Outcome:
    """Answer of one side: the code and the parsed body."""

    status: int
    body: Any
    retry_after: float | None = None
    # Wall-clock time at the start of the step.
    begun: float = 0.0
    # For a list after the cleanup: the collection that should be empty.
    cleared: str = ""


def resolve(value: Any, outcomes: list[Outcome]) -> Any:
    """Return `value` with every reference replaced by the value in this side's answers."""
    if isinstance(value, str):
        return REFERENCE.sub(lambda found: _looked_up(found[1], int(found[2]), outcomes), value)
    if isinstance(value, list):
        return [resolve(part, outcomes) for part in value]
    if isinstance(value, dict):
        if "@object" in value:
            body = _body(value["@object"], outcomes)
            return merge_patch(body, resolve(value.get("with", {}), outcomes))
        return {key: resolve(part, outcomes) for key, part in value.items()}
    return value


def _looked_up(what: str, index: int, outcomes: list[Outcome]) -> str:
    metadata = _body(index, outcomes).get("metadata", {})
    key = {"rv": "resourceVersion", "uid": "uid", "token": "continue"}[what]
    return str(metadata.get(key) or NOWHERE[what])


def _body(index: int, outcomes: list[Outcome]) -> dict[str, Any]:
    body = outcomes[index].body if index < len(outcomes) else None
    return body if isinstance(body, dict) else {}
