"""`tokkit decode`: text from ids."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "decode",
    short_help="Turn ids into text.",
    examples=(
        "echo '9906 1917' | tokkit decode cl100k_base",
        "tokkit decode tok.json ids.npy > text.txt",
    ),
)
@options.tokenizer
@click.argument("file", type=options.FILE, default="-")
@click.option(
    "--input",
    type=click.Choice(["ids", "json", "npy", "bin"]),
    show_default="by the file's name, else ids",
    help="ids: numbers separated by spaces. json: one list per line. npy, bin: as encode writes them.",
)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    help="Type of ids in a .bin file; auto reads it from the sidecar.",
)
@click.option(
    "-o", "--output-file", type=options.OUTPUT, default="-", metavar="FILE", help="Where to write; - is stdout."
)
@click.option(
    "--unit",
    type=click.Choice(["line", "file"]),
    default="file",
    help="What each line of ids or json holds: a whole file, or one line of text without its line feed.",
)
@click.option(
    "--skip-special", is_flag=True, help="Leave out special tokens, such as those that encode --add-special adds."
)
@click.option("--any-tokenizer", is_flag=True, help="Read a .bin file even if its sidecar names another tokenizer.")
@options.force
def command(tokenizer: str, file: str, input: str | None, output_file: str, unit: str, **chosen: Any) -> None:
    """Decode the ids in FILE, or stdin, with TOKENIZER.

    The output is exactly the bytes that were encoded, even if they are not valid UTF-8.
    """
    from tokkit.cli import id_files, id_input
    from tokkit.cli.inputs import load
    from tokkit.cli.output import check, writing

    check(output_file, force=chosen["force"])
    kind = input or id_files.kind_of(file) or "ids"
    tok = load(tokenizer, chosen["pattern"])
    to_bytes = id_input.without_special(tok) if chosen["skip_special"] else tok.decode_bytes
    with writing(output_file, force=chosen["force"]) as sink:
        if kind in ("ids", "json"):
            parts = id_input.decoded_lines(tok, to_bytes, file, kind, b"\n" if unit == "line" else b"")
        else:
            anyone = chosen["any_tokenizer"]
            parts = id_input.decoded_binary(tok, to_bytes, file, kind, chosen["dtype"], any_tokenizer=anyone)
        for part in parts:
            sink.write(part)
