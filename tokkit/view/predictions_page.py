"""Writes a language model's predictions along a text as one standalone HTML page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tokkit.errors import OptionError
from tokkit.view.standalone import in_base64, standalone
from tokkit.view.token_spans import told

if TYPE_CHECKING:
    from tokkit.pipeline.causal_model import CausalModel

MAX_TOKENS = 100_000
"""Maximum number of tokens in a page: 9 MB of HTML with 5 alternatives each. For more, choose a part of the text."""
FILES = ("tokens.css", "predictions.css", "text.js", "tokens.js", "panes.js", "predictions.js")
BODY = """
<p id="about"></p>
<form>
<label>Colours <select id="by"><option value="surprise">surprise: bits of the token</option>
<option value="rank">rank of the token</option>
<option value="doubt">doubt: entropy before it, in bits</option></select></label>
<label><input id="marks" type="checkbox" checked> White space</label>
<span id="scale" aria-hidden="true"></span>
</form>
<div id="sides">
<section><div id="panes" role="region" aria-label="Tokens of the text; arrow keys move"></div>
<output id="readout" aria-live="polite">Point at a token, or move with the arrow keys.</output></section>
<aside aria-live="polite"><h2 id="where">After the text</h2><table id="best"></table>
<button id="after" type="button">Show what comes after the text</button></aside>
</div>
"""


def predictions_html(
    model: CausalModel, text: str, *, k: int = 5, window: int | None = None, stride: int | None = None,
    title: str = "Expected tokens", threads: int | None = None,
) -> str:  # fmt: skip
    """Return a page in which the tokens of a text are coloured by their probability under a model.

    Colours show -log2 p, the rank, or the entropy before the token. Pointing at a token, or moving with the arrow keys,
    shows its probability and the k most probable tokens there; at first, those after the text. `window` and `stride`
    are those of `tokkit.pipeline.perplexity.text_score`. The page loads nothing, and tokens in it are escaped.
    OptionError for a text without tokens, or with more than 100,000.

    <!-- model = tokkit.pipeline.load("gpt2"); predictions_html(model, "The sky is blue.") -->
    """
    from tokkit.pipeline.predictions import predictions

    n = len(model.ids(text))
    if n > MAX_TOKENS:
        raise OptionError(f"the text has {n:,} tokens; a page holds {MAX_TOKENS:,}: give a part of it")
    made = predictions(model, text, k=k, window=window, stride=stride, threads=threads)
    bits = -float(made.logprobs.sum()) / math.log(2)
    about = f"{n:,} tokens"
    if n > 1:
        perplexity = math.exp(-float(made.logprobs.mean()))
        about += f"; perplexity {perplexity:.3f}, {bits / len(made.text):.4f} bits per byte"
    data = {
        "utf8": in_base64(np.frombuffer(made.text, dtype=np.uint8), "u1"),
        "ids": in_base64(made.ids, "<u4"), "starts": in_base64(made.starts, "<u4"), "ends": in_base64(made.ends, "<u4"),
        "logprobs": in_base64(made.logprobs, "<f4"), "ranks": in_base64(made.ranks, "<u4"),
        "entropies": in_base64(made.entropies, "<f4"),
        "best": in_base64(made.best_ids, "<u4"), "of_best": in_base64(made.best_logprobs, "<f4"),
        "k": made.best_ids.shape[1], "n_ids": model.decoder.config.vocab_size, "about": about,
        "tokens": told(model.tokenizer, np.unique(np.concatenate([made.ids, made.best_ids.ravel()])).tolist()),
    }  # fmt: skip
    return standalone(title, BODY, FILES, data)
