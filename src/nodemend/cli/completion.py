"""`kubectl mend completion`."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from nodemend.cli.main import COMPLETE_VARIABLE

_FOR_KUBECTL: Final = f"""\
#!/bin/sh
# Save this on your PATH as kubectl_complete-mend and make it executable: then kubectl completes its plugin.
COMP_WORDS="kubectl-mend $*" COMP_CWORD=$# {COMPLETE_VARIABLE}=bash_complete kubectl-mend | sed 's/^[^,]*,//'
echo :4
"""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
def command(shell: str) -> None:
    """Print a script that completes these commands: for kubectl-mend in a shell, or for kubectl itself.

    \b
    Examples:
      source <(kubectl mend completion bash)
      kubectl mend completion kubectl > ~/.local/bin/kubectl_complete-mend
    """
    if shell == "kubectl":
        click.echo(_FOR_KUBECTL, nl=False)
        return
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"{shell} is not known here.")
    root = click.get_current_context().find_root().command
    click.echo(completion(root, {}, "kubectl-mend", COMPLETE_VARIABLE).source())
