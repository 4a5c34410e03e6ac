"""The boot gate as a program: ends with 0 when kubelet may start. Its unit is what kubelet's waits for."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

from nodemend.agent.boot_gate.gate import Closed, Go, hold_back, judge, judge_feeder
from nodemend.agent.feeder.record_shell import has_opened, read_beginning, write_record
from nodemend.agent.feeder.records import format_gate
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.last_words.folder_shell import ResetFolder, keep_tested
from nodemend.agent.last_words.machine_shell import machine_word
from nodemend.agent.last_words.reset_record import format_reset
from nodemend.decide.self_resets import ResetLimit, judge_resets

_EVERY = 2.0
_LONGEST_LOOK = 10.0


def run(words: list[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """Waits as long as it takes: a closed gate is not a failure. Says why whenever that changes."""
    options = parser().parse_args(words)
    boot_id = read_beginning(options.boot_id).decode("ascii").strip()
    waiting = _Waiting(options, boot_id)
    opened = has_opened(options.record, boot_id)
    if options.open_if and os.path.exists(options.open_if):
        return _open(options, boot_id, Go(guarded=False), f"{options.open_if}: kubelet starts the API server")
    said = ""
    while True:
        match _judge(options, boot_id, waiting.why(), opened=opened):
            case Go() as go:
                return _open(options, boot_id, go, "" if go.guarded else "there is no such Node")
            case Closed(why) if why != said:
                sys.stderr.write(f"nodemend-boot-gate: closed: {why}\n")
                said = why
            case Closed():
                pass
        sleep(_EVERY)


def _open(options: argparse.Namespace, boot_id: str, go: Go, why: str) -> int:
    """What it leaves behind tells the agent whether this boot was guarded."""
    write_record(options.record, format_gate(boot_id, published=go.guarded))
    sys.stderr.write(f"nodemend-boot-gate: open{f', without a look: {why}' if why else ''}\n")
    return 0


class _Waiting:
    """For a person, after too many resets. Judged once a boot: time alone does not open the gate."""

    def __init__(self, options: argparse.Namespace, boot_id: str) -> None:
        self._folder, self._boot_id = ResetFolder(options.resets), boot_id
        self._folder.prune(boot_id)
        found, now = self._folder.others(boot_id), int(time.time())
        ages = [now - one.wall if now >= one.wall else None for one in found]
        why = hold_back(judge_resets(ages, ResetLimit()), _command_line(options.cmdline))
        # One that has opened in this boot, and is started anew, holds nothing back: kubelet may run by now.
        self._why = "" if has_opened(options.record, boot_id) else why
        if found and options.last_reset:
            write_record(options.last_reset, format_reset(found[-1]))
        if options.tested and options.tested_here:
            keep_tested(options.tested_here, options.tested, boot_id, found, machine_word())

    def why(self) -> str:
        """Nothing any more as soon as somebody has removed the records."""
        return self._why if self._why and self._folder.others(self._boot_id) else ""


def _judge(options: argparse.Namespace, boot_id: str, held_back: str, *, opened: bool) -> Go | Closed:
    feeder = judge_feeder(_status(options.status), boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
    told = ["--held-back", held_back] if held_back else []
    told += ["--opened"] if opened else []
    if options.last_reset:
        told += ["--last-reset", options.last_reset]
    if options.tested:
        told += ["--tested", options.tested]
    return judge(feeder, _look([*options.check, *told]), held_back)


def _command_line(path: str) -> str:
    try:
        return read_beginning(path).decode("ascii", "replace")
    except OSError:
        return ""


def _status(path: str) -> dict[str, str]:
    try:
        return parse_status(read_beginning(path))
    except OSError:
        return {}


def _look(check: list[str]) -> int:
    try:
        return subprocess.run(check, check=False, timeout=_LONGEST_LOOK, env={}).returncode
    except (OSError, subprocess.TimeoutExpired):
        return -1


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="boot-gate", description=__doc__)
    parser.add_argument("--status", required=True, help="the feeder's status file")
    parser.add_argument("--record", required=True, help="where to leave that it opened, and how")
    parser.add_argument("--boot-id", required=True)
    parser.add_argument(
        "--resets", default="", help="the folder with records of earlier boots, to be counted"
    )
    parser.add_argument("--last-reset", default="", help="where to leave the last of them, for the agent")
    parser.add_argument("--tested-here", default="", help="the file on disk that says which watchdog resets")
    parser.add_argument("--tested", default="", help="where to leave that for this boot, for the agent")
    parser.add_argument("--cmdline", default="", help="the kernel's command line")
    parser.add_argument("--open-if", help="open without a look where this file is")
    parser.add_argument("check", nargs="+", help="after --, the API check to run, which publishes")
    return parser
