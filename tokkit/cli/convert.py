"""`tokkit convert`: writes a tokenizer in another format, and checks on a corpus that the ids are equal."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options
from tokkit.cli.help import Command

FORMATS = ("tokenizer.json", "tiktoken", "sentencepiece", "gpt2", "vocab.txt", "tekken.json", "rwkv", "gguf")


def _ids(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, int] | None:
    """Return text → id for values such as TEXT=ID."""
    found: dict[str, int] = {}
    for value in values:
        text, equals, id_ = value.rpartition("=")
        if not (text and equals and id_.isdecimal()):
            raise click.BadParameter(f"{value!r}: write the text and its id, as in '<|endoftext|>=100257'")
        found[text] = int(id_)
    return found or None


@options.command(
    "convert",
    cls=Command,
    short_help="Write a tokenizer in another format with equal ids.",
    groups={
        "Most used": ("verify", "format", "force"),
        "Source": ("pattern", "special_token", "lowercase"),
        "Corpus": ("special", "unit", "field", "input_errors"),
    },
    examples=(
        "tokkit convert cl100k_base.tiktoken tokenizer.json --verify corpus.txt",
        "tokkit convert tokenizer.json model.tiktoken",
    ),
)
@click.argument("source", type=options.MODEL)
@click.argument("target", type=options.OUTPUT)
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    show_default="by the name of TARGET",
    help="Format to write; gpt2 is a directory: vocab.json, merges.txt, added_tokens.json.",
)
@options.pattern_of_file
@click.option(
    "--special-token",
    multiple=True,
    callback=_ids,
    metavar="TEXT=ID",
    help="A special token that SOURCE, a .tiktoken file for example, does not have; repeat for more.",
)
@click.option(
    "--lowercase/--cased",
    default=None,
    show_default="from the settings in its folder",
    help="Whether the text for a vocab.txt is lowercased.",
)
@click.option(
    "--verify",
    multiple=True,
    type=options.FILE,
    metavar="CORPUS",
    show_default="the corpus that comes with tokkit",
    help="Encode this file before and after, and compare; repeat for more.",
)
@options.special
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    default="paragraph",
    help="What a document of CORPUS is.",
)
@options.field
@options.input_errors
@options.threads
@click.option(
    "--lossy",
    is_flag=True,
    help="Write TARGET even if its format changes the ids of some texts, and report the differences.",
)
@options.force
@options.as_json
def command(source: str, target: str, json: bool, **chosen: Any) -> None:
    """Write the tokenizer SOURCE to TARGET in another format that gives the same ids; otherwise nothing is written.

    Formats: tokenizer.json, .tiktoken (its pattern and special tokens are written to a .json next to it), .model, a
    folder or vocab.json for vocab.json + merges.txt, vocab.txt, tekken.json, rwkv_vocab_NAME.txt, .gguf (vocabulary
    only, no tensors). If a format cannot hold a property of SOURCE, an error says why. The new files are loaded again,
    and a corpus is encoded with both tokenizers: if any id differs, the exit code is 1. --lossy writes the files even
    then, and compares only if --verify is given.
    """
    from tokkit.cli import inputs, output
    from tokkit.cli.errors import note
    from tokkit.conversion import convert
    from tokkit.loading import load

    _check(target, chosen["format"], force=chosen["force"])
    cased = chosen["lowercase"]
    tok = inputs.load(source, chosen["pattern"]) if cased is None else load(source, lowercase=cased)
    if chosen["special_token"]:
        tok = tok.with_special_tokens(chosen["special_token"])
    done = convert(
        tok,
        target,
        verify=inputs.expand(chosen["verify"]) if chosen["verify"] else None,
        overwrite=chosen["force"],
        **{name: chosen[name] for name in ("format", "special", "unit", "field", "input_errors", "threads", "lossy")},
    )
    for difference in done.differences:
        note(f"{target}: {difference}")
    found = done.verified
    if json:
        says = {"files": list(map(str, done.files)), "documents": found.documents, "tokens": found.tokens}
        differences = [*map(str, done.differences), *([] if found.mismatch is None else [str(found.mismatch)])]
        output.say_json({**says, "equal": found.equal, "differences": differences})
    else:
        output.say("  ".join(map(str, done.files)))
        compared = f"{output.counted(found.documents, 'document')}, {output.counted(found.tokens, 'token')}"
        output.say(f"{compared}: {'equal ids' if found.equal else f'other ids, first in {found.mismatch}'}")
    if chosen["verify"] and not found.equal:
        click.get_current_context().exit(1)


def _check(target: str, format: str | None, *, force: bool) -> None:
    """Raise the error that writing would raise, before the work."""
    import os

    from tokkit import formats
    from tokkit.cli import inputs, output
    from tokkit.files.files import refuse_inputs

    if target == output.STDOUT:
        raise click.UsageError("TARGET is one file or several: name it, as in tokenizer.json")
    refuse_inputs([target], inputs.given())
    names = formats.names_of(target, format)
    if os.path.basename(names[0]) in formats.VOCABS and not os.path.isdir(os.path.dirname(names[0]) or os.curdir):
        return  # the folder is made then
    for path in names:
        output.check(path, force=force)
