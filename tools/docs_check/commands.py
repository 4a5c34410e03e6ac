"""Every `kubectl mend` command in the documentation is checked with the program's own parser."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import click

from docs_check.pages import Fault, Page
from nodemend.cli.main import COMMANDS, cli

_COMMAND: Final = re.compile(r"(?:kubectl[ -]mend)\b([^|;&\n`]*)")
_PLACEHOLDER: Final = re.compile(r"^(?:[A-Z][A-Z_-]*|<[^>]*>|\[.*|\.\.\.|…)$")
_PROSE_END: Final = re.compile(r"[.,:;)]+$")


def mentioned(page: Page) -> list[tuple[int, str]]:
    """The text after `kubectl mend` in code, with its line."""
    found = []
    for span in page.spans():
        if span.text.startswith(("kubectl mend", "kubectl-mend", ".venv/bin/kubectl-mend")):
            found += [(span.line, one.strip()) for one in _COMMAND.findall(span.text)]
    for block in page.blocks:
        text = block.text.replace("\\\n", " ")
        for offset, line in enumerate(text.splitlines()):
            written = line.strip().removeprefix("$ ").removeprefix("Next: ").removeprefix(".venv/bin/")
            if written.startswith(("kubectl mend ", "kubectl-mend ")):
                found += [(block.line + offset, one.strip()) for one in _COMMAND.findall(written)[:1]]
    return found


def wrong_commands(page: Page) -> Iterator[Fault]:
    for line, text in mentioned(page):
        if wrong := wrong_command(text):
            yield Fault(page.path, line, f"kubectl mend {text}: {wrong}")


def wrong_command(text: str) -> str:
    """The error in the arguments of `kubectl mend`; empty if the program would accept them."""
    words = [word for word in _words(text) if not word.startswith(("[", "{"))]
    if not words or _PLACEHOLDER.match(words[0]):
        return ""
    root = click.Context(cli, info_name="kubectl mend")
    if words[0].startswith("-"):
        return _unparsed(cli, root, words)
    name = words[0] if words[0] in COMMANDS else _PROSE_END.sub("", words[0])
    command = cli.get_command(root, name)
    if command is None:
        return f"no such command: {name}"
    return _unparsed(command, click.Context(command, info_name=name, parent=root), words[1:])


def options() -> frozenset[str]:
    """Every option of every command."""
    root = click.Context(cli, info_name="kubectl mend")
    commands = [cli, *(command for name in COMMANDS if (command := cli.get_command(root, name)))]
    return frozenset(
        option
        for command in commands
        for parameter in command.get_params(click.Context(command))
        for option in (*parameter.opts, *parameter.secondary_opts)
    )


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        words = list(lexer)
    except ValueError:
        # A quotation that continues in the next line.
        words = text.split()
    redirection = next((place for place, word in enumerate(words) if word in (">", "<", ">>")), len(words))
    return words[:redirection]


def _unparsed(command: click.Command, context: click.Context, words: list[str]) -> str:
    known = {option: one for one in command.get_params(context) for option in one.opts}
    for word, value in pairwise([*words, ""]):
        parameter = known.get(word)
        if isinstance(parameter, click.Option) and isinstance(parameter.type, click.Choice):
            choices = [str(choice) for choice in parameter.type.choices]
            if value and value not in choices and not _PLACEHOLDER.match(value):
                return f"{word} is one of {', '.join(choices)}"
    try:
        _, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        # `kubectl mend run NODE --reason` in prose names an option without its value.
        return "" if "requires an argument" in error.format_message() else error.format_message()
    return f"too many arguments: {' '.join(rest)}" if rest and not isinstance(command, click.Group) else ""
