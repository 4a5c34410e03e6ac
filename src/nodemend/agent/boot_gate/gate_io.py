"""The boot gate: exits with 0 when kubelet may start. The kubelet's unit waits for the gate's unit."""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable

from nodemend.agent import exit_codes
from nodemend.agent.boot_gate.decide import (
    MARKED,
    OPEN,
    WAY_OUT,
    GateClosed,
    GateOpen,
    GateOptions,
    NothingInstalled,
    count_absence,
    evaluate_absence,
    evaluate_feeder,
    evaluate_gate,
    hold_back,
)
from nodemend.agent.reset_log import format_reset
from nodemend.agent.reset_log_io import ResetFolder, keep_tested, machine_fingerprint
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import CLOSED, PUBLISHED, format_gate
from nodemend.agent.watchdog.records_io import (
    has_opened,
    read_beginning,
    read_gate_status,
    read_or_empty,
    remove_gate_status,
    store_gate_status,
    write_record,
)
from nodemend.protocol.self_resets import ResetLimit, evaluate_resets

_EVERY = 2.0
_CHECK_TIMEOUT = 10.0


def run(words: list[str], sleep: Callable[[float], None] = time.sleep) -> int:
    """Wait until the gate opens: a closed gate is not a failure. Logs the reason whenever it changes."""
    options = parser().parse_args(words)
    boot_id = read_beginning(options.boot_id).decode("ascii").strip()
    if has_opened(options.record, boot_id):
        return _say("open: it has opened in this boot before")
    waiting = _Waiting(options, boot_id)
    if options.open_if and os.path.exists(options.open_if):
        return _open(options, boot_id, GateOpen(f"{options.open_if}: kubelet starts the API server"))
    gone, gate_status = NothingInstalled(), _GateStatus(options.status, boot_id)
    said, answered = "", False
    while True:
        code, verdict = _evaluate(options, boot_id, waiting.why(), answered=answered)
        gate_status.looked(code)
        answered = answered or code in MARKED
        now = time.monotonic()
        gone = count_absence(gone, code, now)
        if code == exit_codes.UNINSTALLED:
            verdict = evaluate_absence(gone, now) or verdict
        match verdict:
            case GateOpen() as go:
                gate_status.opens()
                return _open(options, boot_id, go)
            case GateClosed(why) if why != said:
                _say(f"closed: {why}. {WAY_OUT}")
                said = why
            case GateClosed():
                pass
        sleep(_EVERY)


def _say(what: str) -> int:
    sys.stderr.write(f"nodemend-boot-gate: {what}\n")
    return 0


def _open(options: argparse.Namespace, boot_id: str, go: GateOpen) -> int:
    """Record for the agent whether this boot was guarded."""
    write_record(options.record, format_gate(boot_id, published=not go.unguarded))
    if not go.unguarded and options.opened_before:
        # If the disk refuses, the next boot may count as the machine's first.
        with contextlib.suppress(OSError):
            write_record(options.opened_before, b"")
    return _say(f"open, without an API check: {go.unguarded}" if go.unguarded else "open")


class _GateStatus:
    """The gate's state, by which the feeder feeds before an agent starts.

    Without it the feeder relies on its own API checks alone.
    """

    def __init__(self, status: str, boot_id: str) -> None:
        self._status, self._boot_id = status, boot_id
        self._written = read_gate_status(status, boot_id)
        if not self._written:
            self._tell(CLOSED)

    def looked(self, code: int) -> None:
        """After a clean check, an acknowledged write has published this boot without peers."""
        if code == exit_codes.CLEAN and self._written != PUBLISHED:
            self._tell(PUBLISHED)

    def opens(self) -> None:
        if self._written == CLOSED:
            remove_gate_status(self._status)

    def _tell(self, gate_status: str) -> None:
        with contextlib.suppress(OSError):
            store_gate_status(self._status, self._boot_id, gate_status)
            self._written = gate_status


class _Waiting:
    """Waits for an operator after too many resets. Evaluated once per boot: time alone opens nothing."""

    def __init__(self, options: argparse.Namespace, boot_id: str) -> None:
        self._folder, self._boot_id = ResetFolder(options.resets), boot_id
        self._folder.prune(boot_id)
        found, now = self._folder.others(boot_id), int(time.time())
        ages = [now - one.wall if now >= one.wall else None for one in found]
        self._why = hold_back(evaluate_resets(ages, ResetLimit()), _command_line(options.cmdline))
        if found and options.last_reset:
            write_record(options.last_reset, format_reset(found[-1]))
        if options.tested and options.tested_here:
            keep_tested(options.tested_here, options.tested, boot_id, found, machine_fingerprint())

    def why(self) -> str:
        """Return why the gate waits; empty as soon as an operator has removed the records."""
        return self._why if self._why and self._folder.others(self._boot_id) else ""


def _evaluate(
    options: argparse.Namespace, boot_id: str, held_back: str, *, answered: bool
) -> tuple[int, GateOpen | GateClosed]:
    feeder = evaluate_feeder(
        parse_status(read_or_empty(options.status)), boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    )
    asked = _asked(options, answered=answered)
    reported = ["--held-back", held_back] if held_back and not asked.by_person else []
    if options.last_reset:
        reported += ["--last-reset", options.last_reset]
    if options.tested:
        reported += ["--tested", options.tested]
    code = _run_check([*options.check, *reported])
    return code, evaluate_gate(feeder, code, held_back, asked)


def _asked(options: argparse.Namespace, *, answered: bool) -> GateOptions:
    by_person = OPEN in _command_line(options.cmdline).split() or os.path.exists(options.open_now)
    certificate, before = options.certificate, options.opened_before
    never = bool(certificate and before) and not (os.path.exists(certificate) or os.path.exists(before))
    return GateOptions(by_person, never, answered)


def _command_line(path: str) -> str:
    return read_or_empty(path).decode("ascii", "replace")


def _run_check(check: list[str]) -> int:
    try:
        return subprocess.run(check, check=False, timeout=_CHECK_TIMEOUT, env={}).returncode
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
    parser.add_argument("--open-now", default="", help="open if this file exists, unless a marker is found")
    parser.add_argument("--cmdline", default="", help="the kernel's command line")
    parser.add_argument("--open-if", help="open without an API check if this file exists")
    parser.add_argument("check", nargs="+", help="after --, the API check to run, which publishes")
    return parser
