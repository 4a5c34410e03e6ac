"""One look at this node's Lease: one request, one absolute deadline, an exit code as answer.

A process of its own, so that TLS does not stay in the locked memory of whoever asks. It uses the node's own
credential, that of kubelet: the node is asked about, so the node asks. With `--publish` it also publishes
this boot there, if that has not been done.
"""

import argparse
import http.client
import json
import os
import signal
import sys
import time
import urllib.parse
from pathlib import Path

from nodemend import __version__
from nodemend.agent.api_check.api_shell import Caller
from nodemend.agent.api_check.exit_codes import FAILED, NO_ANSWER
from nodemend.agent.api_check.lease_report import promises_less
from nodemend.agent.api_check.publish import Publisher, Wanted
from nodemend.agent.api_check.reply import NoMarker, Unclear, exit_code_of, judge_reply
from nodemend.agent.feeder.record_shell import read_beginning
from nodemend.agent.feeder.status_text import parse_status
from nodemend.agent.feeder.worth import judge_worth, longest_lease
from nodemend.agent.last_words.folder_shell import read_reset, read_tested
from nodemend.api.keys import AGENT_NAMESPACE


def run(words: list[str]) -> int:
    """Its exit code. When the time is over, the kernel ends the process, wherever it hangs."""
    options = parser().parse_args(words)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, options.within)
    boot_id = options.boot_id.read_text().strip()
    try:
        code, why = _publish(options, boot_id) if options.publish else _look(options, boot_id)
    except (OSError, http.client.HTTPException) as error:
        code, why = NO_ANSWER, str(error)
    except (ValueError, RecursionError) as error:
        code, why = FAILED, str(error)
    if why:
        sys.stderr.write(f"nodemend-api-check: {why}\n")
    return code


def _look(options: argparse.Namespace, boot_id: str) -> tuple[int, str]:
    # Without a resourceVersion the API server reads through a quorum of its store: a read that began after
    # the request was sent, whichever server answers it.
    name = urllib.parse.quote(options.node, safe="")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases/{name}"
    status, body = Caller(options).ask("GET", path, None)
    answer = judge_reply(status, body, options.node, boot_id)
    if isinstance(answer, NoMarker) and options.status:
        worth = judge_worth(_told(options.status), boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        length = longest_lease(_told(options.status), boot_id) or options.lease_length
        if less := promises_less(json.loads(body), boot_id, length, worth.effective):
            return FAILED, less
    return exit_code_of(answer), answer.why if isinstance(answer, Unclear) else ""


def _told(path: str) -> dict[str, str]:
    """By the feeder; nothing where there is no such file."""
    try:
        return parse_status(read_beginning(path))
    except OSError:
        return {}


def _publish(options: argparse.Namespace, boot_id: str) -> tuple[int, str]:
    told = _told(options.publish)
    tested = bool(options.tested) and read_tested(options.tested, boot_id, told.get("driver", ""))
    wanted = Wanted(
        node=options.node,
        boot_id=boot_id,
        worth=judge_worth(told, boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME), tested),
        feed_lease=longest_lease(told, boot_id) or options.lease_length,
        version=__version__,
        wall=time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
        held_back=options.held_back,
        last_reset=read_reset(options.last_reset) if options.last_reset else None,
    )
    return Publisher(
        wanted, Caller(options).ask, lambda token: Caller(options, token).ask, _end_with
    ).publish()


def _end_with(code: int) -> None:
    """When the time is over: a marker was seen, and is told though the answer to it is lost."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(code))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="api-check", description=__doc__)
    parser.add_argument("--server", required=True, help="https://HOST:PORT of the API server")
    parser.add_argument("--ca", required=True, help="the authority that its certificate is from")
    credential = parser.add_mutually_exclusive_group(required=True)
    credential.add_argument("--certificate", help="kubelet's client certificate")
    credential.add_argument("--token", type=Path, help="a file with a token, where there is no certificate")
    parser.add_argument("--key", help="its key, where it is not in the same file")
    parser.add_argument("--node", required=True, help="the node's name, which is that of its Lease")
    parser.add_argument("--boot-id", required=True, type=Path)
    parser.add_argument("--status", help="the feeder's status file: the Lease must promise what it keeps")
    parser.add_argument("--publish", help="publish this boot, too; the feeder's status file")
    parser.add_argument(
        "--lease-length", type=float, default=35.0, help="G while no feeder tells (%(default)s)"
    )
    parser.add_argument("--held-back", default="", help="with it: why the gate stays closed all the same")
    parser.add_argument("--last-reset", help="with it: the record of the boot that last ended itself")
    parser.add_argument("--tested", help="with it: what the gate left of a watchdog that was seen to reset")
    parser.add_argument("--within", type=float, default=3.0, help="seconds for all of it (%(default)s)")
    return parser
