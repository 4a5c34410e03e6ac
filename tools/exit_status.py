"""Exit status of a command with limits: CI repeats a run that was only late."""

from typing import Final

LATE: Final = 75
"""Nothing was wrong, but a limit in seconds was missed: the machine may have been busy."""


def exit_status(*, wrong: bool, late: bool) -> int:
    """A wrong result takes precedence over a late one."""
    if wrong:
        return 1
    return LATE if late else 0
