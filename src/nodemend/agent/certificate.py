"""When an agent asks for its certificate: a machine without I/O.

It asks when it has none that peers would believe, and early in the life of one that they do: the rest is for
an API server or a signer that is away. One request is under way at a time, each with a key of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.decide.certificate_life import RENEWED_AFTER
from nodemend.kube.backoff import Backoff

LOOK_EVERY: Final = 30.0
"""Seconds between looks at the files: at the bundle, above all, which others bring."""
LOOK_FOR_BUNDLE_EVERY: Final = 5.0
AFTER_FAILURE: Final = Backoff(first=2.0, most=300.0)
AFTER_DENIAL: Final = Backoff(first=300.0, most=3600.0)
"""Whoever denied it would do so again, until somebody changes something."""
WHILE_PENDING: Final = Backoff(first=0.5, most=10.0)
GIVE_UP_AFTER: Final = 600.0
"""A request that nobody answers may be gone, or its signer may have begun anew."""
SPREAD: Final = 0.1
"""Of a life, before the latest time: so that nodes which started together do not ask together."""


@dataclass(frozen=True, slots=True)
class Held:
    """A certificate that peers believe, as far as this node can tell: its whole life, and what is left."""

    life: float
    left: float


# What came of it.


@dataclass(frozen=True, slots=True)
class NotHeld:
    """There is no certificate, or none that anybody would believe."""


@dataclass(frozen=True, slots=True)
class NoBundle:
    """Nobody has brought the authorities yet: whatever was signed now could not be believed."""


Holding = Held | NotHeld | NoBundle


@dataclass(frozen=True, slots=True)
class Looked:
    """At the files, after a wait or at the beginning."""

    holding: Holding


@dataclass(frozen=True, slots=True)
class Made:
    """A key, and a request for it."""

    request: str


@dataclass(frozen=True, slots=True)
class Posted:
    """The API server has the request."""


@dataclass(frozen=True, slots=True)
class Pending:
    pass


@dataclass(frozen=True, slots=True)
class Granted:
    certificate: str


@dataclass(frozen=True, slots=True)
class Denied:
    why: str


@dataclass(frozen=True, slots=True)
class Gone:
    """Nobody knows the request any more."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What was to be done could not be done now."""

    why: str


Event = Looked | Made | Posted | Pending | Granted | Denied | Gone | Failed


# What is to be done: one thing, after which the machine is told what came of it.


@dataclass(frozen=True, slots=True)
class Wait:
    """Then look at the files."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Make:
    pass


@dataclass(frozen=True, slots=True)
class Post:
    request: str


@dataclass(frozen=True, slots=True)
class Ask:
    """What has become of the request, after a while."""

    after: float


@dataclass(frozen=True, slots=True)
class Keep:
    """If it can be believed, put it in the place of the one before, with its key; then look at the files."""

    certificate: str


Command = Wait | Make | Post | Ask | Keep


class Asking:
    """`chance` is in [0, 1), drawn where something is spread."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._renew_at = RENEWED_AFTER - SPREAD * chance()
        """The share of a life after which the next is asked for."""
        self._request: str | None = None
        self._asked_since = 0.0
        self._looks = 0
        self._failures = 0
        self._denials = 0
        self.trouble = ""
        """What went wrong last; empty once a certificate came. For people."""

    def step(self, event: Event, now: float) -> Command:
        match event:
            case Looked(holding):
                return self._look(holding)
            case Made(request):
                self._request = request
                return Post(request)
            case Posted():
                self._asked_since, self._looks = now, 0
                return self._ask_again()
            case Pending():
                return self._pending(now)
            case Granted(certificate):
                self._request, self._denials = None, 0
                self._renew_at = RENEWED_AFTER - SPREAD * self._chance()
                return Keep(certificate)
            case Denied(why):
                self._request, self.trouble = None, why
                self._denials += 1
                return Wait(AFTER_DENIAL.delay(self._denials, self._chance()))
            case Gone():
                return self._fail("the request is gone", forget=True)
            case Failed(why):
                return self._fail(why, forget=False)
            case _:
                assert_never(event)

    def _look(self, holding: Holding) -> Command:
        match holding:
            case NoBundle():
                self.trouble = "no authority is known yet"
                return Wait(LOOK_FOR_BUNDLE_EVERY)
            case Held(life, left) if left > life * (1.0 - self._renew_at):
                self._failures, self.trouble = 0, ""
                return Wait(min(LOOK_EVERY, left))
            case Held() | NotHeld():
                # One whose fate is unknown is asked for again, and not a second one beside it.
                return Make() if self._request is None else Post(self._request)

    def _pending(self, now: float) -> Command:
        if now - self._asked_since >= GIVE_UP_AFTER:
            return self._fail("nobody has answered the request", forget=True)
        return self._ask_again()

    def _ask_again(self) -> Command:
        self._looks += 1
        return Ask(WHILE_PENDING.delay(self._looks, self._chance()))

    def _fail(self, why: str, *, forget: bool) -> Command:
        self.trouble = why
        self._failures += 1
        if forget:
            self._request = None
        return Wait(AFTER_FAILURE.delay(self._failures, self._chance()))
