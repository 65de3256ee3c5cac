"""`tokkit model attention` and `tokkit model fill-mask`."""

from __future__ import annotations

import click

from tokkit.cli import options
from tokkit.cli.model_search import download

MODEL = click.argument("model", type=options.MODEL)
TEXT = click.argument("text")
PRECISION = click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16", "int8", "int8-weight-only", "int4"]),
    help="How the model's matrices are stored and multiplied.  [default: the precision of a quantized model, else "
    "fp32]",
)


@options.command(
    "attention",
    short_help="Show which tokens of a text attend to which others.",
    examples=("tokkit model attention bert-base-uncased 'the cat sat on the mat'",),
)
@MODEL
@TEXT
@click.option(
    "-o",
    "--output",
    type=options.Writes(),
    default="attention.html",
    help="Page (.html) or picture (.png) to write.",
)
@click.option("--layer", "layers", type=click.IntRange(min=1), multiple=True, help="Layers to show, from 1; or all.")
@click.option("--head", "heads", type=click.IntRange(min=1), multiple=True, help="Heads to show, from 1; or all.")
@download
@options.force
def attention(
    model: str, text: str, output: str, layers: tuple[int, ...], heads: tuple[int, ...], download: bool, force: bool
) -> None:
    """Draw the attention weights of a model's layers over TEXT, as a standalone page (.html) or a picture (.png).

    MODEL is a folder with config.json, model.safetensors and a tokenizer, or a name on the hub. Pictures need
    matplotlib: pip install 'pytokkit[plot]'.
    """
    import os

    from tokkit.cli.models import load_layers
    from tokkit.cli.output import check, counted, say
    from tokkit.files.files import write_atomically
    from tokkit.view import attention_html, attention_png

    kind = os.path.splitext(output)[1].lower()
    if kind not in (".html", ".png"):
        raise click.BadParameter(f"{output!r} ends in neither .html nor .png", param_hint="--output")
    check(output, force=force)
    loaded = load_layers(model, download=download)
    if wrong := [head for head in heads if head > loaded.n_heads]:
        raise click.BadParameter(f"there is no head {wrong[0]}; this model has 1 to {loaded.n_heads}")
    if wrong := [layer for layer in layers if layer > loaded.n_layers]:
        raise click.BadParameter(f"there is no layer {wrong[0]}; this model has 1 to {loaded.n_layers}")
    tokens, weights = loaded.attention(text, layers=[layer - 1 for layer in layers] or None)
    weights = weights[:, [head - 1 for head in heads] or slice(None)]
    if kind == ".png":
        attention_png(weights, tokens, output, title=text if len(text) <= 60 else f"{text[:59]}…")
    else:
        write_atomically(output, attention_html(weights, tokens, title=f"Attention: {text[:60]}").encode())
    n_layers, n_heads = weights.shape[:2]
    say(f"{output}: {counted(n_layers, 'layer')}, {counted(n_heads, 'head')}, {counted(len(tokens), 'token')}")


@options.command(
    "fill-mask",
    short_help="Predict the masked words of a text.",
    examples=("tokkit model fill-mask bert-base-uncased 'Paris is the [MASK] of France.'",),
)
@MODEL
@TEXT
@click.option("-k", "--top", "k", type=click.IntRange(min=1), default=5, help="Number of predictions for each mask.")
@click.option("--mask", help="The mask in TEXT, if it is not the model's mask token ([MASK] or <mask>).")
@PRECISION
@download
@options.as_json
def fill_mask(
    model: str, text: str, k: int, mask: str | None, precision: str | None, download: bool, json: bool
) -> None:
    """Print the most probable tokens for each mask in TEXT, with their probabilities.

    MODEL is the folder, or the name on the hub, of an encoder with a masked language model head: BERT, ModernBERT …
    """
    from tokkit.cli.models import load_encoder
    from tokkit.cli.output import say, say_json, table

    found = load_encoder(model, precision=precision, download=download).fill_mask(text, k=k, mask=mask)
    if json:
        say_json([[guess._asdict() for guess in guesses] for guesses in found])
        return
    for number, guesses in enumerate(found, 1):
        if number > 1:
            say("")
        head = ("token", "id", "probability", "text")
        rows = [(guess.token, guess.id, f"{guess.probability:.4f}", guess.text) for guess in guesses]
        table([head, *rows], left=(0, 3))
