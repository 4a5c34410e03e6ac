"""The machines of the power tests: a real process each, which really ends when its BMC powers it off."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.ports import free_port
from controlplane.waiting import wait_until
from machine_room.bmc import Bmc
from machine_room.chassis import Chassis
from machine_room.ipmi import IpmiBmc
from machine_room.register import Register
from simulation.metal3.bmc import Answer, Order, Power


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[Bmc]:
    chassis = Chassis("m1", tmp_path / "machine", seconds_to_off=0.2)
    chassis.switch_on()
    bmc = Bmc(chassis, tmp_path / "bmc", free_port())
    wait_until("it answers", lambda: _power(bmc) is Power.ON)
    yield bmc
    bmc.close()
    chassis.close()


def _power(bmc: Bmc) -> Power:
    return asyncio.run(IpmiBmc(bmc.address).power())


def _reset(bmc: Bmc, order: Order) -> Answer:
    return asyncio.run(IpmiBmc(bmc.address).reset(order))


def _running(chassis: Chassis, register: Path, pod: str = "pod-1") -> None:
    order = chassis.memory / "wanted" / pod
    order.write_text(str(register))


def test_a_machine_writes_until_its_bmc_powers_it_off(bmc: Bmc, tmp_path: Path) -> None:
    register = Register(tmp_path / "register")
    _running(bmc.chassis, register.file)
    wait_until("it writes", lambda: register.last() is not None)
    boot = bmc.chassis.boot

    assert _reset(bmc, Order.FORCE_OFF) is Answer.ACCEPTED
    wait_until("it is off", lambda: _power(bmc) is Power.OFF)
    off = time.time()
    time.sleep(0.3)
    assert register.after(off, boot) == []

    assert _reset(bmc, Order.ON) is Answer.ACCEPTED
    wait_until("it is on", lambda: _power(bmc) is Power.ON)
    time.sleep(0.3)
    assert bmc.chassis.boot != boot
    assert register.after(off, bmc.chassis.boot) == [], "what it ran is forgotten"


def test_a_bmc_may_say_yes_and_do_nothing(bmc: Bmc) -> None:
    bmc.chassis.faults.off_ignored = True
    assert _reset(bmc, Order.FORCE_OFF) is Answer.ACCEPTED
    time.sleep(0.5)
    assert _power(bmc) is Power.ON
    assert [order.what for order in bmc.chassis.orders] == ["off"]


def test_a_bmc_that_hangs_says_nothing_and_changes_nothing(bmc: Bmc) -> None:
    bmc.process.pause()
    assert _power(bmc) is Power.UNREACHABLE
    assert _reset(bmc, Order.FORCE_OFF) is Answer.UNREACHABLE
    assert bmc.chassis.powered
    assert bmc.chassis.orders == []


def test_two_writers_at_once_are_noticed(tmp_path: Path) -> None:
    register = Register(tmp_path / "register")
    register.file.write_text("1000000000 m1 boot-1 p1\n2000000000 m2 boot-2 p2\n")
    assert register.returns() == []
    with register.file.open("a") as file:
        file.write("3000000000 m1 boot-1 p1\n")
    assert [write.machine for write in register.returns()] == ["m1"]
