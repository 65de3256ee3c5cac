"""Makes every page of tokkit from small data, for checks that hold for all of them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np

import generators
import tokkit
from tokkit import pipeline, view
from tokkit.embeddings import KeyedVectors
from tokkit.pipeline.attention import Attention
from tokkit.view import compare, notebook

HOSTILE = "</script><img src=x onerror='document.title=1'><b onclick=alert(1)>\u202eevil\u2066 \x1b[31mred\x07 <!--"
"""A text that ends a script, has event handlers, turns the writing and colours a terminal, where it is not escaped."""
LINES = [
    "The lowest tree of the newest forest is lower than the widest one.",
    "Tokenizers split text into tokens: na\u00efve caf\u00e9 menus, \u6771\u4eac, 3.14159, \U0001f642.",
    "def count(words):\n    return len(words)",
    "Stra\u00dfen und Wege; \u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u043c\u0438\u0440.",
]
TEXT = "\n".join(LINES) + "\n"
MODELS = ("bbpe", "wordpiece", "unigram")
NAMES = (
    "tokens", "tokens-empty", "tokens-side-by-side", "tokens-hostile", "training-bbpe", "training-wordpiece",
    "training-unigram", "training-hostile", "report", "report-hostile", "predictions", "predictions-hostile", "vectors",
    "vectors-hostile", "similarity", "similarity-hostile", "sizes", "sizes-hostile", "attention", "attention-grid",
    "attention-lines", "attention-hostile", "notebook-encoding", "notebook-attention", "notebook",
)  # fmt: skip
"""The pages that `pages` makes."""


def toks() -> dict[str, tokkit.Tokenizer]:
    """Return a tokenizer of each model that has merges, matches or a lattice."""
    sizes = dict(zip(MODELS, (390, 160, 110), strict=True))
    return {model: tokkit.train(iter(LINES * 4), model=model, vocab_size=size) for model, size in sizes.items()}


def pages(folder: Path) -> dict[str, str]:
    """Return all pages by name; titles, names and labels of those that end in -hostile are hostile."""
    made = toks()
    made["bbpe"] = made["bbpe"].with_special_tokens({"<|end|>": 900})
    one, model = made["bbpe"], pipeline.load(generators.folder(folder / "model", max_position_embeddings=80))
    return {
        "tokens": view.html(one, TEXT * 3, special="all"),
        "tokens-empty": view.html(one, ""),
        "tokens-side-by-side": view.html(made, TEXT * 3),
        "tokens-hostile": view.html({HOSTILE: one, "b": made["unigram"]}, HOSTILE + "\n" + TEXT, title=HOSTILE),
        **{f"training-{name}": view.training_html(LINES * 4, TEXT, model=name, vocab_size=n)
           for name, n in zip(MODELS, (330, 140, 70), strict=True)},
        "training-hostile": view.training_html([HOSTILE] * 4, HOSTILE, vocab_size=290, title=HOSTILE),
        "report": view.report_html(one, dict(zip(("trees", "languages", "code", "more"), LINES, strict=True))),
        "report-hostile": view.report_html(tokkit.train(iter([HOSTILE] * 3), vocab_size=290), {HOSTILE: HOSTILE}),
        "predictions": view.predictions_html(model, TEXT, k=4),
        "predictions-hostile": view.predictions_html(model, HOSTILE, k=3, title=HOSTILE),
        **_of_vectors(), **_of_sizes(), **_of_attention(), **_of_notebooks(one, made["unigram"]),
    }  # fmt: skip


def _of_vectors() -> dict[str, str]:
    random = np.random.default_rng(0)
    words = ["king", "queen", "castle", "cat", "dog", "mouse", "Paris", "Rome", "Berlin", "na\u00efve"]
    words += [f"word{k}" for k in range(30)]
    vectors = random.normal(size=(len(words), 8)) + random.normal(size=(6, 8))[np.arange(len(words)) % 6] * 3
    counts = (5000 / (1 + np.arange(len(words)))).astype(int)
    texts = [line.split("\n")[0] for line in LINES]
    texts += ["A cat sat on the mat.", "The dog sat on the log.", "low", HOSTILE]
    unit = vectors[: len(texts)] / np.linalg.norm(vectors[: len(texts)], axis=1, keepdims=True)
    hostile = [HOSTILE, *words[1:]]
    return {
        "vectors": view.vectors_html(words, vectors, counts=counts),
        "vectors-hostile": view.vectors_html(hostile, vectors, title=HOSTILE),
        "similarity": view.similarity_html(unit[:-1] @ unit[:-1].T, texts[:-1]),
        "similarity-hostile": view.similarity_html(unit @ unit.T, texts, title=HOSTILE),
    }


def _of_sizes() -> dict[str, str]:
    def rows(names: tuple[str, ...], file: str) -> list[dict[str, object]]:
        return [
            {"model": name, "vocab_size": n, "tokens": int(9e5 / n**0.3 * (1 + k / 9)), "unused_rate": n / 9e4,
             "bytes_per_token": n**0.2 + k / 9, "tokens_per_word": 6 / n**0.15 + k / 5,
             "oov_rate": None if k == 0 else 0.1 / n**0.5,
             "files": {"english": {"tokens_per_word": 1.3 + k / 9}, file: {"tokens_per_word": 2.1}},
             "lengths": {str(i): 40 // i for i in range(1, 9)}, "longest_tokens": ["internationalization", file]}
            for k, name in enumerate(names) for n in (1000, 4000, 16000, 64000)
        ]  # fmt: skip

    return {
        "sizes": view.sizes_html(rows(MODELS, "german")),
        "sizes-hostile": view.sizes_html(rows((HOSTILE, "b"), HOSTILE), title=HOSTILE),
    }


def _of_attention() -> dict[str, str]:
    random = np.random.default_rng(0)
    tokens = ["[CLS]", "the", "low", "##est", "tree", "of", "the", "new", "##est", "forest", ".", "[SEP]"]
    weights = random.dirichlet(np.full(len(tokens), 0.3), size=(4, 6, len(tokens)))
    hostile = [HOSTILE, *tokens[1:]]
    page = view.attention_html(weights, tokens)
    return {
        "attention": page,
        "attention-grid": page.replace('value="grid"', 'value="grid" selected'),
        "attention-lines": page.replace('value="lines"', 'value="lines" selected'),
        "attention-hostile": view.attention_html(weights, hostile, title=HOSTILE),
    }


def _of_notebooks(tok: tokkit.Tokenizer, other: tokkit.Tokenizer) -> dict[str, str]:
    """Return what notebooks show, each as the page that is in its frame, and the tables as one page."""
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 3))
    words = KeyedVectors.of(["cat", HOSTILE, "car"], np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    table = compare({"bpe": tok, HOSTILE: other}, {"en": LINES[0], HOSTILE: LINES[1]})
    things = [tok, table, words.most_similar("cat")]
    frames = {"encoding": tok(HOSTILE + TEXT), "attention": Attention(["low", HOSTILE, "er"], weights)}
    made = {}
    for name, thing in frames.items():
        (page,) = re.findall('srcdoc="(.*)"', notebook.shown(thing), re.DOTALL)
        made[f"notebook-{name}"] = html.unescape(page)
    body = "".join(f"<p>{notebook.shown(thing)}</p>" for thing in [*things, *frames.values()])
    head = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    style = "<style>:root { color-scheme: light dark } body { font: 14px sans-serif }</style>"
    made["notebook"] = f"{head}<title>Notebook</title>{style}<body>{body}</body></html>"
    return made
