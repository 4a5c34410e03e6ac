"""Exit codes of commands, for scripts."""

from enum import IntEnum


class ExitCode(IntEnum):
    FINE = 0
    WRONG = 1
    USAGE = 2
    NO_ANSWER = 3
    TIMED_OUT = 4

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.FINE: "fine",
    ExitCode.WRONG: "something is wrong, cannot be read, or was refused; the output says what",
    ExitCode.USAGE: "wrong usage",
    ExitCode.NO_ANSWER: "no answer from the cluster",
    ExitCode.TIMED_OUT: "timed out (--timeout)",
}


class CommandFailure(Exception):  # noqa: N818 - the end of a command, not an error in the program
    """Ends a command: the failure, and the next step in the format that `cli.text` parses."""

    def __init__(self, code: ExitCode, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step

    @property
    def may_pass(self) -> bool:
        """True if the cluster may answer again later. A refusal is permanent."""
        return self.code in (ExitCode.NO_ANSWER, ExitCode.TIMED_OUT)
