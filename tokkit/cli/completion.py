"""`tokkit completion`: prints the completion script for a shell."""

from __future__ import annotations

import click

from tokkit.cli import options

WHERE = """\b
bash   tokkit completion bash > ~/.local/share/bash-completion/completions/tokkit
zsh    tokkit completion zsh > a directory of $fpath, as _tokkit
fish   tokkit completion fish > ~/.config/fish/completions/tokkit.fish"""


@options.command(
    "completion",
    short_help="Print a script that completes commands in the shell.",
    epilog=WHERE,
    examples=("tokkit completion bash >> ~/.bashrc",),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from tokkit.cli import main
    from tokkit.cli.output import put

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click has no completion for {shell}")
    put(kind(main, {}, "tokkit", "_TOKKIT_COMPLETE").source().rstrip("\n"))
