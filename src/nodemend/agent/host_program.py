"""The one file that a node's host carries. What it does is said by its first argument."""

import sys

_USAGE = "the first argument is one of: unpack FOLDER, feeder, api-check, boot-gate, last-words\n"


def main() -> int:
    """Imports what was asked for and nothing else: the feeder has no memory for the rest."""
    match sys.argv[1:]:
        case ["feeder", *words]:
            from nodemend.agent.feeder.run_shell import run  # noqa: PLC0415

            return run(words)
        case ["api-check", *words]:
            from nodemend.agent.api_check.check_shell import run as check  # noqa: PLC0415

            return check(words)
        case ["boot-gate", *words]:
            from nodemend.agent.boot_gate.gate_shell import run as wait  # noqa: PLC0415

            return wait(words)
        case ["last-words", *words]:
            from nodemend.agent.last_words.recorder_shell import run as record  # noqa: PLC0415

            return record(words)
        case ["unpack", folder]:
            from nodemend.agent.unpack_shell import unpack  # noqa: PLC0415

            return unpack(sys.argv[0], folder)
        case _:
            sys.stderr.write(_USAGE)
            return 2
