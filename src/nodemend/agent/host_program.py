"""Entry point of the one archive that a host carries. The first argument selects the program."""

import sys

_USAGE = "the first argument is one of: unpack FOLDER, feeder, api-check, boot-gate, last-words\n"


def main() -> int:
    """Import only the selected program: the feeder has no memory for the others."""
    match sys.argv[1:]:
        case ["feeder", *words]:
            from nodemend.agent.watchdog.main import run  # noqa: PLC0415

            return run(words)
        case ["api-check", *words]:
            from nodemend.agent.api_check.check import run as check  # noqa: PLC0415

            return check(words)
        case ["boot-gate", *words]:
            from nodemend.agent.boot_gate.gate_io import run as wait  # noqa: PLC0415

            return wait(words)
        case ["last-words", *words]:
            from nodemend.agent.reset_log_io import run as record  # noqa: PLC0415

            return record(words)
        case ["unpack", folder]:
            from nodemend.agent.host_bundle import unpack  # noqa: PLC0415

            return unpack(sys.argv[0], folder)
        case _:
            sys.stderr.write(_USAGE)
            return 2
