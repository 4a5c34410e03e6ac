"""How a command that holds itself to bars ends: CI measures again what was only late."""

from typing import Final

LATE: Final = 75
"""Nothing was wrong, but a bar in seconds was missed: others may have had the machine."""


def exit_status(*, wrong: bool, late: bool) -> int:
    """Whatever is wrong decides, however late it was."""
    if wrong:
        return 1
    return LATE if late else 0
