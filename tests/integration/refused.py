"""What a real API server says to an attempt, and when it begins to say so."""

from collections.abc import Callable
from functools import partial

from controlplane.api import MERGE, Api, ApiError
from controlplane.waiting import wait_until


def refusal(attempt: Callable[[], object]) -> str:
    """What the server says; empty when it agrees."""
    try:
        attempt()
    except ApiError as error:
        return str(error)
    return ""


def await_refusal(says: str, api: Api, path: str, change: object) -> None:
    """Return once the server answers this change with a refusal that `says` so: policies take a moment.

    It is tried without effect: a change that once got through would be none the next time, and never refused.
    """
    query = {"dryRun": "All"}
    attempt = partial(api.request, "PATCH", path, change, content_type=MERGE, query=query)
    wait_until(f"a refusal says {says!r}", lambda: says in refusal(attempt), within=60.0)


def await_refused_by(policy: str, api: Api, path: str, body: object) -> None:
    """Return once the server refuses to create this, without effect, by that policy."""
    attempt = partial(api.request, "POST", path, body, query={"dryRun": "All"})
    words = f"ValidatingAdmissionPolicy '{policy}'"
    wait_until(f"{policy} is active", lambda: words in refusal(attempt), within=60.0)
