"""Writes the training of a tokenizer as a standalone page on which each merge, or each round, is a step to watch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokkit.errors import OptionError
from tokkit.sampling.subwords import Merges
from tokkit.trainers import train
from tokkit.view.reasons import merges_of, spelt
from tokkit.view.standalone import standalone

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer
    from tokkit.trainers.options import Round, Step

MODELS = ("bbpe", "bpe", "unigram")
MAX_TEXT = 4000
"""Characters of the text that is redrawn at each step: a screen of it."""
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
<aside aria-label="What was done"><canvas id="curve" role="img"></canvas>
<h2 id="latest"></h2><ol id="list"></ol></aside>
</div>
"""


def training_html(
    source: Sequence[Any] | Mapping[str, int] | str, text: str, *, model: str = "bbpe", vocab_size: int = 1000,
    title: str = "Training", **options: Any,
) -> str:  # fmt: skip
    """Train on a small corpus, and return a page that shows how: each step redraws a text and the vocabulary.

    A step is a merge of BPE ("bbpe", "bpe") with its count, or a round of "unigram" with the pieces that it removed and
    its likelihood. `source`, `vocab_size` and `options` are those of `tokkit.train`; the source is read again for each
    model, so it must not be an iterator. The text after a round of Unigram is cut by the model that training to as many
    pieces gives. OptionError for other models, and for a text of more than 4,000 characters.

    >>> page = training_html(["low lower lowest"] * 3, "lower", vocab_size=260)
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    if model not in MODELS:
        raise OptionError(f"model is {model!r}; the training that can be watched is that of {', '.join(MODELS)}")
    if len(text) > MAX_TEXT:
        raise OptionError(f"the text has {len(text)} characters; a page redraws at most {MAX_TEXT}")

    def trained(size: int | list[int], **more: Any) -> Any:
        corpus = iter(source) if isinstance(source, list) and source and _are_texts(source) else source
        return train(corpus, model=model, vocab_size=size, **options, **more)

    steps: list[Any] = []
    tok = trained(vocab_size, explain=steps.append)
    data = _rounds(steps, tok, text, trained) if model == "unigram" else _merges(steps, tok, text)
    return standalone(title, BODY, FILES, {"model": model, "n_tokens": len(tok), **data})


def _are_texts(source: Sequence[Any]) -> bool:
    return not any(isinstance(each, os.PathLike) or os.path.exists(str(each)[:1024]) for each in source)


def _merges(steps: Sequence[Step], tok: Tokenizer, text: str) -> dict[str, Any]:
    """Return all merges with their counts, and for each word of the text its symbols, in hexadecimal, and merges."""
    if len(steps) > MAX_STEPS:
        raise OptionError(f"the training has {len(steps)} merges; a page shows at most {MAX_STEPS}")
    words, known = [], {}
    for symbols, merges in Merges(tok).words(text):
        if symbols not in known:
            made = merges_of(symbols, merges)
            known[symbols] = {
                "symbols": [symbol.hex() for symbol in symbols],
                "steps": [[s["rank"], s["at"]] for s in made["steps"]],
            }
        words.append(known[symbols])
    told = [[_spelt(step.left), _spelt(step.right), step.count] for step in steps]
    return {"words": words, "merges": told}


def _spelt(token: str | bytes) -> str:
    return spelt(token if isinstance(token, bytes) else token.encode("utf-8", "replace"))


def _rounds(rounds: Sequence[Round], tok: Tokenizer, text: str, trained: Any) -> dict[str, Any]:
    """Return what each round removed, its likelihood, and the text as a model of as many pieces cuts it."""
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
