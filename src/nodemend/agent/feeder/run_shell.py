"""The feeder as a program."""

import os
import sys

from nodemend.agent.feeder.arguments import (
    USAGE,
    Arguments,
    WrongArgumentsError,
    judge_cpuinfo,
    parse_arguments,
)
from nodemend.agent.feeder.feeder_shell import FeederShell
from nodemend.agent.feeder.record_shell import read_beginning
from nodemend.agent.feeder.records import is_number
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.feeder.words import FeederRules
from nodemend.decide.watchdog_class import Machine, Undetermined

_LOOKS_A_PING = 4
_WRONG_USAGE = 2


def run(words: list[str], make: type[FeederShell] = FeederShell) -> int:
    """Its exit code: 0 after an orderly end, whether or not the device stays armed."""
    try:
        arguments = parse_arguments(words)
    except WrongArgumentsError as error:
        os.write(2, f"{error}\n{USAGE}".encode())
        return _WRONG_USAGE
    make(_rules(arguments), arguments.paths, arguments.check, arguments.recorder).run()
    return 0


def _rules(arguments: Arguments) -> FeederRules:
    boot_id = read_beginning(arguments.paths["boot-id"]).decode("ascii").strip()
    longest_timeout, effective = _given_before(arguments.paths["status"], boot_id)
    ping_every = arguments.ping_every if effective is None else min(arguments.ping_every, effective // 2)
    return FeederRules(
        boot_id=boot_id,
        lease_length=arguments.lease_length,
        wanted_reset=arguments.wanted_reset,
        ping_every=ping_every,
        look_every=ping_every // _LOOKS_A_PING,
        check_every=arguments.check_every if arguments.check else None,
        machine=_machine(arguments),
        drill=arguments.drill,
        may_sleep=_may_sleep(arguments),
        longest_timeout=longest_timeout,
    )


def _given_before(path: str, boot_id: str) -> tuple[int | None, int | None]:
    """What a feeder of this boot wrote to the device, and W by that; None where none has.

    That is published, and nobody may be there to publish more: a machine that is cut off just now, with times
    that have become longer, would outlive what a manager counts on.
    """
    try:
        told = parse_status(read_beginning(path))
    except OSError:
        return None, None
    written, effective = told.get("written-seconds", ""), told.get("effective", "")
    if told.get("boot") != boot_id or not (is_number(written) and is_number(effective)):
        return None, None
    return max(1, int(written)), max(2, int(effective))


def _may_sleep(arguments: Arguments) -> bool:
    """Unless the kernel knows no way to, or systemd's target is masked. Nobody asked: it is not looked at."""
    if "power-states" not in arguments.paths:
        return False
    try:
        states = read_beginning(arguments.paths["power-states"])
    except OSError:
        return False  # A kernel that cannot sleep has no such file.
    try:
        masked = os.readlink(arguments.paths.get("sleep-target", "")) == os.devnull
    except OSError:
        masked = False
    return bool(states.strip()) and not masked


def _machine(arguments: Arguments) -> Machine:
    if "cpuinfo" not in arguments.paths:
        return arguments.machine
    found = judge_cpuinfo(read_beginning(arguments.paths["cpuinfo"]))
    # What the processor says counts for more than what somebody wrote down.
    return arguments.machine if isinstance(found, Undetermined) else found


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
