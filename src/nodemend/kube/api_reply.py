"""What can become of a request, before anybody reads the body."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """The server answered, whole and in time."""

    status: int
    body: bytes
    retry_after: float | None = None
    # The server's own clock when it answered, whole seconds (the Date header). None when it named none.
    server_time: float | None = None


@dataclass(frozen=True, slots=True)
class Unsent:
    """The request certainly never reached the server: nothing was applied."""

    why: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The request may have reached the server; whether it was applied is unknown."""

    why: str


Reply = Answer | Unsent | Unanswered
