"""`tokkit model generate`, `chat`, `next`, `score` and `perplexity`: commands that run a causal language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tokkit.cli import options
from tokkit.cli.constraint_options import constrained, taken
from tokkit.cli.model_search import download
from tokkit.cli.model_views import PRECISION

MODEL = click.argument("model", type=options.MODEL)
SAMPLING = (
    click.option("-n", "--max-new-tokens", type=click.IntRange(min=1), default=256, metavar="N",
                 help="Maximum number of tokens to generate."),
    click.option("-t", "--temperature", type=click.FloatRange(min=0), default=0.0,
                 help="Sampling temperature; 0 is greedy (always the most probable token)."),
    click.option("--top-k", type=click.IntRange(min=0), default=0, help="Sample from the K most probable tokens."),
    click.option("--top-p", type=click.FloatRange(min=0, max=1, min_open=True), default=1.0,
                 help="Sample from the smallest set of tokens with this total probability (nucleus sampling)."),
    click.option("--min-p", type=click.FloatRange(min=0, max=1), default=0.0,
                 help="Sample from tokens with at least this fraction of the highest probability."),
    click.option("--repetition-penalty", type=click.FloatRange(min=0, min_open=True), default=1.0,
                 help="Penalize tokens that occurred before by this factor; 1 is no penalty."),
    click.option("--stop", multiple=True, metavar="TEXT", help="Stop before this text; repeat for more."),
    click.option("--seed", type=click.IntRange(min=0), help="Seed for sampling: the same seed gives the same text."),
)  # fmt: skip


SPECULATION = (
    click.option("--draft", type=options.MODEL, metavar="MODEL",
                 help="Speculative decoding: a smaller model with the same tokenizer proposes tokens."),
    click.option("--prompt-lookup", type=click.IntRange(min=0), default=0, metavar="N",
                 help="Speculative decoding: propose up to N tokens that followed the same text before."),
)  # fmt: skip


HTML = click.option("--html", "page", type=options.Writes(), metavar="PAGE",
                    help="Also write a page with the probability of each token and its alternatives.")  # fmt: skip
CACHE = click.option("--cache", type=click.Choice(["float32", "bfloat16", "int8"]),
                     help="The dtype of the key-value cache; int8 takes a quarter of the memory.")  # fmt: skip


def sampling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for sampling and speculative decoding: `SAMPLING`, `SPECULATION`."""
    for option in reversed(SAMPLING + SPECULATION):
        function = option(function)
    return function


def _prompt_cache(model: Any, path: str | None) -> Any:
    """Return the prompt cache of a file, or an empty one if the file does not exist."""
    import os

    from tokkit.pipeline.prompt_cache import PromptCache

    if path is None or not os.path.exists(path):
        return PromptCache(model)
    return PromptCache.load(path, model)


def _drafted(chosen: dict[str, Any], *, precision: str | None, download: bool) -> dict[str, Any]:
    """Return the chosen options with the draft model loaded."""
    from tokkit.cli.models import load_generator

    if chosen["draft"] is not None:
        chosen["draft"] = load_generator(chosen["draft"], precision=precision, download=download)
    return chosen


@options.command(
    "generate",
    short_help="Continue a text.",
    examples=(
        "tokkit model generate gpt2 'Once upon a time'",
        "tokkit model generate gpt2 'Once upon a time' --temperature 0.8 --top-p 0.9 --seed 1",
        "tokkit model generate gpt2-large 'Once upon a time' --draft gpt2",
        "tokkit model generate ./t5-small 'translate English to German: The house is small.'",
        "tokkit model generate gpt2 'The sky is' --choice ' blue' --choice ' grey'",
        'tokkit model generate ./llama "$(cat manual.txt)" --prompt-cache read.safetensors',
    ),
)
@MODEL
@click.argument("prompt")
@sampling
@click.option(
    "--num-beams",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Beam search with N beams.",
)
@click.option("--length-penalty", type=float, default=1.0, help="With beams: greater values prefer longer texts.")
@click.option(
    "--min-new-tokens",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Minimum number of tokens to generate.",
)
@click.option(
    "--no-repeat-ngram-size", type=click.IntRange(min=0), default=0, metavar="N", help="Never repeat N tokens."
)
@click.option(
    "--force-word",
    "force_words",
    multiple=True,
    metavar="TEXT",
    help="A text that the output must contain; repeat for more. Words usually begin with a space.",
)
@click.option("--truncate", is_flag=True, help="Cut the start of a prompt that exceeds the model's positions.")
@constrained
@click.option(
    "--prompt-cache",
    type=options.FILE,
    metavar="FILE",
    help="Keep keys and values of the prompt in FILE (.safetensors), for later prompts with the same beginning.",
)
@click.option(
    "--context-shift",
    type=click.IntRange(min=0),
    metavar="N",
    help="Continue when the positions are used up: keep the first N tokens and drop the older half of the rest.",
)
@CACHE
@PRECISION
@download
@options.threads
@options.as_json
def generate(
    model: str, prompt: str, precision: str | None, download: bool, stop: tuple[str, ...], json: bool,
    cache: str | None, prompt_cache: str | None, **chosen: Any,
) -> None:  # fmt: skip
    """Generate text after PROMPT with MODEL, and print it as it is generated; - reads the prompt from stdin.

    MODEL is a folder with config.json, safetensors and a tokenizer, a name on the hub, or a .gguf file. It is a causal
    language model (GPT-2, Llama, Mistral, Mixtral, Qwen, Gemma, Phi-3, GPT-NeoX, BLOOM), which continues PROMPT, or an
    encoder–decoder (T5, FLAN-T5, mT5, BART), which answers it.
    """
    from tokkit.cli import inputs
    from tokkit.cli.models import load_generator
    from tokkit.cli.output import put_part, say, say_json

    text = inputs.argument(prompt)
    causal = prompt_cache is not None
    loaded = load_generator(model, causal=causal, precision=precision, download=download, cache=cache)
    chosen = taken(_drafted(chosen, precision=precision, download=download))
    if prompt_cache is not None:
        chosen["held_caches"] = _prompt_cache(loaded, prompt_cache)
    if json:
        made = loaded.generate_all([text], stop=stop, logprobs=True, **chosen)[0][0]
        found = {"text": made.text, "ids": made.ids, "reason": made.reason, "logprobs": made.logprobs}
        say_json(found if made.score is None else {**found, "score": made.score})
    elif chosen["num_beams"] > 1:
        say(loaded.generate(text, stop=stop, **chosen))
    else:
        for part in loaded.stream(text, stop=stop, **chosen):
            put_part(part)
        say("")
    if prompt_cache is not None:
        chosen["held_caches"].save(prompt_cache)


