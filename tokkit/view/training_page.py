"""Writes the training of a tokenizer as a standalone page that shows it step by step (merges or rounds)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokkit.engine.sampling import Merges
from tokkit.errors import OptionError
from tokkit.trainers import train
from tokkit.view.reasons import merges_of, spelt
from tokkit.view.stages import changed_by_stages
from tokkit.view.standalone import standalone

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer
    from tokkit.trainers.options import Round, Step

MODELS = ("bbpe", "bpe", "wordpiece", "unigram")
MAX_TEXT = 4000
"""Maximum characters of the text that is redrawn at each step: one screen."""
MAX_STEPS = 20_000
MAX_ROUNDS = 40
FILES = ("tokens.css", "training.css", "text.js", "training.js")
BODY = """
<form>
<button id="play" type="button">Play</button>
<button id="back" type="button">Back</button> <button id="forward" type="button">Forward</button>
<label>Step <input id="step" type="range" min="0" step="1"></label>
<label>Speed <input id="speed" type="range" min="0" max="3" step="0.1" value="0.7"></label>
</form>
<output id="readout" aria-live="off"></output>
<div id="sides">
<div id="text" class="cell" role="region" aria-label="The text in tokens" tabindex="0"></div>
<aside aria-label="What was done"><h2>Tokens of the text, by step</h2>
<div id="plot"><canvas id="curve" role="img"></canvas></div>
<h2 id="latest"></h2><ol id="list"></ol></aside>
</div>
"""


def training_html(
    source: Sequence[Any] | Mapping[str, int] | str, text: str, *, model: str = "bbpe", vocab_size: int = 1000,
    title: str = "Training", **options: Any,
) -> str:  # fmt: skip
    """Train on a small corpus, and return a page that shows a text and the vocabulary after each step.

    A step is a merge of BPE ("bbpe", "bpe") with its count, of "wordpiece" with its score too, or a round of "unigram"
    with the pieces that it removed and its likelihood. `source`, `vocab_size` and `options` are those of
    `tokkit.train`; the source is read several times, so it must not be an iterator. After a merge of WordPiece, the
    text is split by the longest matches in the vocabulary so far; after a round of Unigram, by the model that training
    to this number of pieces gives. OptionError for other models, and for a text of more than 4,000 characters.

    >>> page = training_html(["low lower lowest"] * 3, "lower", vocab_size=260)
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    if model not in MODELS:
        raise OptionError(f"model is {model!r}; it must be one of {', '.join(MODELS)}, whose training can be shown")
    if len(text) > MAX_TEXT:
        raise OptionError(f"the text has {len(text)} characters; a page shows at most {MAX_TEXT}")

    def trained(size: int | list[int], **more: Any) -> Any:
        corpus = iter(source) if isinstance(source, list) and source and _are_texts(source) else source
        return train(corpus, model=model, vocab_size=size, **options, **more)

    steps: list[Any] = []
    tok = trained(vocab_size, explain=steps.append)
    if model == "unigram":
        data = _rounds(steps, tok, text, trained)
    else:
        words = _matches(steps, tok, text) if model == "wordpiece" else _merged(tok, text)
        data = {"words": words, "merges": _told(steps)}
    return standalone(title, BODY, FILES, {"model": model, "n_tokens": len(tok), **data})


def _are_texts(source: Sequence[Any]) -> bool:
    return not any(isinstance(each, os.PathLike) or os.path.exists(str(each)[:1024]) for each in source)


def _told(steps: Sequence[Step]) -> list[Any]:
    """Return all merges with their counts, and with their scores if these differ from the counts."""
    if len(steps) > MAX_STEPS:
        raise OptionError(f"the training has {len(steps)} merges; a page shows at most {MAX_STEPS}")
    return [
        [_spelt(s.left), _spelt(s.right), s.count, None if s.left_count is None else round(float(s.score), 3)]
        for s in steps
    ]


def _merged(tok: Tokenizer, text: str) -> list[Any]:
    """Return for each word of the text its symbols, in hexadecimal, and its merges."""
    words, known = [], {}
    for symbols, merges in Merges(tok).words(text):
        if symbols not in known:
            made = merges_of(symbols, merges)
            known[symbols] = {
                "symbols": [symbol.hex() for symbol in symbols],
                "steps": [[s["rank"], s["at"]] for s in made["steps"]],
            }
        words.append(known[symbols])
    return words


def _matches(steps: Sequence[Step], tok: Tokenizer, text: str) -> list[Any]:
    """Return how longest matches split each word: before the first merge, and after each that changes it."""
    model: Any = tok.definition.model
    prefix, unknown = model.continuing_subword_prefix, model.unk_token
    born: dict[str, int] = {}
    for number, step in enumerate(steps, 1):
        born.setdefault(str(step.token), number)
    there = {token.decode("utf-8", "replace") for token, _ in tok.vocab.items()}

    def cut(word: str, number: int) -> list[str]:
        made: list[str] = []
        start = 0
        while start < len(word):
            tried = ((prefix if start else "") + word[start:end] for end in range(len(word), start, -1))
            found = next((token for token in tried if token in there and born.get(token, 0) <= number), None)
            if found is None:
                return [unknown]
            made.append(found)
            start += len(found) - (len(prefix) if start else 0)
        return made

    def cuts(word: str) -> dict[str, Any]:
        if len(word) > model.max_input_chars_per_word:
            return {"cuts": [[0, [unknown.encode().hex()], []]]}
        parts = {(prefix if a else "") + word[a:b] for a in range(len(word)) for b in range(a + 1, len(word) + 1)}
        made: list[list[Any]] = []
        for number in sorted({0} | {born[part] for part in parts if part in born}):
            tokens = cut(word, number)
            fresh = [k for k, token in enumerate(tokens) if number and born.get(token) == number]
            if fresh or not made:
                made.append([number, [token.encode().hex() for token in tokens], fresh])
        return {"cuts": made}

    stages = changed_by_stages(tok, text)
    pieces = stages[-1]["pieces"] if stages else [text]
    known: dict[str, Any] = {}
    for word in pieces:
        if word not in known:
            known[word] = cuts(word)
    return [known[word] for word in pieces]


def _spelt(token: str | bytes) -> str:
    return spelt(token if isinstance(token, bytes) else token.encode("utf-8", "replace"))


def _rounds(rounds: Sequence[Round], tok: Tokenizer, text: str, trained: Any) -> dict[str, Any]:
    """Return for each round the removed pieces, its likelihood, and the segmentation by a model of that size."""
    shown = list(rounds)[-MAX_ROUNDS:]
    more = len(tok) - (shown[-1].pieces if shown else 0)
    sizes = [each.pieces + more for each in shown]
    toks = trained(sizes) if len(sizes) > 1 else [tok] * len(sizes)
    told = [
        {
            "pieces": each.pieces, "before": each.pieces_before, "likelihood": each.log_likelihood,
            "tokens": each.tokens, "pruned": [_spelt(piece) for piece in each.pruned],
            "cut": [token.hex() for token in made(text, add_special=False).token_bytes],
        }
        for each, made in zip(shown, toks, strict=True)
    ]  # fmt: skip
    return {"rounds": told}
