"""`tokkit wordvec classify`: trains fastText classifiers, tests them, and labels lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from tokkit.cli import options

if TYPE_CHECKING:
    from tokkit.embeddings import TextClassifier

LINES_AT_ONCE = 1000
_OF_TRAINING = {
    "size": "dim", "epochs": "epoch", "alpha": "lr", "loss": "loss", "word_ngrams": "wordNgrams", "min_n": "minn",
    "max_n": "maxn", "bucket": "bucket", "min_count": "minCount", "negative": "neg", "seed": "seed",
}  # fmt: skip
"""Option → argument of train_supervised."""


def _size(
    name: str, help: str, default: int, minimum: int, maximum: int | None = None
) -> Callable[[options.Decorated], options.Decorated]:
    """Return an option of training that is a number."""
    limits = click.IntRange(minimum, maximum)
    return click.option(name, type=limits, default=default, metavar="N", help=f"Training: {help}")


@options.command(
    "classify",
    group="wordvec",
    short_help="Train a text classifier (fastText), test it, or label lines with it.",
    epilog="\b\nMODEL is a file of fastText: .bin, or .ftz, which is small (quantized). In the lines of --train and\n"
    "--test words that begin with --label are labels: __label__en the cat sat.",
    examples=(
        "tokkit wordvec classify --train lines.txt -o languages.bin --min-n 2 --max-n 4",
        "tokkit wordvec classify --model languages.bin --test held-out.txt",
        "tokkit wordvec classify --model languages.bin texts.txt -k 2",
    ),
)
@options.files
@click.option("--model", type=options.Reads(), metavar="MODEL", help="The classifier to use.")
@click.option("--train", type=options.Reads(), metavar="LINES", help="Train on the lines of this file.")
@click.option("-o", "--output", type=options.Writes(), metavar="MODEL", help="Write the trained classifier here.")
@click.option(
    "--test", type=options.Reads(), metavar="LINES", help="Show precision and recall on the lines of this file."
)
@click.option(
    "-k", "--top", "k", type=click.IntRange(min=1), default=1, metavar="N", help="Maximum number of labels for a line."
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=0.0, help="Leave out labels with a lower probability."
)
@click.option("--label", default="__label__", metavar="PREFIX", help="Prefix of labels in the lines.")
@_size("--size", "dimensions of a vector.", 100, 1)
@_size("--epochs", "passes over LINES.", 5, 1)
@click.option("--alpha", type=click.FloatRange(min=0, min_open=True), default=0.1, help="Training: the learning rate.")
@click.option(
    "--loss",
    type=click.Choice(["softmax", "hs", "ns", "ova"]),
    default="softmax",
    help="Training: softmax; hs (a tree) or ns (negative samples) for many labels; ova for several labels per line.",
)
@_size("--word-ngrams", "maximum length of word n-grams.", 1, 1, 255)
@_size("--min-n", "minimum length of character n-grams.", 0, 0, 255)
@_size("--max-n", "maximum length of character n-grams; 0: none.", 0, 0, 255)
@_size("--bucket", "number of hash buckets that n-grams share.", 2_000_000, 1)
@_size("--min-count", "leave out words that occur less often.", 1, 0)
@_size("--negative", "negative samples for --loss ns.", 5, 1)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed; with --threads 1, the same seed gives the same model."
)
@options.threads
@options.force
@options.progress
@options.as_json
def command(files: tuple[str, ...], json: bool, **chosen: Any) -> None:
    """Label each line of FILE (default: stdin) with --model; print labels and probabilities.

    With --test, precision and recall are shown instead. --train makes a new classifier; together with --model, it
    continues the training of that one, with the same words, labels and options.
    """
    from tokkit.cli import output
    from tokkit.embeddings import TextClassifier

    if chosen["output"] is not None:
        output.check(chosen["output"], force=chosen["force"])
    if (chosen["train"] is None) != (chosen["output"] is None):
        raise click.UsageError("--train needs --output, the classifier to write, and the reverse: give both")
    if chosen["train"] is None and chosen["model"] is None:
        raise click.UsageError("give --model, or --train and --output")
    classifier = None
    if chosen["model"] is not None:
        classifier = TextClassifier.load(chosen["model"], label=chosen["label"])
    if chosen["train"] is not None or classifier is None:
        classifier = _trained(classifier, chosen)
    if chosen["test"] is not None:
        _test(classifier, chosen, as_json=json)
    elif chosen["train"] is not None:
        if json:
            made = {"model": chosen["output"], "words": len(classifier.words), "labels": len(classifier.labels)}
            output.say_json(made)
    else:
        _label(classifier, files, chosen, as_json=json)


def _trained(classifier: TextClassifier | None, chosen: dict[str, Any]) -> TextClassifier:
    from tokkit.embeddings import train_supervised
    from tokkit.progress import Progress

    path, given = chosen["output"], {name: chosen[option] for option, name in _OF_TRAINING.items()}
    with Progress(chosen["progress"]) as progress:

        def report(done: int, total: int, _: float) -> None:
            progress("train", done, total)

        if classifier is None:
            classifier = train_supervised(
                chosen["train"], label=chosen["label"], thread=chosen["threads"], on_progress=report, **given
            )
        else:
            same = {name: given[name] for name in ("epoch", "lr", "seed")}
            classifier.train_further(chosen["train"], thread=chosen["threads"], on_progress=report, **same)
    if path.endswith(".ftz"):
        classifier.quantize()
    classifier.save_model(path)
    return classifier


def _test(classifier: TextClassifier, chosen: dict[str, Any], *, as_json: bool) -> None:
    from tokkit.cli import output

    n, precision, recall = classifier.test(chosen["test"], chosen["k"], chosen["threshold"])
    if as_json:
        output.say_json({"lines": n, "k": chosen["k"], "precision": round(precision, 6), "recall": round(recall, 6)})
    else:
        output.say(f"{n:,} lines, {chosen['k']} labels each: precision {precision:.4f}, recall {recall:.4f}")


def _label(classifier: TextClassifier, files: tuple[str, ...], chosen: dict[str, Any], *, as_json: bool) -> None:
    from tokkit.cli import output

    lines = _lines(files)
    while batch := list(itertools.islice(lines, LINES_AT_ONCE)):
        found = classifier.predict(batch, chosen["k"], chosen["threshold"])
        for labels, probabilities in zip(*found, strict=True):
            if as_json:
                pairs = zip(labels, probabilities.tolist(), strict=True)
                output.say_json([{"label": label, "probability": round(p, 6)} for label, p in pairs])
            else:
                output.say("  ".join(f"{label} {p:.4f}" for label, p in zip(labels, probabilities, strict=True)))


def _lines(files: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of files without their ends."""
    from tokkit.cli import inputs

    for path in inputs.expand(files):
        yield from inputs.lines(path)
