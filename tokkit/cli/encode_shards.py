"""`tokkit encode-shards`: encodes the documents of many files into files of ids to train models on."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "encode-shards",
    short_help="Encode the documents of many files into shards of ids.",
    examples=(
        "tokkit encode-shards 'data/*.jsonl.gz' -o ids/ --tokenizer tok.json --eos [EOS]",
        "tokkit encode-shards data/ -o ids/ --tokenizer gpt2 --format megatron --eos 50256",
        "tokkit encode-shards data/ -o rows/ --tokenizer tok.json --pack best-fit --seq-len 2048 --pad 0",
    ),
    groups={
        "Most used": ("output", "tokenizer", "format", "eos", "bos"),
        "Rows and order": ("pack", "seq_len", "pad", "shuffle"),
        "Documents": ("unit", "field", "input_errors", "special", "dtype", "pattern"),
    },
)
@click.argument("inputs", nargs=-1, required=True, type=options.FILE, metavar="INPUT...")
@click.option("-o", "--output", required=True, type=options.Writes(), metavar="FOLDER", help="Where to write.")
@click.option(
    "--tokenizer", required=True, type=options.MODEL, metavar="TOKENIZER", help="The tokenizer to encode with."
)
@click.option(
    "--format",
    type=click.Choice(["bin", "npy", "megatron", "arrow", "parquet"]),
    default="bin",
    help="bin (raw little-endian, with a JSON sidecar) and npy: the ends of documents are in NAME.ends.npy. "
    "megatron: .bin and .idx. arrow and parquet: a column input_ids.",
)
@click.option(
    "--dtype",
    type=click.Choice(["auto", "uint16", "uint32"]),
    default="auto",
    help="Type of ids; auto is uint16 if all ids of the tokenizer fit.",
)
@click.option("--eos", metavar="TOKEN", help="Append this token (its text or its id) to each document.")
@click.option("--bos", metavar="TOKEN", help="Put this token (its text or its id) before each document.")
@click.option(
    "--pack",
    type=click.Choice(["sequential", "best-fit"]),
    show_default="documents as they are",
    help="Make rows of --seq-len ids. sequential: documents one after another. best-fit: each document in the row "
    "where it fits best, so that only documents longer than a row are cut.",
)
@click.option("--seq-len", type=click.IntRange(min=1), metavar="N", help="Number of ids in a row.")
@click.option("--pad", metavar="TOKEN", show_default="as --eos", help="The token that fills rows.")
@click.option(
    "--shuffle", type=click.IntRange(min=0), metavar="SEED", help="Shuffle the documents of each shard with this seed."
)
@click.option(
    "--unit", type=click.Choice(["line", "paragraph", "file"]), default="line", help="What a document is in text files."
)
@options.special
@options.field
@options.input_errors
@options.threads
@options.progress
@options.as_json
@options.pattern_of_file
def command(
    inputs: tuple[str, ...], output: str, tokenizer: str, json: bool, progress: str, pattern: str | None, **chosen: Any
) -> None:
    """Encode the documents of each INPUT (files as in tokkit train, folders, globs) into files in FOLDER.

    Shards that have files already are skipped: after an interruption, run the same command again. When all are done,
    manifest.json lists the shards with their numbers of ids and documents, and the sha256 of each file. In Python,
    tokkit.data.Tokens reads them.
    """
    from tokkit.cli import output as out
    from tokkit.cli.inputs import given, load
    from tokkit.data import encode_shards
    from tokkit.files.files import refuse_inputs
    from tokkit.progress import Progress

    if chosen["pack"] is None and (chosen["seq_len"] is not None or chosen["pad"] is not None):
        raise click.UsageError("--seq-len and --pad are for packed rows; add --pack")
    if chosen["pack"] is not None and chosen["seq_len"] is None:
        raise click.UsageError("--pack needs the number of ids in a row; add --seq-len")
    if chosen["pack"] is not None and chosen["pad"] is None and chosen["eos"] is None:
        raise click.UsageError("--pack needs a token that fills the rows; add --pad or --eos")
    refuse_inputs([output], given())
    tok = load(tokenizer, pattern)
    for name in ("eos", "bos", "pad"):
        token = chosen[name]
        chosen[name] = int(token) if token is not None and token.isascii() and token.isdigit() else token
    with Progress(progress) as bar:
        made = encode_shards(tok, inputs, output, progress=bar, **chosen)
    if json:
        out.say_json(
            [
                {
                    "shard": m.shard,
                    "files": [str(path) for path in m.files],
                    "tokens": m.tokens,
                    "documents": m.documents,
                    "encoded": m.encoded,
                }
                for m in made
            ]
        )
        return
    done = sum(m.encoded for m in made)
    skipped = f", {out.counted(len(made) - done, 'shard')} encoded before" if done < len(made) else ""
    tokens, documents = sum(m.tokens for m in made), sum(m.documents for m in made)
    out.say(
        f"{out.counted(done, 'shard')} encoded{skipped}: {out.counted(tokens, 'id')} of "
        f"{out.counted(documents, 'document')}"
    )
