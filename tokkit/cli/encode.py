"""`tokkit encode`: ids of a text."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options

LOSSLESS = """\b
--unit file   Each file, or .jsonl record, is encoded as one text, with its line feeds, to one line of output. The
              number of ids is that of tokkit count, and decode restores the same bytes.
--unit line   Each line of the input is encoded without its line feed to one line of output: decode it with
              --unit line. The last output line ends in a line feed if the last input line does. (npy and bin
              have no lines: there, line feeds are encoded with their lines.) This is the default for --output
              subwords."""


def _length(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None or value in ("longest", "max-length") or (value.isascii() and value.isdigit() and len(value) < 10):
        return value
    raise click.BadParameter(f"{value!r}: write longest, max-length or a number of tokens")


class Output(click.Choice):  # type: ignore[type-arg]  # no generic class in click 8.1
    """The choices of --output; "pieces" is the old name of "tokens"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the choice."""
        return super().convert("tokens" if value == "pieces" else value, param, ctx)


@options.command(
    "encode",
    short_help="Turn text into ids.",
    epilog=LOSSLESS,
    examples=(
        "echo 'Hello, world!' | tokkit encode cl100k_base",
        "tokkit encode tok.json corpus.txt -o ids.npy --threads 2",
    ),
)
@options.tokenizer
@options.files
@click.option(
    "--output",
    type=Output(["ids", "tokens", "json", "full", "subwords", "npy", "bin"]),
    show_default="by the name of FILE: .npy, .bin, .json, .jsonl; else ids",
    help="ids, json, npy and bin (raw little-endian, with a sidecar FILE.json) can be decoded again. tokens are for "
    "reading. full is one JSON object per line: ids, tokens, type ids, masks, offsets in characters, words. subwords "
    "is the text with spaces between tokens and @@ after tokens inside words, as in subword-nmt.",
)
@click.option("--add-special", is_flag=True, help="Add the special tokens that the model expects around each text.")
@click.option(
    "--pair", type=options.FILE, metavar="FILE", help="A file of second texts, one for each text of the input."
)
@click.option(
    "--max-length",
    type=click.IntRange(min=0),
    metavar="N",
    help="Truncate texts, or pairs, to N tokens, including special tokens.",
)
@click.option(
    "--truncation",
    type=click.Choice(["longest-first", "only-first", "only-second"]),
    show_default="longest-first",
    help="Which text of a pair --max-length truncates.",
)
@click.option(
    "--stride",
    type=click.IntRange(min=0),
    metavar="N",
    help="Also write the tokens that --max-length cuts off, as further lines; each begins with the last N tokens of "
    "the line before.",
)
@click.option(
    "--pad",
    callback=_length,
    metavar="longest|max-length|N",
    help="Pad lines to the longest line, to --max-length, or to N tokens.",
)
@click.option(
    "--pad-token",
    metavar="TEXT",
    show_default="that of TOKENIZER, else [PAD], <pad> or the like",
    help="The padding token.",
)
@click.option(
    "--separator", default="@@", metavar="TEXT", help="For --output subwords: the mark after a token inside a word."
)
@click.option("--explain", is_flag=True, help="For BPE: show the merges of each word in order.")
@click.option(
    "--dropout",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="For BPE: skip each merge with this probability (BPE-dropout).",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Seed of --dropout; 0 by default.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    help="Type of ids in npy and bin; auto is uint16 if all ids of the tokenizer fit, else uint32.",
)
@click.option(
    "-o", "--output-file", type=options.OUTPUT, default="-", metavar="FILE", help="Where to write; - is stdout."
)
@click.option(
    "--unit",
    type=click.Choice(["line", "file"]),
    show_default="file; line for subwords",
    help="What is encoded as one text.",
)
@options.special
@options.field
@options.input_errors
@options.threads
@options.force
@options.progress
def command(
    tokenizer: str, files: tuple[str, ...], output: str | None, dtype: str, output_file: str, **chosen: Any
) -> None:
    """Encode text files, or stdin, with TOKENIZER."""
    from tokkit.cli import encodings, id_files, subwords
    from tokkit.cli.inputs import Reading, load
    from tokkit.cli.output import check
    from tokkit.progress import Progress

    check(output_file, force=chosen["force"])
    output = id_files.kind_to_write(output_file, output, explains=chosen["explain"])
    id_files.check_stdout(output_file, output, dtype)
    more = encodings.wanted(chosen, output)
    subwords.check(output, chosen, more=more)
    encodings.check_pair(chosen["pair"], files)
    tok = load(tokenizer, chosen["pattern"])
    default: Any = "line" if output == "subwords" else "file"
    reading = Reading(chosen["unit"] or default, chosen["field"], chosen["input_errors"])
    with Progress(chosen["progress"]) as progress:
        source = id_files.Source(tok, files, reading, chosen["special"], chosen["threads"], progress)
        if more:
            encodings.write_lines(source, encodings.shape(tok, chosen), output_file, output, force=chosen["force"])
        elif output in id_files.BINARY:
            id_files.write_binary(source, output_file, output, dtype, force=chosen["force"])
        else:
            by_text = subwords.line_of(tok, output, chosen)
            id_files.write_lines(source, output_file, output, force=chosen["force"], from_text=by_text)
