"""`tokkit wordvec query`, `analogy` and `similarity`: look-ups in word vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.embeddings import KeyedVectors

WHAT_IS_READ = """\b
VECTORS is a file of word2vec (.bin or text), GloVe or fastText (text), also as .gz, .bz2 or .xz, or of
KeyedVectors.save; the format is detected. Files of gensim's save are pickles: export them there with
model.wv.save_word2vec_format("vectors.bin", binary=True)."""
WIDTH = 48

vectors = click.argument("vectors", type=options.Reads())
top = click.option(
    "-k", "--top", "k", type=click.IntRange(min=1), default=10, metavar="N", help="Number of words to show."
)
limit = click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", show_default="all", help="Read only the first N vectors."
)
restrict = click.option(
    "--restrict",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="all",
    help="Search only the first N words of the file, usually the most frequent.",
)


def load(path: str, limit: int | None, duplicates: Any = "error") -> KeyedVectors:
    """Return the vectors of a file."""
    from tokkit.embeddings import KeyedVectors

    return KeyedVectors.load(path, limit=limit, duplicates=duplicates)


def check(words: KeyedVectors, given: Sequence[str], path: str) -> None:
    """Raise VocabError for the first word without a vector; the message suggests the word in another case."""
    from tokkit.errors import VocabError
    from tokkit.escaping import show

    for word in given:
        if not words.has_index_for(word):
            folded = word.casefold()
            other = next((key for key in words.index_to_key if str(key).casefold() == folded), None)
            more = f"; there is {other!r}" if other is not None else f" among its {len(words):,} words"
            raise VocabError(f"{show(path)} has no vector of {word!r}{more}")


def show_nearest(found: Sequence[tuple[Any, float]], asked: dict[str, Any], *, as_json: bool) -> None:
    """Write neighbours and their cosines, or one line of JSON with the query."""
    from tokkit.cli import output

    if as_json:
        nearest = [{"word": key, "similarity": round(score, 6)} for key, score in found]
        output.say_json({**asked, "nearest": nearest})
    else:
        for key, score in found:
            output.say(f"{score:.4f}  {key}")


@options.command(
    "query",
    group="wordvec",
    short_help="Show the words nearest to one or more words.",
    epilog=WHAT_IS_READ,
    examples=("tokkit wordvec query vectors.bin king", "tokkit wordvec query vectors.bin paris germany --minus france"),
)
@vectors
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("--minus", multiple=True, metavar="WORD", help="Subtract this word's vector; repeat for more.")
@top
@restrict
@limit
@options.as_json
def query(vectors: str, words: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show the words of VECTORS nearest to WORD; a line is the cosine and the word.

    Several words are one query: the mean of their unit vectors. With "-", each line of stdin is a query.
    """
    held = load(vectors, chosen["limit"])
    for given in _queries(words):
        check(held, [*given, *chosen["minus"]], vectors)
        found = held.most_similar(given, list(chosen["minus"]), topn=chosen["k"], restrict_vocab=chosen["restrict"])
        if words == ("-",) and not json:
            from tokkit.cli import output

            output.say(f"# {' '.join(given)}")
        show_nearest(found, {"words": given, "minus": list(chosen["minus"])}, as_json=json)


def _queries(words: tuple[str, ...]) -> Iterator[list[str]]:
    if words != ("-",):
        yield list(words)
        return
    from tokkit.cli import inputs

    yield from filter(None, map(str.split, inputs.lines(inputs.STDIN)))


@options.command(
    "analogy",
    group="wordvec",
    short_help="Answer: a is to b as c is to what?",
    epilog=WHAT_IS_READ,
    examples=("tokkit wordvec analogy vectors.bin man king woman",),
)
@vectors
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top
@click.option("--multiply", is_flag=True, help="Combine cosines by multiplication (3CosMul) instead of addition.")
@restrict
@limit
@options.as_json
def analogy(vectors: str, a: str, b: str, c: str, json: bool, **chosen: Any) -> None:
    """Show the words nearest to B − A + C: "A is to B as C is to ?".

    A, B and C themselves are left out.
    """
    held = load(vectors, chosen["limit"])
    check(held, [a, b, c], vectors)
    search = held.most_similar_cosmul if chosen["multiply"] else held.most_similar
    found = search([b, c], [a], topn=chosen["k"], restrict_vocab=chosen["restrict"])
    show_nearest(found, {"a": a, "b": b, "c": c}, as_json=json)


@options.command(
    "similarity",
    group="wordvec",
    short_help="Compare words with each other.",
    epilog=WHAT_IS_READ,
    examples=("tokkit wordvec similarity vectors.bin cat dog car",),
)
@vectors
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--file", "file", type=options.FILE, help="Take the lines of this file as words too; - is stdin.")
@click.option("--plot", type=options.Writes(), metavar="PNG", help="Also draw the matrix (needs the extra plot).")
@click.option("--html", "page", type=options.Writes(), metavar="PAGE", help="Also write the matrix as a page (HTML).")
@limit
@options.force
@options.as_json
def similarity(vectors: str, words: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show the cosine of each pair of WORDs: 1 for the same direction, about 0 for unrelated words."""
    import numpy as np

    from tokkit.cli import similarities
    from tokkit.cli.output import check as check_output

    given = similarities.texts(words, chosen["file"])
    if chosen["plot"] is not None:
        from tokkit.view import similarity_plot

        check_output(chosen["plot"], force=chosen["force"])
        similarity_plot.check()
    if chosen["page"] is not None:
        check_output(chosen["page"], force=chosen["force"])
    if len(given) > similarities.MAX_TEXTS and not json and chosen["plot"] is None and chosen["page"] is None:
        raise click.UsageError(
            f"{len(given)} words; a table has at most {similarities.MAX_TEXTS}: --html, --plot or --json show more"
        )
    held = load(vectors, chosen["limit"])
    check(held, given, vectors)
    rows = np.array([held.get_vector(word, norm=True) for word in given], dtype=np.float64)
    files = {"plot": chosen["plot"], "page": chosen["page"]}
    similarities.show(given, rows @ rows.T, **files, as_json=json, width=WIDTH, force=chosen["force"])