@options.command(
    "chat",
    short_help="Chat with a model.",
    examples=(
        "tokkit model chat ./qwen2.5-0.5b-instruct",
        "echo 'Hello' | tokkit model chat ./llama --system 'Be brief.'",
    ),
)
@MODEL
@click.option("--system", metavar="TEXT", help="The system message.")
@sampling
@CACHE
@PRECISION
@download
@options.threads
def chat(
    model: str, system: str | None, precision: str | None, download: bool, stop: tuple[str, ...], cache: str | None,
    **chosen: Any,
) -> None:  # fmt: skip
    """Chat with MODEL, a folder or .gguf file: answer each line of stdin (needs the extra chat).

    The model's chat template is used. Each turn reads only the new tokens. If the chat becomes longer than the model's
    positions, the oldest turns are left out; the system message stays.
    """
    import sys

    from tokkit.chat import fit_chat, load_chat_template
    from tokkit.cli.models import load_generator
    from tokkit.cli.output import put_part, say

    loaded = load_generator(model, causal=True, precision=precision, download=download, cache=cache)
    chosen["held_caches"] = _prompt_cache(loaded, None)
    chosen = _drafted(chosen, precision=precision, download=download)
    template = load_chat_template(loaded.folder)
    messages: list[dict[str, str]] = [] if system is None else [{"role": "system", "content": system}]
    limit = max(loaded.max_length - chosen["max_new_tokens"], 1)
    at_terminal = sys.stdin.isatty()
    while True:
        if at_terminal:
            click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            break
        if not line.strip():
            continue
        messages.append({"role": "user", "content": line.rstrip("\n")})
        fitted = fit_chat(loaded.tokenizer, template, messages, limit, add_generation_prompt=True)
        answer = []
        for part in loaded.stream(fitted.encoded.ids, stop=stop, **chosen):
            put_part(part)
            answer.append(part)
        say("")
        messages.append({"role": "assistant", "content": "".join(answer)})


@options.command(
    "next",
    short_help="Show the most probable next tokens.",
    examples=(
        "tokkit model next gpt2 'The capital of France is'",
        "tokkit model next gpt2 'The capital of France is' --lens",
        "tokkit model next gpt2 'The capital of France is' --html next.html",
    ),
)
@MODEL
@click.argument("text")
@click.option("-k", "--top", "k", type=click.IntRange(min=1), help="Tokens to show.  [default: 10; 3 with --lens]")
@click.option("--lens", is_flag=True, help="Show the predictions of every layer (logit lens).")
@HTML
@PRECISION
@download
@options.force
@options.as_json
def next_(
    model: str, text: str, k: int | None, lens: bool, page: str | None, precision: str | None, download: bool,
    force: bool, json: bool,
) -> None:  # fmt: skip
    """Print the most probable next tokens after TEXT, with their probabilities."""
    from dataclasses import asdict

    from tokkit.cli.models import load_generator
    from tokkit.cli.output import check, say_json, table
    from tokkit.escaping import visible

    if page is not None:
        check(page, force=force)
    loaded = load_generator(model, causal=page is not None, precision=precision, download=download)
    if page is not None:
        _write_page(page, loaded, text, k=k or 10)
    if lens:
        layers = loaded.lens(text, k or 3)
        if json:
            say_json([[asdict(token) for token in tokens] for tokens in layers])
            return
        shown = [[f"{visible(token.token)!r} {token.probability:.3f}" for token in tokens] for tokens in layers]
        table([("layer", *("",) * len(shown[0])), *((i, *tokens) for i, tokens in enumerate(shown))])
        return
    found = loaded.next_tokens(text, k or 10)
    if json:
        say_json([asdict(token) for token in found])
        return
    rows = [(repr(visible(token.token)), token.id, f"{token.probability:.4f}") for token in found]
    table([("token", "id", "probability"), *rows])


