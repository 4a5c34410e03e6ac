"""The boot gate as a program: ends with 0 when kubelet may start. Its unit is what kubelet's waits for."""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

from nodemend.agent.api_check import exit_codes
from nodemend.agent.boot_gate.gate import (
    MARKED,
    OPEN,
    WAY_OUT,
    Asked,
    Closed,
    Go,
    Gone,
    count_gone,
    hold_back,
    judge,
    judge_feeder,
    judge_gone,
)
from nodemend.agent.feeder.record_shell import (
    has_opened,
    read_beginning,
    read_standing,
    remove_standing,
    write_record,
    write_standing,
)
from nodemend.agent.feeder.records import CLOSED, PUBLISHED, format_gate
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
    if has_opened(options.record, boot_id):
        return _say("open: it has opened in this boot before")
    waiting = _Waiting(options, boot_id)
    if options.open_if and os.path.exists(options.open_if):
        return _open(options, boot_id, Go(f"{options.open_if}: kubelet starts the API server"))
    gone, standing = Gone(), _Standing(options.status, boot_id)
    said, answered = "", False
    while True:
        code, verdict = _judge(options, boot_id, waiting.why(), answered=answered)
        standing.looked(code)
        answered = answered or code in MARKED
        now = time.monotonic()
        gone = count_gone(gone, code, now)
        if code == exit_codes.UNINSTALLED:
            verdict = judge_gone(gone, now) or verdict
        match verdict:
            case Go() as go:
                standing.opens()
                return _open(options, boot_id, go)
            case Closed(why) if why != said:
                _say(f"closed: {why}. {WAY_OUT}")
                said = why
            case Closed():
                pass
        sleep(_EVERY)


def _say(what: str) -> int:
    sys.stderr.write(f"nodemend-boot-gate: {what}\n")
    return 0


def _open(options: argparse.Namespace, boot_id: str, go: Go) -> int:
    """What it leaves behind tells the agent whether this boot was guarded."""
    write_record(options.record, format_gate(boot_id, published=not go.unguarded))
    if not go.unguarded and options.opened_before:
        # A disk that refuses: the next boot may then take itself for the first.
        with contextlib.suppress(OSError):
            write_record(options.opened_before, b"")
    return _say(f"open, without a look: {go.unguarded}" if go.unguarded else "open")


class _Standing:
    """What the feeder goes by until there is an agent. Without it the feeder goes by its own looks alone."""

    def __init__(self, status: str, boot_id: str) -> None:
        self._status, self._boot_id = status, boot_id
        self._told = read_standing(status, boot_id)
        if not self._told:
            self._tell(CLOSED)

    def looked(self, code: int) -> None:
        """Clean: this boot stands there without peers, by a write that is acknowledged."""
        if code == exit_codes.CLEAN and self._told != PUBLISHED:
            self._tell(PUBLISHED)

    def opens(self) -> None:
        if self._told == CLOSED:
            remove_standing(self._status)

    def _tell(self, standing: str) -> None:
        with contextlib.suppress(OSError):
            write_standing(self._status, self._boot_id, standing)
            self._told = standing


class _Waiting:
    """For a person, after too many resets. Judged once a boot: time alone does not open the gate."""

    def __init__(self, options: argparse.Namespace, boot_id: str) -> None:
        self._folder, self._boot_id = ResetFolder(options.resets), boot_id
        self._folder.prune(boot_id)
        found, now = self._folder.others(boot_id), int(time.time())
        ages = [now - one.wall if now >= one.wall else None for one in found]
        self._why = hold_back(judge_resets(ages, ResetLimit()), _command_line(options.cmdline))
        if found and options.last_reset:
            write_record(options.last_reset, format_reset(found[-1]))
        if options.tested and options.tested_here:
            keep_tested(options.tested_here, options.tested, boot_id, found, machine_word())

    def why(self) -> str:
        """Nothing any more as soon as somebody has removed the records."""
        return self._why if self._why and self._folder.others(self._boot_id) else ""


def _judge(
    options: argparse.Namespace, boot_id: str, held_back: str, *, answered: bool
) -> tuple[int, Go | Closed]:
    feeder = judge_feeder(_status(options.status), boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
    asked = _asked(options, answered=answered)
    told = ["--held-back", held_back] if held_back and not asked.by_person else []
    if options.last_reset:
        told += ["--last-reset", options.last_reset]
    if options.tested:
        told += ["--tested", options.tested]
    code = _look([*options.check, *told])
    return code, judge(feeder, code, held_back, asked)


def _asked(options: argparse.Namespace, *, answered: bool) -> Asked:
    by_person = OPEN in _command_line(options.cmdline).split() or os.path.exists(options.open_now)
    certificate, before = options.certificate, options.opened_before
    never = bool(certificate and before) and not (os.path.exists(certificate) or os.path.exists(before))
    return Asked(by_person, never, answered)


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
    parser.add_argument("--certificate", default="", help="kubelet's: a machine without one was no node yet")
    parser.add_argument(
        "--opened-before", default="", help="the file on disk that says that a gate has opened"
    )
    parser.add_argument("--open-now", default="", help="open where this file is, unless a marker is seen")
    parser.add_argument("--cmdline", default="", help="the kernel's command line")
    parser.add_argument("--open-if", help="open without a look where this file is")
    parser.add_argument("check", nargs="+", help="after --, the API check to run, which publishes")
    return parser
