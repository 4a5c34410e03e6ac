"""A pause: who stopped things, and why. Stands on the policy for the whole cluster, or on one check."""

from typing import Annotated

from nodemend.api.wire import Wire, about


class Pause(Wire):
    """Stops new actions at once. What is under way reaches its next safe point and waits there."""

    reason: Annotated[str, about("Why, for whoever finds it.", min_length=1, max_length=1024)]
    by: Annotated[str, about("Who paused.", max_length=316)] = ""
    until: (
        Annotated[
            str,
            about(
                "When it ends by itself; absent for a pause that somebody must end.",
                max_length=64,
                extra_json_schema={"format": "date-time"},
                example="2026-01-31T12:00:00Z",
            ),
        ]
        | None
    ) = None