@options.command(
    "score",
    short_help="Compare continuations of a text by their probability.",
    examples=("tokkit model score gpt2 'The sky is' ' blue' ' made of cheese'",),
)
@MODEL
@click.argument("prompt")
@click.argument("continuations", nargs=-1, required=True)
@PRECISION
@download
@options.threads
@options.as_json
def score(
    model: str, prompt: str, continuations: tuple[str, ...], precision: str | None, download: bool, threads: int | None,
    json: bool,
) -> None:  # fmt: skip
    """Print the log-probability of each of CONTINUATIONS after PROMPT: the sum over its tokens, and per byte.

    A continuation usually begins with a space, because words do. For an encoder–decoder, each is a whole answer.
    """
    from tokkit.cli.models import load_generator
    from tokkit.cli.output import say_json, table
    from tokkit.escaping import visible

    found = load_generator(model, precision=precision, download=download).score(prompt, continuations, threads=threads)
    rows = [
        (text, made, made / len(text.encode("utf-8", "surrogateescape")))
        for text, made in zip(continuations, found, strict=True)
    ]
    if json:
        say_json([{"text": text, "logprob": made, "per_byte": each} for text, made, each in rows])
        return
    shown = [(repr(visible(text)), f"{made:.3f}", f"{each:.3f}") for text, made, each in rows]
    table([("continuation", "log-probability", "per byte"), *shown])


@options.command(
    "perplexity",
    short_help="Measure how well a model predicts files.",
    examples=(
        "tokkit model perplexity gpt2 notes.txt",
        "tokkit model perplexity gpt2 notes.txt --tokens --json",
        "tokkit model perplexity gpt2 notes.txt --html notes.html",
    ),
)
@MODEL
@click.argument("files", nargs=-1, required=True, type=options.FILE)
@click.option("--window", type=click.IntRange(min=2), help="Maximum tokens that a prediction sees.  [default: 1024]")
@click.option("--stride", type=click.IntRange(min=1), help="Step between windows.  [default: half of a window]")
@click.option("--tokens", is_flag=True, help="With --json: also print the log-probability of each token.")
@HTML
@CACHE
@PRECISION
@download
@options.threads
@options.force
@options.as_json
def perplexity(
    model: str, files: tuple[str, ...], precision: str | None, download: bool, json: bool, tokens: bool,
    page: str | None, cache: str | None, force: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Print the perplexity of MODEL on each file and on all files: exp of the mean of -log p over the tokens.

    To compare models with different tokenizers, use bits per byte.
    """
    from tokkit.cli.inputs import Reading
    from tokkit.cli.models import load_generator
    from tokkit.cli.output import check, say_json, table
    from tokkit.escaping import show
    from tokkit.pipeline.perplexity import TextScore, text_score

    if tokens and not json:
        raise click.UsageError("--tokens applies only with --json")
    if page is not None:
        if len(files) > 1:
            raise click.UsageError("--html shows one file: give one FILE")
        check(page, force=force)
    import numpy as np

    loaded = load_generator(model, causal=True, precision=precision, download=download, cache=cache)
    if page is not None:
        _write_page(page, loaded, "".join(Reading().texts(files[0])), **chosen)
    scores = {path: text_score(loaded, "".join(Reading().texts(path)), **chosen) for path in files}
    if len(scores) > 1:
        made = list(scores.values())
        scores["total"] = TextScore(
            np.concatenate([each.ids for each in made]), np.concatenate([each.logprobs for each in made]),
            sum(each.n_bytes for each in made),
        )  # fmt: skip
    if json:
        found = []
        for path, each in scores.items():
            entry: dict[str, Any] = {
                "file": path, "tokens": len(each.ids), "perplexity": each.perplexity,
                "bits_per_byte": each.bits_per_byte,
            }  # fmt: skip
            if tokens and path != "total":
                logprobs = [None, *each.logprobs.tolist()][: len(each.ids)]
                entry["logprobs"] = [list(pair) for pair in zip(each.ids.tolist(), logprobs, strict=True)]
            found.append(entry)
        say_json(found)
        return
    rows = [(show(path), len(each.ids), f"{each.perplexity:.3f}", f"{each.bits_per_byte:.4f}")
            for path, each in scores.items()]  # fmt: skip
    table([("file", "tokens", "perplexity", "bits per byte"), *rows])


def _write_page(page: str, loaded: Any, text: str, **chosen: Any) -> None:
    from tokkit.files.files import write_atomically
    from tokkit.view import predictions_html

    write_atomically(page, predictions_html(loaded, text, title=f"Expected tokens: {text[:60]}", **chosen).encode())
