"""`tokkit view`: shows the tokens of a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

MAX_WORD = 200
"""Maximum characters of the word of --why: the steps of longer words would fill many screens."""


@options.command(
    "view",
    short_help="Show the tokens of a text, in colours.",
    examples=(
        "echo 'Hello, world!' | tokkit view cl100k_base",
        "tokkit view cl100k_base --why ' tokenizers'",
        "tokkit view cl100k_base notes.txt --side-by-side o200k_base --html -o notes.html",
    ),
)
@options.tokenizer
@options.files
@click.option("--ids", is_flag=True, help="Show the id after each token.")
@click.option(
    "--colour",
    "--color",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours: auto uses them at a terminal unless NO_COLOR is set. Without colours, tokens are separated by bars.",
)
@click.option(
    "--side-by-side",
    "others",
    type=options.MODEL,
    multiple=True,
    metavar="TOKENIZER",
    help="Compare with this tokenizer, line by line; repeat for more.",
)
@click.option(
    "--why",
    metavar="WORD",
    help="Explain the tokens of WORD: show its merges (BPE), paths (Unigram) or matches (WordPiece).",
)
@click.option("--html", "as_page", is_flag=True, help="Write one standalone page (HTML) with all texts.")
@click.option("-o", "--output", type=options.Writes(), help="The file of the page.  [default: tokens.html]")
@options.force
@options.special
@options.field
@options.input_errors
def command(
    tokenizer: str, files: tuple[str, ...], ids: bool, colour: str, others: tuple[str, ...], as_page: bool,
    why: str | None, output: str | None, force: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Show the tokens of each text and their number; a character that is split between tokens is shown as bytes.

    With --side-by-side, each line of the text is shown once per tokenizer; tokens that the first tokenizer does not
    have are marked.
    """
    from tokkit.cli.inputs import Reading, expand, load
    from tokkit.cli.output import check, counted, put, say
    from tokkit.cli.token_lines import compared_lines, in_colours, shown_tokens
    from tokkit.corpus.text_counts import RULE

    if as_page or output is not None:
        output = output or "tokens.html"
        check(output, force=force)
    toks = {tokenizer: load(tokenizer, chosen["pattern"])} | {name: load(name) for name in others}
    if why is not None:
        if files or output is not None:
            raise click.UsageError("--why shows one word: it cannot be combined with FILE or --html")
        say_why(toks, why)
        return
    reading = Reading("file", chosen["field"], chosen["input_errors"])
    texts = (text for path in expand(files) for text in reading.texts(path))
    if output is not None:
        from tokkit.files.files import write_atomically
        from tokkit.view import html

        page = html(toks, "".join(texts), title=f"Tokens: {', '.join(files) or 'a text'}", special=chosen["special"])
        write_atomically(output, page.encode())
        say(f"{output}: {counted(len(page), 'byte')}; open it in a browser")
        return
    coloured = in_colours(colour)
    lines: Iterable[str]
    totals, n_bytes = dict.fromkeys(toks, 0), 0
    for text in texts:
        if others:
            lines, counts = compared_lines(toks, text, special=chosen["special"], with_ids=ids, coloured=coloured)
        else:
            lines, n = shown_tokens(toks[tokenizer], text, special=chosen["special"], with_ids=ids, coloured=coloured)
            counts = {tokenizer: n}
        for line in lines:
            put(line)
        totals = {name: totals[name] + counts[name] for name in toks}
        n_bytes += len(text.encode())
    for name, n_tokens in totals.items():
        rate = f", {n_bytes / n_tokens:.2f} bytes per token" if n_tokens else ""
        said = f"{counted(n_tokens, 'token')}, {counted(n_bytes, 'byte')}{rate} ({RULE})"
        say(f"{name}: {said}" if others else said)


def say_why(toks: Mapping[str, Tokenizer], word: str) -> None:
    """Print how each tokenizer makes the tokens of a word."""
    from tokkit.cli.output import say
    from tokkit.view import why_lines
    from tokkit.view.reasons import why

    if len(word) > MAX_WORD:
        raise click.BadParameter(f"it has {len(word)} characters; it may have {MAX_WORD}", param_hint="--why")
    for name, tok in toks.items():
        if len(toks) > 1:
            say(f"== {name}")
        for line in why_lines.lines(why(tok, word)):
            say(line)
