"""`tokkit play`: a local web page that shows tokens while you type."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options
from tokkit.errors import TokkitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokkit.chat import ChatTemplate
    from tokkit.tokenizer import Tokenizer

SMALL = "small"
"""The tokenizer of a page without TOKENIZER: it is trained on the bundled corpus."""


@options.command(
    "play",
    short_help="Try tokenizers in the browser.",
    examples=("tokkit play", "tokkit play cl100k_base ./my-tokenizer --prices prices.toml"),
)
@click.argument("tokenizers", nargs=-1, type=options.MODEL, metavar="[TOKENIZER]...")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at; 0 is any free port.")
@click.option(
    "--token",
    metavar="TEXT",
    help="Secret in the page's address (default: random); with the same one, open pages work again after a restart.",
)
@click.option("--prices", type=options.FILE, metavar="TOML", help="Show the cost of the tokens, from this price table.")
@click.option("--max-body", type=click.IntRange(min=1), default=4 << 20, help="Maximum size of a text, in bytes.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in the browser.")
def command(
    tokenizers: tuple[str, ...], port: int, token: str | None, prices: str | None, max_body: int, opens: bool
) -> None:
    """Show tokens in colours while you type, for several tokenizers side by side, with reasons (needs the extra web).

    The page is served at 127.0.0.1 until Ctrl-C, and nothing leaves this machine. Only the complete address opens it,
    so other web sites cannot. Without TOKENIZER, one that was trained on the bundled corpus is shown.
    """
    import secrets
    import webbrowser
    from functools import partial

    from tokkit.chat import load_chat_template
    from tokkit.cli.inputs import load
    from tokkit.cli.output import say
    from tokkit.registry import ENCODINGS
    from tokkit.web import playground, running

    table = None if prices is None else _table(prices)
    key = secrets.token_urlsafe(18) if token is None else token
    if not key or not key.isascii() or not key.replace("-", "").replace("_", "").isalnum():
        raise click.BadParameter(f"{key!r}: write letters, digits, - and _", param_hint="--token")
    places = short_names(tokenizers)
    for path in tokenizers:
        check_name(path)
    given: dict[str, Callable[[], Tokenizer]] = {name: partial(load, places[name]) for name in places}
    given = given or {SMALL: _small}
    published = {name: partial(load, name) for name in ENCODINGS if name not in given}

    def template_of(name: str) -> ChatTemplate:
        return load_chat_template(places.get(name, name))

    with running.bound("127.0.0.1", port) as at:
        app = playground(
            given | published, key=key, shown=list(given)[:8], prices=table, body=max_body,
            template_of=template_of,
        )  # fmt: skip
        url = f"http://127.0.0.1:{at.getsockname()[1]}/?token={key}"

        def started() -> None:
            say(f"{url} (Ctrl-C ends it)")
            if opens:
                webbrowser.open(url)

        running.run(app, at, started=started)


def check_name(path: str) -> None:
    """Raise FileNotFoundError for what is neither a file nor a known name; errors of loading are shown on the page."""
    from tokkit.cli.inputs import load

    if not os.path.lexists(path):
        with contextlib.suppress(TokkitError):
            load(path)


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return name → path; a name is the last parts of the path, as many as make it unique.

    >>> short_names(["/a/gpt2", "b/t5/tok.json", "c/t5/tok.json"])
    {'gpt2': '/a/gpt2', 'b/t5/tok.json': 'b/t5/tok.json', 'c/t5/tok.json': 'c/t5/tok.json'}
    """
    made, paths = {}, list(dict.fromkeys(paths))
    for path in paths:
        parts = path.rstrip("/").split("/")
        others = [other.rstrip("/").split("/") for other in paths if other != path]
        n = next((n for n in range(1, len(parts)) if all(o[-n:] != parts[-n:] for o in others)), len(parts))
        made["/".join(parts[-n:])] = path
    return made


def _small() -> Tokenizer:
    import tokkit
    from tokkit.corpus import bundled

    return tokkit.train(bundled.paths(), vocab_size=8000)


def _table(path: str) -> dict[str, Any]:
    """Return a price table in the form that the page reads."""
    from tokkit.cli.costs import Prices

    read = Prices.read(path)
    models = {name: [float(price.input), price.window] for name, price in read.models.items()}
    return {"currency": read.currency, "models": models}
