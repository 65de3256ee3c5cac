"""`tokkit serve`: a server with OpenAI's API for a decoder and an encoder."""

from __future__ import annotations

import click

from tokkit.cli import options
from tokkit.cli.model_search import download
from tokkit.cli.model_views import PRECISION


@options.command(
    "serve",
    short_help="Serve models with OpenAI's API.",
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
@click.option(
    "--host", default="127.0.0.1", help="Address to listen at; 0.0.0.0 accepts connections from other machines."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen at; 0 is any free port.")
@click.option("--api-key", metavar="KEY", help="Clients must send this key.")
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="URL",
    help="Origin of web pages that may call the server (CORS); repeat for more.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Another host name that clients may use for this server; repeat for more.",
)
@click.option(
    "--max-sequences",
    type=click.IntRange(min=1),
    default=8,
    help="Maximum number of texts that are generated at the same time.",
)
@click.option("--max-waiting", type=click.IntRange(min=0), default=64, help="Maximum number of waiting requests.")
@click.option(
    "--max-new-tokens", type=click.IntRange(min=1), default=4096, help="Maximum number of tokens in an answer."
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    help="Maximum time of a request, in seconds.",
)
@click.option("--max-body", type=click.IntRange(min=1), default=4 << 20, help="Maximum size of a request, in bytes.")
@click.option(
    "--max-cache",
    type=click.IntRange(min=0),
    default=1 << 30,
    help="Bytes of memory for prompt caches, so that a chat that continues is not read again; 0 turns them off.",
)
@PRECISION
@download
@options.threads
def command(
    models: tuple[str, ...], host: str, port: int, api_key: str | None, allow_origin: tuple[str, ...],
    allow_host: tuple[str, ...], max_sequences: int, max_waiting: int, max_new_tokens: int,
    max_seconds: float, max_body: int, max_cache: int, precision: str, download: bool, threads: int | None,
) -> None:  # fmt: skip
    """Serve MODELS (a decoder, an encoder, or one of each) until Ctrl-C (needs the extra web).

    Programs written for OpenAI's API use http://HOST:PORT/v1 as their base URL: completions, chat completions and
    embeddings, whole or streamed. Requests are generated in batches, as they come (continuous batching). A model is a
    folder, or a name on the hub.
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
            note(f"everybody who can reach {host} may use this server; require a key with --api-key KEY")
        app = model_server(
            generator, encoder, key=api_key, hosts=(*LOCAL, host, *allow_host) if local or allow_host else None,
            origins=allow_origin, limits=Limits(body=max_body, new_tokens=max_new_tokens, seconds=max_seconds),
            max_sequences=max_sequences, max_waiting=max_waiting, max_cache=max_cache, threads=threads,
        )  # fmt: skip
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{at.getsockname()[1]}/v1"
        names = ", ".join(name_of(model) for model in (generator, encoder) if model is not None)
        running.run(app, at, started=lambda: say(f"{names}: {url} (Ctrl-C ends it)"))
