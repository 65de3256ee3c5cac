"""`tokkit serve`: answers requests of OpenAI's API with a decoder and an encoder."""

from __future__ import annotations

import click

from tokkit.cli import options
from tokkit.cli.model_search import download
from tokkit.cli.model_views import PRECISION


@options.command(
    "serve",
    short_help="Serve models by OpenAI's API.",
    groups={
        "Access": ("host", "port", "api_key", "allow_origin", "allow_host"),
        "Limits": ("max_sequences", "max_waiting", "max_new_tokens", "max_seconds", "max_body", "max_cache"),
    },
    examples=(
        "tokkit serve ./qwen2.5-0.5b-instruct --precision int8",
        "tokkit serve ./llama ./all-MiniLM-L6-v2 --port 8080 --api-key SECRET",
    ),
)
@click.argument("models", nargs=-1, required=True, type=options.MODEL)
@click.option("--host", default="127.0.0.1", help="Address to listen at; 0.0.0.0 is for other machines too.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="0 is for any port that is free.")
@click.option("--api-key", metavar="KEY", help="Clients must send this key.")
@click.option("--allow-origin", multiple=True, metavar="URL", help="Pages of this origin may call the server.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="The server may be asked by this name too.")
@click.option("--max-sequences", type=click.IntRange(min=1), default=8, help="Texts that are generated side by side.")
@click.option("--max-waiting", type=click.IntRange(min=0), default=64, help="Requests that may wait for their turn.")
@click.option("--max-new-tokens", type=click.IntRange(min=1), default=4096, help="Tokens that an answer may have.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), default=600.0, help="Time of a request.")
@click.option("--max-body", type=click.IntRange(min=1), default=4 << 20, help="Bytes that a request may have.")
@click.option(
    "--max-cache",
    type=click.IntRange(min=0),
    default=1 << 30,
    help="Bytes of memory for what was read, so that a chat that goes on is not read again; 0 keeps nothing.",
)
@PRECISION
@download
@options.threads
def command(
    models: tuple[str, ...], host: str, port: int, api_key: str | None, allow_origin: tuple[str, ...],
    allow_host: tuple[str, ...], max_sequences: int, max_waiting: int, max_new_tokens: int,
    max_seconds: float, max_body: int, max_cache: int, precision: str, download: bool, threads: int | None,
) -> None:  # fmt: skip
    """Serve MODELS, a decoder and an encoder or one of them, until Ctrl-C (extra web).

    Programs written for OpenAI's API use http://HOST:PORT/v1 as their base URL: completions, chat completions and
    embeddings, whole or streamed. Requests are generated side by side. A model is a folder, or a name on the hub.
    """
    from tokkit.cli.errors import note
    from tokkit.cli.models import load_served
    from tokkit.cli.output import say
    from tokkit.web import Limits, model_server, running
    from tokkit.web.access import LOCAL
    from tokkit.web.api import name_of

    generator, encoder = load_served(models, precision=precision, download=download)
    with running.bound(host, port) as at:
        local = running.is_local(host)
        if not local and api_key is None:
            note(f"everybody who reaches {host} may use this server; --api-key KEY asks for a key")
        app = model_server(
            generator, encoder, key=api_key, hosts=(*LOCAL, host, *allow_host) if local or allow_host else None,
            origins=allow_origin, limits=Limits(body=max_body, new_tokens=max_new_tokens, seconds=max_seconds),
            max_sequences=max_sequences, max_waiting=max_waiting, max_cache=max_cache, threads=threads,
        )  # fmt: skip
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{at.getsockname()[1]}/v1"
        names = ", ".join(name_of(model) for model in (generator, encoder) if model is not None)
        running.run(app, at, started=lambda: say(f"{names}: {url} (Ctrl-C ends it)"))
