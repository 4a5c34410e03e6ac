"""Carries out what the machine of the agent's certificate asks for, and tells it what came of that."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol, assert_never

from nodemend.agent.certificate import (
    Ask,
    Asking,
    Command,
    Denied,
    Event,
    Failed,
    Gone,
    Granted,
    Holding,
    Keep,
    Looked,
    Made,
    Make,
    Pending,
    Post,
    Posted,
    Wait,
)
from nodemend.agent.key_maker_shell import MadeKey, NoKey
from nodemend.api.certified_names import certified_name
from nodemend.kube.agent_request import (
    InPlace,
    NotThere,
    RequestNews,
    TurnedAway,
    Unclear,
    ask_request,
    name_request,
    post_request,
    understand,
)
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Runtime, Transport

_WITHIN: Final = 5.0


class KeyMaker(Protocol):
    async def make(self, name: str) -> MadeKey | NoKey:
        """A key, and a request for this name."""
        ...


class Files(Protocol):
    def look(self) -> Holding: ...

    def keep(self, certificate: str, key: str) -> bool:
        """Put them in the place of those before, if peers would believe them. Raises OSError."""
        ...


def tell_nobody(_trouble: str) -> None:
    pass


@dataclass(slots=True, kw_only=True)
class CertificateLoop:
    """Keeps one node's certificate fresh. TLS is made from the files: see `certificate_shell`."""

    node: str
    runtime: Runtime
    transport: Transport
    files: Files
    keys: KeyMaker
    tell: Callable[[str], None] = tell_nobody
    """Told once of each trouble, and of its end by an empty text."""
    _asking: Asking = field(init=False)
    _name: str = field(init=False, default="")
    _key: str = field(init=False, default="", repr=False)
    _told: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._asking = Asking(self.runtime.random)

    async def run(self) -> None:
        """Until cancelled."""
        event: Event = Looked(self.files.look())
        while True:
            command = self._asking.step(event, self.runtime.monotonic())
            if self._asking.trouble != self._told:
                self._told = self._asking.trouble
                self.tell(self._told)
            event = await self._carry_out(command)

    async def _carry_out(self, command: Command) -> Event:
        match command:
            case Wait(seconds):
                await self.runtime.sleep(seconds)
                return Looked(self.files.look())
            case Make():
                return await self._make()
            case Post(request):
                return _posted(await self._send(post_request(self._name, request)))
            case Ask(after):
                await self.runtime.sleep(after)
                return _heard(await self._send(ask_request(self._name)))
            case Keep(certificate):
                return self._keep(certificate)
            case _:
                assert_never(command)

    async def _make(self) -> Event:
        made = await self.keys.make(certified_name(self.node))
        if isinstance(made, NoKey):
            return Failed(f"no key could be made: {made.why}")
        self._key = made.key
        self._name = name_request(self.node, f"{int(self.runtime.random() * 2**48):012x}")
        return Made(made.request)

    async def _send(self, request: Request) -> RequestNews:
        return understand(await self.transport.send(request, self.runtime.monotonic() + _WITHIN))

    def _keep(self, certificate: str) -> Event:
        try:
            kept = self.files.keep(certificate, self._key)
        except OSError as error:
            return Failed(f"the certificate could not be kept: {error}")
        # The bundle may be on its way: the next is not asked for at once.
        return Looked(self.files.look()) if kept else Failed("what came is not to be believed")


def _posted(news: RequestNews) -> Event:
    match news:
        case InPlace():
            return Posted()
        case TurnedAway(why):
            return Denied(why)
        case NotThere():
            return Failed("the API server knows no such requests")
        case Unclear(why):
            return Failed(why)


def _heard(news: RequestNews) -> Event:
    match news:
        case InPlace(denied=why) if why:
            return Denied(why)
        case InPlace(garbled=why) if why:
            return Denied(f"the certificate cannot be read: {why}")
        case InPlace(certificate=certificate) if certificate:
            return Granted(certificate)
        case InPlace():
            return Pending()
        case NotThere():
            return Gone()
        case TurnedAway(why) | Unclear(why):
            # Asked for again by and by: it may be granted all the same.
            return Pending()
