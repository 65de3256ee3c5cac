"""`tokkit inspect`: what a tokenizer is made of, and how it splits a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

SPLIT_BY = {
    "scanner": "the scanner in C",
    "compiled": "the pattern compiled, in C",
    "regex": "the regex package, slowly",
    "components": "the pretokenizer, in C",
    "model": "nothing before the model",
}
SHOWN = 12
"""Number of entries of a list that are shown without --all."""


@options.command(
    "inspect",
    short_help="Show what a tokenizer is, and how it splits a text.",
    examples=(
        "tokkit inspect tok.json --sample 'Your own sentence.'",
        "tokkit inspect tok.json --tokens",
        "tokkit inspect tok.json --all",
        "tokkit inspect tok.json --report report.html --text de.txt --text fr.txt",
    ),
)
@options.tokenizer
@click.option("--tokens", is_flag=True, help="List all tokens with their ids instead.")
@click.option("--all", "whole", is_flag=True, help=f"Show whole lists, not only the first {SHOWN} of each.")
@click.option("--sample", metavar="TEXT", help="Show the tokens, ids and offsets (in characters) of this text.")
@click.option(
    "--report", type=options.Writes(), metavar="HTML", help="Write a page (HTML) about the whole vocabulary instead."
)
@click.option(
    "--text", "texts", type=options.FILE, multiple=True, help="A text that --report measures; repeat for more."
)
@options.force
@options.special
@options.as_json
def command(
    tokenizer: str, pattern: str | None, tokens: bool, whole: bool, sample: str | None, report: str | None,
    texts: tuple[str, ...], force: bool, **chosen: Any,
) -> None:  # fmt: skip
    """Show a tokenizer's model, sizes, split pattern, special tokens, longest tokens and first merges.

    With --report, write a page: types, scripts and lengths of tokens; tokens per word of each --text (default: the
    bundled corpus); and tokens that are never used, that only occur as intermediate steps of merges, or that encoding
    their own text does not give.
    """
    from tokkit.cli import pipeline
    from tokkit.cli.inputs import load
    from tokkit.cli.output import say, say_json
    from tokkit.cli.token_text import readable
    from tokkit.view.stages import stages_of

    if report is not None:
        write_report(load(tokenizer, pattern), tokenizer, report, texts, force=force)
        return
    tok = load(tokenizer, pattern)
    if tokens:
        show_tokens(tok, as_json=chosen["json"])
        return
    about = {"file": tokenizer, **facts(tok)}
    tree = pipeline.nodes(tok.definition)
    about["pipeline"] = pipeline.as_json(tree)
    if sample is not None:
        about["stages"] = stages_of(tok, sample, chosen["special"])
        about["sample"] = tokens_of(tok, sample, chosen["special"])
    if chosen["json"]:
        say_json(about)
        return
    for name, value in about.items():
        if name not in ("pipeline", "stages", "sample"):
            said = listed(value, whole=whole) if isinstance(value, list) else value or "-"
            say(f"{name.replace('_', ' '):<15} {said}")
    say("")
    say("pipeline")
    for line in pipeline.lines(tree):
        say(line)
    if sample is not None:
        say("")
        say("stages")
        for name, pieces in about["stages"]:
            say(f"  {name:<26} {' | '.join(readable(piece.encode()) for piece in pieces)}")
        show_sample(about["sample"])


def write_report(tok: Tokenizer, name: str, report: str, files: Sequence[str], *, force: bool) -> None:
    """Write the page of --report."""
    import os

    from tokkit.cli.inputs import Reading
    from tokkit.cli.output import check, counted, say
    from tokkit.files.files import write_atomically
    from tokkit.view import report_html

    check(report, force=force)
    texts = {file: "".join(Reading("file").texts(file)) for file in files} or None
    page = report_html(tok, texts, title=f"Vocabulary: {os.path.basename(name.rstrip('/'))}")
    write_atomically(report, page.encode())
    say(f"{report}: {counted(len(page), 'byte')}; open it in a browser")


def listed(values: list[str], *, whole: bool) -> str:
    """Return a list as one line; a shortened one says how many entries are missing and how to show them."""
    from tokkit.cli.token_text import shortened

    shown = "  ".join(map(shortened, values if whole else values[:SHOWN]))
    n_more = 0 if whole else len(values) - SHOWN
    return (f"{shown}  … and {n_more} more (--all shows them)" if n_more > 0 else shown) or "none"


def facts(tok: Tokenizer) -> dict[str, Any]:
    """Return all facts about the tokenizer, in the order in which they are shown."""
    from tokkit.cli import pipeline
    from tokkit.cli.token_text import merges, readable
    from tokkit.definition import Split
    from tokkit.formats.byte_vocabulary import merge_list
    from tokkit.models.bpe import BPE
    from tokkit.pretokenizers import patterns

    model, split = tok.definition.model, tok.definition.pretokenizer
    by_bytes: dict[str, Any] = {}
    kind = pipeline.model_line(model)
    if isinstance(model, BPE) and isinstance(split, Split):
        names = [name for name, pattern in patterns.NAMES.items() if pattern == split.pattern]
        ranks = "ranks (the lowest id merges first)" if model.merges is None else "a list of merges"
        by_bytes = {
            "model": f"byte-level BPE, {ranks}",
            "merges": len(merge_list(tok.definition)[0]),
            "pattern": names[0] if names else split.pattern or "none",
            "first_merges": merges(tok, 10),
        }
    special = set(tok.special_tokens.values())
    longest = sorted((token for token, id_ in tok.vocab.items() if id_ not in special), key=len)
    return {
        "name": tok.name or None,
        "model": by_bytes.pop("model", kind),
        "tokens": len(tok.vocab),
        "ids": tok.n_ids,
        **{name: by_bytes.pop(name) for name in ("merges", "pattern") if name in by_bytes},
        "engine": engine(tok),
        "split_by": SPLIT_BY[tok.split_engine] + (f" ({tok.split_reason})" if tok.split_reason else ""),
        "cut_into_parts": f"no: {tok.whole_reason}" if tok.whole_reason else "yes, for threads and in blocks of files",
        "special_tokens": [f"{text}={id_}" for text, id_ in tok.special_tokens.items()],
        "longest_tokens": [readable(token) for token in longest[:-9:-1]],
        **by_bytes,
        "fingerprint": tok.fingerprint(),
    }


def engine(tok: Tokenizer) -> str:
    """Return a line that says which engine runs the tokenizer."""
    from tokkit.models.bpe import BPE
    from tokkit.models.sentencepiece import SentencePieceModel

    by_bytes = isinstance(tok.definition.model, BPE)
    if isinstance(tok.definition.model, SentencePieceModel):
        return "SentencePiece, fused, in C"
    if not tok.in_stages:
        return "byte-level BPE, fused, in C"
    return "stage by stage, then byte-level BPE in C" if by_bytes else "stage by stage, in C"


def tokens_of(tok: Tokenizer, text: str, special: str) -> list[dict[str, Any]]:
    """Return the text, id and character offsets of each token of a text."""
    from tokkit.cli.token_text import readable

    encoding = tok(text, special=special, truncation=None, padding=None)
    rows = zip(encoding.ids, encoding.token_bytes, encoding.offsets, strict=True)
    return [{"id": id_, "token": readable(token), "start": a, "end": b} for id_, token, (a, b) in rows]


def show_sample(tokens: list[dict[str, Any]]) -> None:
    """Print one token a line."""
    from tokkit.cli.output import counted, say, table

    say("")
    rows = [(t["token"], t["id"], f"{t['start']}-{t['end']}") for t in tokens]
    table([("token", "id", "characters"), *rows])
    say(counted(len(tokens), "token"))


def show_tokens(tok: Tokenizer, *, as_json: bool) -> None:
    """Print the id and text of every token, one a line."""
    from tokkit.cli.output import say_json, stdout
    from tokkit.cli.token_text import readable

    if as_json:
        say_json([{"id": id_, "token": readable(token), "bytes": token.hex()} for token, id_ in tok.vocab.items()])
        return
    out = stdout()
    for token, id_ in tok.vocab.items():
        out.write(f"{id_}\t{readable(token)}\n".encode())
