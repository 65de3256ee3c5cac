"""`tokkit wordvec eval` and `convert`: evaluates word vectors, and writes them in other formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options
from tokkit.cli.wordvec_query import WHAT_IS_READ, limit, load, vectors

if TYPE_CHECKING:
    from tokkit.embeddings import KeyedVectors
    from tokkit.embeddings.evaluation import Analogies, Pairs

FORMATS = {".bin": "bin", ".txt": "text", ".vec": "text", ".safetensors": "saved", ".kv": "saved"}
"""Suffix of a target → its format; a suffix of compression may follow."""


@options.command(
    "eval",
    group="wordvec",
    short_help="Evaluate vectors on analogies and on similarity judgements.",
    epilog=WHAT_IS_READ,
    examples=(
        "tokkit wordvec eval vectors.bin --analogies questions-words.txt",
        "tokkit wordvec eval vectors.bin --pairs wordsim353.tsv",
    ),
)
@vectors
@click.option(
    "--analogies",
    type=options.Reads(),
    metavar="FILE",
    help='File of analogies: four words per line; a line ": NAME" begins a section.',
)
@click.option(
    "--pairs",
    type=options.Reads(),
    metavar="FILE",
    help="File of similarity judgements: two words and a number per line, separated by --delimiter.",
)
@click.option("--delimiter", default="\t", show_default="a tab", help="Separator of the fields in --pairs.")
@click.option(
    "--restrict",
    type=click.IntRange(min=1),
    default=300_000,
    metavar="N",
    help="Use only the first N words of the file, usually the most frequent.",
)
@click.option("--case-sensitive", is_flag=True, help="Treat words that differ only in case as different.")
@click.option(
    "--count-unknown", is_flag=True, help="Count questions with unknown words as wrong, instead of leaving them out."
)
@limit
@options.as_json
def evaluate(vectors: str, json: bool, **chosen: Any) -> None:
    """Show the accuracy on analogies by section, or the correlation with human similarity judgements.

    "a b c d" is correct if d is the nearest word to b − a + c. For pairs, the Pearson and Spearman correlations are
    shown, with p-values.
    """
    from tokkit.embeddings import evaluation

    if chosen["analogies"] is None and chosen["pairs"] is None:
        raise click.UsageError("give --analogies FILE, --pairs FILE, or both")
    words = load(vectors, chosen["limit"])
    how = {
        "restrict_vocab": chosen["restrict"],
        "case_insensitive": not chosen["case_sensitive"],
        "dummy4unknown": chosen["count_unknown"],
    }
    said: dict[str, Any] = {}
    if chosen["analogies"] is not None:
        answered = evaluation.analogies(words, chosen["analogies"], **how)
        said["analogies"] = _analogies(answered, as_json=json)
    if chosen["pairs"] is not None:
        judged = evaluation.pairs(words, chosen["pairs"], delimiter=chosen["delimiter"], **how)
        said["pairs"] = _pairs(judged, as_json=json)
    if json:
        from tokkit.cli import output

        output.say_json(said)


def _analogies(found: Analogies, *, as_json: bool) -> dict[str, Any]:
    """Return the result for JSON; otherwise write it as a table."""
    from tokkit.cli import output

    parts = [(part.section, len(part.correct), len(part.correct) + len(part.incorrect)) for part in found.sections]
    total = found.total
    parts.append(("all", len(total.correct), len(total.correct) + len(total.incorrect)))
    if not as_json:
        rows = [[name, right, n, f"{100 * right / n:.1f} %" if n else "-"] for name, right, n in parts]
        output.table([["analogies", "right", "of", ""], *rows])
        if found.n_unknown or found.n_invalid:
            output.say(f"{found.n_unknown:,} with unknown words; {found.n_invalid:,} lines are not four words")
    sections = [{"section": name, "right": right, "of": n} for name, right, n in parts[:-1]]
    return {
        "score": total.score,
        "right": parts[-1][1],
        "of": parts[-1][2],
        "unknown": found.n_unknown,
        "invalid": found.n_invalid,
        "sections": sections,
    }


def _pairs(found: Pairs, *, as_json: bool) -> dict[str, Any]:
    """Return the result for JSON; otherwise write it as a table."""
    from tokkit.cli import output

    both = {"pearson": found.pearson, "spearman": found.spearman}
    if not as_json:
        rows = [[name, f"{value.statistic:.4f}", f"{value.pvalue:.2g}"] for name, value in both.items()]
        output.table([[output.counted(found.n, "pair"), "correlation", "p-value"], *rows])
        if found.n_unknown or found.n_invalid:
            output.say(f"{found.n_unknown:,} with unknown words; {found.n_invalid:,} lines are not a judged pair")
    values = {name: dict(value._asdict()) for name, value in both.items()}
    return {**values, "pairs": found.n, "unknown": found.n_unknown, "invalid": found.n_invalid}


@options.command(
    "convert",
    group="wordvec",
    short_help="Write vectors in another format.",
    epilog=WHAT_IS_READ,
    examples=(
        "tokkit wordvec convert glove.6B.300d.txt vectors.bin --limit 200000",
        "tokkit wordvec convert vectors.bin vectors.safetensors",
    ),
)
@click.argument("source", type=options.Reads())
@click.argument("target", type=options.Writes())
@click.option(
    "--to",
    "form",
    type=click.Choice(["bin", "text", "glove", "saved"]),
    show_default="by the suffix of TARGET",
    help="bin and text (.txt, .vec): word2vec's formats. glove: text without a header. saved: a .safetensors file, "
    "which is memory-mapped.",
)
@click.option(
    "--duplicates",
    type=click.Choice(["error", "first"]),
    default="error",
    help="If a word occurs twice in the file: stop with an error, or keep its first vector.",
)
@limit
@options.force
def convert(source: str, target: str, form: str | None, duplicates: str, limit: int | None, force: bool) -> None:
    """Write the vectors of SOURCE to TARGET: .bin, .txt, .vec (also with .gz, .bz2, .xz), or .safetensors.

    A .safetensors file is memory-mapped, so it loads at once whatever its size, and it keeps the counts of words.
    """
    from tokkit.cli import errors, output
    from tokkit.escaping import show

    output.check(target, force=force)
    form = form or form_of(target, "; or give --to")
    words = load(source, limit, duplicates)
    write(words, target, form)
    errors.note(f"{show(target)}: {output.counted(len(words), 'vector')} of {words.vector_size} numbers")


def write(words: KeyedVectors, target: str, form: str | None = None) -> None:
    """Write vectors in a format, by default the one that the target's suffix implies."""
    form = form or form_of(target)
    if form == "saved":
        words.save(target)
    else:
        words.save_word2vec_format(target, binary=form == "bin", write_header=form != "glove")


def form_of(target: str, otherwise: str = "") -> str:
    """Return the format that a target's suffix implies; UsageError for an unknown suffix."""
    import os

    from tokkit.embeddings.formats.detection import compression

    packed = compression(target)
    suffix = os.path.splitext(target[: len(target) - len(packed)])[1].lower()
    form = FORMATS.get(suffix)
    if form is None or (packed and form == "saved"):
        raise click.UsageError(
            f"{os.path.basename(target)!r} has no known suffix: end it in .bin, .txt or .vec (then .gz, .bz2 or .xz), "
            f"or in .safetensors{otherwise}"
        )
    return form
