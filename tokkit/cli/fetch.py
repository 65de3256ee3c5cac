"""`tokkit fetch`: downloads published files."""

from __future__ import annotations

import functools
import os
from typing import Any

import click

from tokkit.cli import options


def _no_names(ctx: click.Context, _: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    from tokkit.registry import list_encoding_names

    if not names:
        raise click.UsageError(f"name what to fetch: {', '.join(list_encoding_names())}, a model, or org/name")
    return names


@options.command(
    "fetch",
    short_help="Download published encodings, or tokenizers from the hub.",
    examples=("tokkit fetch cl100k_base o200k_base",),
)
@click.argument("names", nargs=-1, metavar="NAME...", callback=_no_names)
@click.option(
    "--folder", type=options.Writes(file_okay=False), show_default="the user's cache", help="Where to put files."
)
@click.option(
    "--mirror",
    metavar="URL",
    envvar="TOKKIT_MIRROR",
    help="Download from this address instead of the publisher's; also TOKKIT_MIRROR.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=30.0,
    metavar="SECONDS",
    help="Seconds to wait for a server's answer.",
)
@options.progress
@options.as_json
def command(names: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Download published encodings (cl100k_base, gpt-4o, ...) and check them, or tokenizers of the hub (org/name).

    Existing files are checked and kept. Files of encodings, from any source, must have the SHA-256 that this package
    pins. TOKKIT_OFFLINE=1 forbids all downloads.
    """
    from tokkit.cli.output import say, say_json
    from tokkit.progress import Progress
    from tokkit.registry import fetch, hub

    found: list[dict[str, Any]] = []
    for name in names:
        if hub.is_name(name):
            found.append({"name": name, "file": os.fsdecode(hub.find(name, download=True))})
            continue
        with Progress(chosen["progress"]) as progress:
            path = fetch(
                name,
                folder=chosen["folder"],
                mirror=chosen["mirror"],
                patience=chosen["timeout"],
                progress=functools.partial(progress, "fetch"),
            )
        found.append({"name": name, "file": os.fsdecode(path)})
    if json:
        say_json(found)
        return
    for entry in found:
        say(f"{entry['name']}  {entry['file']}")
