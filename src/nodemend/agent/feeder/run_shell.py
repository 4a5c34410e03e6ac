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
    return FeederRules(
        boot_id=read_beginning(arguments.paths["boot-id"]).decode("ascii").strip(),
        lease_length=arguments.lease_length,
        wanted_reset=arguments.wanted_reset,
        ping_every=arguments.ping_every,
        look_every=arguments.ping_every // _LOOKS_A_PING,
        check_every=arguments.check_every if arguments.check else None,
        machine=_machine(arguments),
        drill=arguments.drill,
        may_sleep=_may_sleep(arguments),
    )


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
