"""`tokkit encode`: ids of a text."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options

LOSSLESS = """\b
--unit line   each line of the input is encoded without its line feed and gives one line of output. The last
              output line ends in a line feed where the last input line did, so that decode gives back the same
              bytes. A .jsonl record is one line of output. (npy and bin have no lines: there, line feeds are
              encoded with their lines.)
--unit file   each file is encoded as a whole, line feeds and all, and gives one line of output; decode it with
              --unit file. This is the default for npy and bin."""


def _length(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None or value in ("longest", "max-length") or (value.isascii() and value.isdigit() and len(value) < 10):
        return value
    raise click.BadParameter(f"{value!r} is none of longest, max-length and a number of tokens")


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
    type=click.Choice(["ids", "pieces", "json", "full", "subwords", "npy", "bin"]),
    show_default="by the name of FILE: .npy, .bin, .json, .jsonl; else ids",
    help="ids and json can be decoded, and so can npy and bin (raw little-endian, with FILE.json beside it); pieces "
    "are to look at; full is a JSON object a line: ids, pieces, type ids, masks, offsets in characters, words; "
    "subwords is the text with spaces between its tokens and @@ inside of words, as subword-nmt's.",
)
@click.option("--add-special", is_flag=True, help="Put the special tokens around each text that the model wants.")
@click.option("--pair", type=options.FILE, metavar="FILE", help="Second texts, one for each text of the input.")
@click.option(
    "--max-length",
    type=click.IntRange(min=0),
    metavar="N",
    help="Cut texts, or pairs, to N tokens, special tokens counted.",
)
@click.option(
    "--truncation",
    type=click.Choice(["longest-first", "only-first", "only-second"]),
    show_default="longest-first",
    help="Which text of a pair --max-length cuts.",
)
@click.option(
    "--stride",
    type=click.IntRange(min=0),
    metavar="N",
    help="Write what --max-length cuts off too, in lines that begin with the last N tokens of the line before.",
)
@click.option(
    "--pad",
    callback=_length,
    metavar="longest|max-length|N",
    help="Fill lines up to the longest, to --max-length, or to N tokens.",
)
@click.option(
    "--pad-token",
    metavar="TEXT",
    show_default="as TOKENIZER says, else [PAD], <pad> or the like",
    help="The token to pad with.",
)
@click.option("--separator", default="@@", metavar="TEXT", help="What is after a token inside of a word, for subwords.")
@click.option("--explain", is_flag=True, help="Show the merges of each word in order, for BPE.")
@click.option(
    "--dropout", type=click.FloatRange(0, 1), metavar="P", help="Pass each merge over with this probability, for BPE."
)
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Of --dropout's chance; 0 if not given.")
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    help="Width of npy and bin; auto is uint16 where all ids of the tokenizer fit.",
)
@click.option(
    "-o", "--output-file", type=options.OUTPUT, default="-", metavar="FILE", help="Where to write; - is stdout."
)
@click.option(
    "--unit",
    type=click.Choice(["line", "file"]),
    show_default="line; file for npy and bin",
    help="What is encoded at once.",
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
    from tokkit.cli.progress import Progress

    check(output_file, force=chosen["force"])
    output = id_files.kind_to_write(output_file, output, explains=chosen["explain"])
    id_files.check_stdout(output_file, output, dtype)
    more = encodings.wanted(chosen, output)
    subwords.check(output, chosen, more=more)
    encodings.check_pair(chosen["pair"], files)
    tok = load(tokenizer, chosen["pattern"])
    default: Any = "file" if output in id_files.BINARY else "line"
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
