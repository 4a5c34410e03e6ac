"""The answer of a real API server to an attempt, and the wait until a policy is in force."""

from collections.abc import Callable
from functools import partial

from controlplane.api import MERGE, Api, ApiError
from controlplane.waiting import wait_until


def refusal(attempt: Callable[[], object]) -> str:
    """The server's refusal; empty if it agrees."""
    try:
        attempt()
    except ApiError as error:
        return str(error)
    return ""


def await_refusal(says: str, api: Api, path: str, change: object) -> None:
    """Return once the server refuses this change with `says` in the message: policies take effect after a
    moment.

    It tries as a dry run: a change that got through once would be no change the next time, and never refused.
    """
    query = {"dryRun": "All"}
    attempt = partial(api.request, "PATCH", path, change, content_type=MERGE, query=query)
    wait_until(f"a refusal says {says!r}", lambda: says in refusal(attempt), within=60.0)


def await_refused_by(policy: str, api: Api, path: str, body: object) -> None:
    """Return once the server refuses to create this, in a dry run, by that policy."""
    attempt = partial(api.request, "POST", path, body, query={"dryRun": "All"})
    words = f"ValidatingAdmissionPolicy '{policy}'"
    wait_until(f"{policy} is active", lambda: words in refusal(attempt), within=60.0)
