"""Measures what quantization costs: perplexity, and the change of vectors, scores and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tokkit.errors import OptionError
from tokkit.pipeline.cross_encoder import CrossEncoder
from tokkit.pipeline.perplexity import text_score
from tokkit.pipeline.sentences import SentenceEncoder
from tokkit.pipeline.seq2seq_generator import Seq2SeqGenerator
from tokkit.pipeline.text_generator import TextGenerator
from tokkit.pipeline.texts import normalise
from tokkit.pipeline.token_classifier import TokenClassifier

Measures = dict[str, float]


def compared(before: Any, after: Any, text: str, *, threads: int | None = None) -> tuple[Measures, Measures]:
    """Return measures by name of a model on a text, and of the same model after quantization.

    - Decoder: the perplexity of the text. Encoder–decoder: that of the targets; each line is a text, a tab, and its
      target.
    - Encoder: the cosine between the vectors of each line before and after, mean and minimum.
    - Classifier of texts: the difference of the logits of each line, mean and maximum, and with several labels the
      share of lines with the same one. A line with a tab is a pair.
    - Classifier of tokens: the share of tokens with the same label, and the mean difference of its probability.

    OptionError for a text without such lines.
    """
    if isinstance(before, Seq2SeqGenerator):
        pairs = [_pair(line) for line in _lines(text)]
        return {"perplexity": _targets(before, pairs, threads)}, {"perplexity": _targets(after, pairs, threads)}
    if isinstance(before, TextGenerator):
        first, second = (text_score(model, text, threads=threads).perplexity for model in (before, after))
        return {"perplexity": first}, {"perplexity": second}
    lines = _lines(text)
    if isinstance(before, SentenceEncoder):
        old, new = (np.array(model.encode(lines, threads=threads)) for model in (before, after))
        for vectors in (old, new):
            normalise(vectors)
        cosines = (old * new).sum(1)
        return {}, {"cosine": float(cosines.mean()), "least_cosine": float(cosines.min())}
    if isinstance(before, CrossEncoder):
        return {}, _of_scores(*(_logits(model, lines, threads) for model in (before, after)))
    if isinstance(before, TokenClassifier):
        return {}, _of_tokens(*(model.predict(lines, threads=threads) for model in (before, after)))
    raise OptionError(f"{before!r} is not a model whose quality can be measured")


def _lines(text: str) -> list[str]:
    made = [line for line in text.splitlines() if line.strip()]
    if not made:
        raise OptionError("the text is empty; give lines to measure the models on")
    return made


def _pair(line: str) -> tuple[str, str]:
    text, tab, target = line.partition("\t")
    if not tab or not target:
        raise OptionError(
            f"the line {line[:60]!r} has no target: for an encoder–decoder a line is a text, a tab and the target"
        )
    return text, target


def _targets(model: Seq2SeqGenerator, pairs: Sequence[tuple[str, str]], threads: int | None) -> float:
    total, n = 0.0, 0
    for text, target in pairs:
        total += model.score(text, [target], threads=threads)[0]
        n += len(model.ids(target))
    return math.exp(-total / n)


def _logits(model: CrossEncoder, lines: Sequence[str], threads: int | None) -> Any:
    """Return the logits (lines, labels); pairs and texts are scored in separate calls."""
    made = np.empty((len(lines), len(model.labels)))
    for paired in (True, False):
        at = [i for i, line in enumerate(lines) if ("\t" in line) == paired]
        if not at:
            continue
        parts = [lines[i].partition("\t") for i in at]
        found = model.classify(
            [first for first, _, _ in parts], [second for _, _, second in parts] if paired else None, top_k=None,
            function_to_apply="none", threads=threads,
        )  # fmt: skip
        for i, labels in zip(at, found, strict=True):
            scores = {one["label"]: one["score"] for one in labels}
            made[i] = [scores[label] for label in model.labels]
    return made


def _of_scores(old: Any, new: Any) -> Measures:
    off = np.abs(new - old)
    made = {"difference": float(off.mean()), "greatest_difference": float(off.max())}
    if old.shape[1] > 1:
        made["same_label"] = float((old.argmax(1) == new.argmax(1)).mean())
    return made


def _of_tokens(old: Sequence[Sequence[Any]], new: Sequence[Sequence[Any]]) -> Measures:
    pairs = [pair for a, b in zip(old, new, strict=True) for pair in zip(a, b, strict=True)]
    if not pairs:
        raise OptionError("the text has no tokens")
    same = [a["entity"] == b["entity"] for a, b in pairs]
    off = [abs(a["score"] - b["score"]) for a, b in pairs]
    return {"same_label": float(np.mean(same)), "difference": float(np.mean(off))}
