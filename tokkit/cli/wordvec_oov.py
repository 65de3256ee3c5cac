"""`tokkit wordvec oov`: neighbours of out-of-vocabulary words, from their character n-grams."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options


@options.command(
    "oov",
    group="wordvec",
    short_help="Show the words nearest to an out-of-vocabulary word.",
    epilog="\b\nMODEL is a .bin file of fastText with skip-gram or CBOW, as FastText.save writes it. Files of vectors\n"
    "alone, as .vec, have no n-grams: `tokkit wordvec query` reads them.",
    examples=("tokkit wordvec oov model.bin unbelievablest", "tokkit wordvec oov model.bin sailoring --subwords"),
)
@click.argument("model", type=options.Reads())
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
@click.option("-k", "--top", "k", type=click.IntRange(min=1), default=10, metavar="N", help="Number of words to show.")
@click.option("--subwords", is_flag=True, help="Show the nearest n-grams instead of words.")
@options.as_json
def command(model: str, words: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Show the words of MODEL nearest to each WORD, which may be unknown; a line is the cosine and the word."""
    from tokkit.cli import output
    from tokkit.embeddings.fasttext import load_facebook_vectors
    from tokkit.errors import VocabError

    vectors = load_facebook_vectors(model)
    for word in words:
        if word not in vectors or not vectors.get_vector(word).any():
            raise VocabError(f"{word!r} is not in the vocabulary, and the model has none of its n-grams")
        search = vectors.most_similar_subwords if chosen["subwords"] else vectors.most_similar
        nearest = search(word, topn=chosen["k"])
        known = vectors.has_index_for(word)
        if json:
            found = [{"word": name, "similarity": round(cosine, 6)} for name, cosine in nearest]
            output.say_json({"word": word, "known": known, "nearest": found})
            continue
        output.say(f"# {word}" + ("" if known else " (not in the vocabulary)"))
        for name, cosine in nearest:
            output.say(f"{cosine:.4f}  {name}")
