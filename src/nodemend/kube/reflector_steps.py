"""What a reflector asks for, what it is told, and where it stands in between. Values only."""

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from nodemend.kube.api_reply import Reply
from nodemend.kube.api_request import Request
from nodemend.kube.backoff import Backoff
from nodemend.kube.gathering import Gathering
from nodemend.kube.line_splitter import LineSplitter
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.projection import Wire

W = TypeVar("W", bound=Wire)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorTimings:
    """How patient a reflector is, in seconds."""

    page_within: float = 60.0
    open_within: float = 30.0
    # The server sends a bookmark each minute: a stream without a whole line for longer is not alive.
    stall_limit: float = 75.0
    # A stream that lived this long was no failure, and the back-off starts anew.
    good_period: float = 30.0
    shortest_watch: float = 300.0
    longest_watch: float = 600.0
    longest_quiet: float = 120.0
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        if self.good_period < self.backoff.most:
            raise ValueError(
                f"good_period {self.good_period} s is below the longest back-off {self.backoff.most} s: "
                "streams that always fail in between would be reopened at once, for ever"
            )


# What it asks for. One at a time: the next comes only after the outcome of the last.


@dataclass(frozen=True, slots=True)
class SendPage:
    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class OpenStream:
    request: Request
    deadline: float


@dataclass(frozen=True, slots=True)
class ReadStream:
    within: float


@dataclass(frozen=True, slots=True)
class CloseStream:
    pass


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


Command: TypeAlias = SendPage | OpenStream | ReadStream | CloseStream | Sleep


# What it is told: a Reply to a page, or to a stream that did not open; the rest here and in ports.


@dataclass(frozen=True, slots=True)
class Opened:
    pass


@dataclass(frozen=True, slots=True)
class Closed:
    pass


@dataclass(frozen=True, slots=True)
class Slept:
    pass


Event: TypeAlias = Reply | Opened | bytes | StreamSilent | StreamEnded | Closed | Slept


# Where it stands.


@dataclass(frozen=True, slots=True)
class Relist:
    """Next: a complete list."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Next: the changes after this version."""

    version: str


@dataclass(frozen=True, slots=True)
class Paging(Generic[W, R]):
    """Next, or out: the page of this token. `began_at` is when the first page was asked for.

    `unread` is the page before, which is read while the server works on this one.
    """

    began_at: float
    gathering: Gathering[W, R]
    token: str = ""
    unread: bytes = b""


@dataclass(frozen=True, slots=True)
class Opening:
    """A stream is asked for."""

    goal: Relist | Resume
    asked_at: float


@dataclass(slots=True)
class Filling(Generic[W, R]):
    """A streaming list is coming in."""

    asked_at: float
    gathering: Gathering[W, R]
    last_line_at: float
    splitter: LineSplitter = field(default_factory=LineSplitter)


@dataclass(slots=True)
class Following:
    """Changes are coming in. `heard` once there was a line at all."""

    version: str
    opened_at: float
    last_line_at: float
    splitter: LineSplitter = field(default_factory=LineSplitter)
    heard: bool = False


@dataclass(frozen=True, slots=True)
class Closing(Generic[W, R]):
    """The stream is being closed; then wait, then go on."""

    seconds: float
    goal: Relist | Resume | Paging[W, R]


@dataclass(frozen=True, slots=True)
class Waiting(Generic[W, R]):
    goal: Relist | Resume | Paging[W, R]


Goal: TypeAlias = Relist | Resume | Paging[W, R]
State: TypeAlias = Paging[W, R] | Opening | Filling[W, R] | Following | Closing[W, R] | Waiting[W, R]
