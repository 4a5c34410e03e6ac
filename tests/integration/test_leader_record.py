"""The API semantics that leader election relies on, checked on a real API server."""

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.run import ControlPlane
from nodemend.api.resources import LEASE
from nodemend.kube.asyncio_runtime import run
from nodemend.kube.leader_election import (
    Holder,
    Record,
    claim_record,
    place_record,
    release_record,
    renew_record,
    understand,
)
from nodemend.kube.outcome import LeaseFound, LeaseMissing, LeaseOutdated, LeaseResult
from nodemend.kube.request import LeaseAddress, Precondition, Request, delete, get_lease
from tests.integration.connected_client import Connected, connected

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

ADDRESS = LeaseAddress("checker", "default")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def ask(here: Connected, request: Request) -> LeaseResult[Record]:
    return understand(await here.transport.send(request, here.soon()))


async def found(here: Connected, request: Request) -> Record:
    news = await ask(here, request)
    assert isinstance(news, LeaseFound), news
    return news.lease


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


async def remove(here: Connected, record: Record) -> None:
    await here.transport.send(
        delete(LEASE, ADDRESS.name, ADDRESS.namespace, only_if=Precondition(record.uid, record.version)),
        here.soon(),
    )


def test_a_term_from_its_place_to_its_release(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            assert await ask(here, get_lease(ADDRESS)) == LeaseMissing()
            placed = await found(here, place_record(ADDRESS, 15, NOON))
            assert (placed.holder, placed.seconds) == ("", 15)
            assert await ask(here, place_record(ADDRESS, 15, NOON)) == LeaseOutdated()
            claimed = await found(here, claim_record(ADDRESS, placed, Holder("a", 15, 7), later(1)))
            assert (claimed.holder, claimed.transitions, claimed.uid) == ("a", 1, placed.uid)
            renewed = await found(here, renew_record(ADDRESS, claimed, Holder("a", 15, 7), later(2)))
            assert renewed == await found(here, get_lease(ADDRESS))
            assert placed.revision < claimed.revision < renewed.revision
            released = await found(here, release_record(ADDRESS, renewed, later(3)))
            assert (released.holder, released.seconds, released.transitions) == ("", 1, 1)

    run(main())


def test_a_write_on_an_older_version_is_refused(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            placed = await found(here, place_record(ADDRESS, 15, NOON))
            await found(here, claim_record(ADDRESS, placed, Holder("a", 15, 7), later(1)))
            for stale in (
                claim_record(ADDRESS, placed, Holder("b", 15, 7), later(2)),
                renew_record(ADDRESS, placed, Holder("b", 15, 7), later(2)),
                release_record(ADDRESS, placed, later(2)),
            ):
                assert await ask(here, stale) == LeaseOutdated()

    run(main())


def test_a_write_to_a_deleted_lease_does_not_bring_it_back(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            placed = await found(here, place_record(ADDRESS, 15, NOON))
            claimed = await found(here, claim_record(ADDRESS, placed, Holder("a", 15, 7), later(1)))
            await remove(here, claimed)
            assert (
                await ask(here, renew_record(ADDRESS, claimed, Holder("a", 15, 7), later(2)))
                == LeaseMissing()
            )
            assert await ask(here, get_lease(ADDRESS)) == LeaseMissing()

    run(main())


def test_a_lease_made_again_has_another_uid_and_a_higher_revision(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            first = await found(here, place_record(ADDRESS, 15, NOON))
            claimed = await found(here, claim_record(ADDRESS, first, Holder("a", 15, 7), later(1)))
            await remove(here, claimed)
            second = await found(here, place_record(ADDRESS, 15, later(2)))
            assert second.uid != claimed.uid
            assert (
                await ask(here, renew_record(ADDRESS, claimed, Holder("a", 15, 7), later(3)))
                == LeaseOutdated()
            )
            again = await found(here, claim_record(ADDRESS, second, Holder("a", 15, 7), later(4)))
            assert again.revision > claimed.revision
            assert again.transitions == claimed.transitions == 1

    run(main())


def test_a_renewal_that_changes_nothing_gets_its_old_version_back(api_server: ControlPlane) -> None:
    async def main() -> None:
        async with connected(api_server) as here:
            placed = await found(here, place_record(ADDRESS, 15, NOON))
            claimed = await found(here, claim_record(ADDRESS, placed, Holder("a", 15, 7), later(1)))
            same = await found(here, renew_record(ADDRESS, claimed, Holder("a", 15, 7), later(1)))
            assert same == claimed

    run(main())
