"""`tokkit model rerank`, `classify` and `entities`: commands that run the heads of encoders."""

from __future__ import annotations

from typing import Any

import click

from tokkit.cli import options
from tokkit.cli.model_search import download
from tokkit.cli.model_views import PRECISION

MODEL = click.argument("model", type=options.MODEL)
TOGETHER = 64
"""Number of texts that are read at a time."""
WIDTH = 80
"""Maximum characters of a text in a table."""


@options.command(
    "rerank",
    group="model",
    short_help="Sort documents by how well they answer a query.",
    examples=(
        "tokkit model rerank cross-encoder/ms-marco-MiniLM-L6-v2 'where do herons fish' notes.txt --top 3",
        "grep -i heron notes.txt | tokkit model rerank ./bge-reranker-base 'where do herons fish'",
    ),
)
@MODEL
@click.argument("query")
@options.files
@click.option(
    "-k", "--top", "k", type=click.IntRange(min=1), metavar="N", show_default="all", help="Number of documents to show."
)
@click.option("--full", is_flag=True, help="Show whole documents instead of snippets.")
@click.option(
    "--instruction",
    metavar="TEXT",
    show_default="for documents that answer a web search",
    help="For a causal language model: the instruction that says which documents match a query.",
)
@PRECISION
@download
@options.field
@options.input_errors
@options.threads
@options.as_json
def rerank(model: str, query: str, files: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Sort the lines of FILE, or records of .jsonl, by how well they answer QUERY; show score, file:line and a snippet.

    MODEL is the folder, or the name on the hub, of a cross-encoder (an architecture …ForSequenceClassification with one
    label) or of a causal language model that is trained to answer yes or no (Qwen3-Reranker). The exit code is 1 if
    there are no documents.
    """
    from tokkit.cli.embedding import show_hits
    from tokkit.cli.errors import note
    from tokkit.cli.models import load_reranker
    from tokkit.cli.passages import passages, shown
    from tokkit.errors import OptionError

    if not query.strip():
        raise OptionError("the query is empty")
    loaded = load_reranker(
        model, instruction=chosen["instruction"], precision=chosen["precision"], download=chosen["download"]
    )
    found = list(passages(files, chosen))
    if not found:
        note(f"{shown(files)}: no documents; each non-blank line is a document")
        raise click.exceptions.Exit(1)
    ranked = loaded.rank(query, [hit.text for hit in found], chosen["k"], threads=chosen["threads"])
    hits = [found[one["corpus_id"]]._replace(score=one["score"]) for one in ranked]
    show_hits(query, hits, as_json=json, whole=chosen["full"], headed=False)


@options.command(
    "classify",
    group="model",
    short_help="Label texts: their sentiment, topic or language.",
    examples=(
        "tokkit model classify distilbert-sst2 'A film to fall asleep over.'",
        "tokkit model classify ./languages --file lines.txt --top 3 --json",
        "tokkit model classify ./roberta-mnli 'It rained all day.' --pair 'The ground is wet.'",
    ),
)
@MODEL
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--file", "file", type=options.FILE, help="Take the lines of this file as texts too; - is stdin.")
@click.option(
    "--pair",
    metavar="TEXT",
    help="A second text for every TEXT, for models that read pairs, such as entailment models.",
)
@click.option(
    "-k",
    "--top",
    "k",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Number of labels to print for each text.",
)
@PRECISION
@download
@options.field
@options.input_errors
@options.threads
@options.as_json
def classify(model: str, texts: tuple[str, ...], file: str | None, json: bool, **chosen: Any) -> None:
    """Print the most probable labels of each TEXT with their scores; with --json, one object per text.

    MODEL is the folder, or the name on the hub, of a text classifier (an architecture …ForSequenceClassification).
    """
    from tokkit.cli.models import load_classifier
    from tokkit.cli.output import say_json, table
    from tokkit.cli.passages import passages
    from tokkit.search.snippets import snippet

    given = list(texts)
    if file is not None:
        given += [hit.text for hit in passages([file], chosen)]
    if not given:
        raise click.UsageError("no text given; give TEXT, or a file with --file")
    loaded = load_classifier(model, precision=chosen["precision"], download=chosen["download"])
    pairs = None if chosen["pair"] is None else [chosen["pair"]] * len(given)
    found = loaded.classify(given, pairs, top_k=chosen["k"], threads=chosen["threads"])
    if json:
        for text, labels in zip(given, found, strict=True):
            say_json({"text": text, "labels": labels})
        return
    rows = [
        [one["label"], f"{one['score']:.4f}", snippet(text, width=WIDTH) if i == 0 else ""]
        for text, labels in zip(given, found, strict=True)
        for i, one in enumerate(labels)
    ]
    table([["label", "score", "text"], *rows], left=(0, 2))


@options.command(
    "entities",
    group="model",
    short_help="Find names, places and other entities in a text.",
    examples=(
        "tokkit model entities dslim/bert-base-NER letter.txt",
        "tokkit model entities ./parts-of-speech --aggregation first --json < letter.txt",
    ),
)
@MODEL
@options.files
@click.option(
    "--aggregation",
    type=click.Choice(["none", "simple", "first", "average", "max"]),
    default="simple",
    help="How labels of tokens become entities. none: not at all. simple: join neighbours with equal labels. first, "
    "average, max: choose one label for each word, then join.",
)
@click.option("--ignore", multiple=True, default=("O",), metavar="LABEL", help="Leave out this label; repeat for more.")
@click.option(
    "--stride",
    type=click.IntRange(min=0),
    metavar="N",
    show_default="a quarter of the model's maximum length",
    help="Tokens by which windows of a long text overlap.",
)
@PRECISION
@download
@options.field
@options.input_errors
@options.threads
@options.as_json
def entities(model: str, files: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Print the entities of each FILE, or record of .jsonl: label, score, span in characters, and text.

    MODEL is the folder, or the name on the hub, of a token classifier (an architecture …ForTokenClassification). With
    --json, there is one object per text. The exit code is 1 if there is no text.
    """
    import itertools

    from tokkit.cli.embedding import place
    from tokkit.cli.errors import note
    from tokkit.cli.models import load_tagger
    from tokkit.cli.output import say, say_json, table
    from tokkit.cli.passages import passages, shown
    from tokkit.search.snippets import printable

    loaded = load_tagger(model, precision=chosen["precision"], download=chosen["download"])
    hits, n_texts = passages(files, chosen, by_line=False), 0
    while some := list(itertools.islice(hits, TOGETHER)):
        n_texts += len(some)
        found = loaded.entities(
            [hit.text for hit in some], aggregation_strategy=chosen["aggregation"], ignore_labels=chosen["ignore"],
            stride=chosen["stride"], threads=chosen["threads"],
        )  # fmt: skip
        for hit, own in zip(some, found, strict=True):
            if json:
                say_json({"path": hit.path, "record": hit.record, "entities": own})
                continue
            if len(files) > 1 or hit.record:
                say(f"# {place(hit)}")
            rows = [
                [one.get("entity_group", one.get("entity")), f"{one['score']:.4f}", one["start"], one["end"],
                 printable(hit.text[one["start"] : one["end"]])]
                for one in own
            ]  # fmt: skip
            table([["label", "score", "start", "end", "text"], *rows], left=(0, 4))
    if not n_texts:
        note(f"{shown(files)}: no text")
        raise click.exceptions.Exit(1)
