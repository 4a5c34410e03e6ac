"""Carries out what the agent's machine asks for, and tells it what came of that."""

from contextlib import aclosing
from dataclasses import dataclass, field
from typing import assert_never

from nodemend.agent.looks_beside import LooksBeside
from nodemend.agent.ports import Certificate, Feeder, Keeper, Listener, Peers
from nodemend.agent.self_watch import Commands, SelfWatch
from nodemend.agent.self_watch_steps import (
    AskPeers,
    AtOnce,
    Begun,
    Condemn,
    Event,
    FeedUntil,
    LookBeside,
    Looked,
    PeerSaid,
    PlaceLease,
    ReadLease,
    Remember,
    RenewLease,
    RoundOver,
    StandDown,
    StandUp,
    StopAsked,
    StopLooking,
    Wait,
    Waited,
)
from nodemend.kube.agent_lease import LeaseNews, ask_lease, place_lease, renew_lease, understand
from nodemend.kube.api_request import Request
from nodemend.kube.ports import Runtime, Transport


@dataclass(slots=True, kw_only=True)
class SelfWatchLoop:
    """`transport` sends once and ends by its deadline: a hidden retry would outlive what is counted on."""

    node: str
    watch: SelfWatch
    runtime: Runtime
    transport: Transport
    keeper: Keeper
    peers: Peers
    feeder: Feeder
    certificate: Certificate
    listener: Listener
    _looks: LooksBeside = field(init=False)

    def __post_init__(self) -> None:
        self._looks = LooksBeside(
            node=self.node, runtime=self.runtime, transport=self.transport, tell=self._look_ended
        )

    async def run(self) -> None:
        """Until this boot is condemned."""
        try:
            await self._go_on(self._begin(Begun()))
        finally:
            await self._looks.close()

    async def stand_down(self) -> None:
        """After `run` was ended: until that is acknowledged, this boot is condemned, or it is cancelled."""
        await self._go_on(self._step(StopAsked()))

    async def _go_on(self, commands: Commands) -> None:
        while commands:
            commands = await self._carry_out(commands)

    def _look_ended(self, looked: Looked) -> None:
        """At any time, also while something else is waited for."""
        for command in self._step(looked):
            match command:
                case FeedUntil() | Condemn():
                    self._do_at_once(command)
                case _:
                    raise AssertionError(f"a look beside asks for {command}")

    def _do_at_once(self, command: AtOnce) -> None:
        match command:
            case LookBeside():
                self._looks.begin(command)
            case StopLooking():
                self._looks.stop()
            case FeedUntil(until):
                self.keeper.feed_until(until)
            case Condemn(why, at_once):
                # Else the feed lease runs out by itself: nothing renews it, after a restart neither.
                if at_once:
                    self.keeper.condemn(why)
            case StandDown():
                self.keeper.stand_down()
            case StandUp():
                self.keeper.stand_up()
            case Remember(memory):
                self.keeper.remember(memory)
            case _:
                assert_never(command)

    async def _carry_out(self, commands: Commands) -> Commands:
        """In order; the last of them is what is waited for. Nothing follows a condemnation."""
        for command in commands:
            match command:
                case Wait(until):
                    await self.runtime.sleep(max(0.0, until - self.runtime.monotonic()))
                    return self._begin(Waited())
                case AskPeers():
                    return await self._ask(command)
                case ReadLease() | PlaceLease() | RenewLease():
                    return self._step(await self._request(command))
                case _:
                    self._do_at_once(command)
        return ()

    def _begin(self, event: Begun | Waited) -> Commands:
        """A renewal follows: it says how the feeder and the certificate are now."""
        told = self.feeder.told()
        self.watch.learn(told.watchdog, told.longest_lease)
        holding = self.certificate.look()
        self.watch.learn_certificate(holding, self.runtime.wall(), self.runtime.monotonic())
        return self._step(event)

    def _step(self, event: Event) -> Commands:
        now = self.runtime.monotonic()
        commands = self.watch.step(event, now, self.runtime.unslewed())
        self.listener.stepped(event, commands, self.watch.memory, now)
        return commands

    async def _request(self, command: ReadLease | PlaceLease | RenewLease) -> LeaseNews:
        request = self._worded(command)
        return understand(await self.transport.send(request, command.deadline))

    def _worded(self, command: ReadLease | PlaceLease | RenewLease) -> Request:
        match command:
            case ReadLease():
                return ask_lease(self.node)
            case PlaceLease(report):
                return place_lease(self.node, report, self.runtime.wall())
            case RenewLease(known, report):
                return renew_lease(self.node, known, report, self.runtime.wall())

    async def _ask(self, command: AskPeers) -> Commands:
        async with aclosing(self.peers.ask(command.peers, command.deadline)) as answers:
            async for peer, answer in answers:
                if commands := self._step(PeerSaid(command.round, peer, answer)):
                    return commands
        return self._step(RoundOver(command.round))
