"""The vectors of all-MiniLM-L6-v2 equal those of sentence-transformers."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path

import numpy as np
import pytest

import minilm
from conftest import LONG
from strategies import adversarial
from tokkit import nn
from tokkit.errors import OptionError, ShapeError

ODD = [
    "", " ", "\n\t", "a", "😀",
    "👩‍👩‍👧‍👦 family", "e\u0301\u0302" * 40, "[SEP] [CLS] [MASK]", "\u0000\ufffd", "１２３ ㍿ ﷺ",
    "word " * 10_000, "a" * 5_000, "ab cd. " * 300, "مرحبا بالعالم", "हिन्दी में लिखा", "Straße İstanbul ǅ",
]  # fmt: skip
PAIRS = [
    # Each line: a sentence, one that a person would call near to it, and one that shares words but not the matter.
    ("A man is playing a guitar.", "Someone strums a musical instrument.", "A man is playing chess in the park."),
    (
        "The bank raised its interest rates.",
        "Borrowing money became more expensive.",
        "We sat on the bank of the river.",
    ),
    (
        "How do I reset my password?",
        "I cannot log in and need new credentials.",
        "How do I reset the clock of my oven?",
    ),
    ("The cat sleeps on the sofa.", "A kitten naps on the couch.", "The dog barks at the mailman."),
    ("It rained all day in London.", "The weather in England was wet.", "London's museums are open all day."),
]
DOCUMENTS = [
    "To change a flat tyre, loosen the nuts, jack up the car and put on the spare wheel.",
    "Boil the pasta in salted water for nine minutes and keep a cup of the water for the sauce.",
    "The French Revolution began in 1789 with the storming of the Bastille.",
    "Photosynthesis turns sunlight, water and carbon dioxide into sugar and oxygen.",
    "Push the commits to a branch and open a pull request for review.",
]
MONEY = ["I paid the cheque into my account at the bank.", "The bank raised the interest rate on my loan.",
         "She works as a cashier in a bank."]  # fmt: skip
RIVER = ["We had a picnic on the grassy bank of the river.", "The boat drifted towards the muddy bank.",
         "Willows grow along the bank of the stream."]  # fmt: skip
QUERIES = ["my car has a puncture", "how long to cook spaghetti", "when did the king of France fall",
           "how do plants make food", "submitting code changes with git"]  # fmt: skip


def test_vectors_equal_those_of_sentence_transformers(shared: Path) -> None:
    texts = minilm.sentences(shared, 1000 if LONG else 60)
    expected = minilm.rival().encode(texts, normalize_embeddings=True)
    assert np.abs(minilm.encoder().encode(texts) - expected).max() < 1e-5


def test_odd_and_adversarial_texts_give_equal_vectors() -> None:
    texts = [*ODD, *(adversarial(seed, 80) for seed in range(40))]
    texts = [text.encode("utf-8", "replace").decode() for text in texts]  # the rival takes no lone surrogates
    expected = minilm.rival().encode(texts, normalize_embeddings=True)
    assert np.abs(minilm.encoder().encode(texts) - expected).max() < 1e-5


def test_order_batches_and_threads_change_nothing() -> None:
    model = minilm.encoder()
    texts = [line for pair in PAIRS for line in pair] + ODD
    together = model.encode(texts, threads=1)
    alone = np.concatenate([model.encode([text], threads=1) for text in texts])
    assert np.abs(together - alone).max() < 1e-6
    assert np.abs(model.encode(texts[::-1])[::-1] - together).max() < 1e-6
    for options in ({"batch_tokens": 1}, {"batch_tokens": 300}, {"threads": 2}, {"threads": 5, "batch_tokens": 700}):
        assert np.abs(model.encode(texts, **options) - together).max() < 1e-6, options


@pytest.mark.parametrize(("precision", "least", "mean"), [("bf16", 0.9999, 0.9999), ("int8", 0.995, 0.998)])
def test_lower_precisions_stay_near_full_precision(shared: Path, precision: str, least: float, mean: float) -> None:
    texts = minilm.sentences(shared, 600 if LONG else 120)
    full, low = (minilm.encoder(kind).encode(texts) for kind in ("fp32", precision))
    lengths = np.array([len(minilm.encoder().tokenizer.encode(text)) for text in texts])
    cosines = (full * low).sum(1)[lengths >= 3]
    assert cosines.mean() >= mean
    assert np.quantile(cosines, 0.01) >= least
    assert minilm.encoder(precision).precision == precision


def test_near_sentences_rank_before_those_with_the_same_words() -> None:
    model = minilm.encoder()
    for sentence, near, far in PAIRS:
        a, b, c = model.encode([sentence, near, far])
        assert a @ b > a @ c, sentence


def test_queries_find_their_documents() -> None:
    model = minilm.encoder()
    found = model.similarity(model.encode(QUERIES), model.encode(DOCUMENTS))
    assert found.shape == (5, 5)
    assert found.argmax(1).tolist() == [0, 1, 2, 3, 4]


def test_what_a_call_may_ask_for_is_done() -> None:
    model = minilm.encoder()
    assert model.encode([]).shape == (0, 384)
    assert (model.dimension, model.max_length, model.n_layers, model.n_heads) == (384, 256, 6, 12)
    cut = model.encode(["One sentence."], truncate_dim=64)
    assert cut.shape == (1, 64)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), 1, atol=1e-6)
    # This model makes vectors of length 1 itself, before columns are cut.
    whole = model.encode(["One sentence."], normalize=False)
    np.testing.assert_allclose(model.encode(["One sentence."], normalize=False, truncate_dim=64), whole[:, :64])
    whole = model.encode(["query: One sentence."])
    np.testing.assert_allclose(model.encode(["One sentence."], prompt="query: "), whole, atol=1e-6)
    np.testing.assert_allclose(model.encode([b"query: One sentence."]), whole, atol=1e-6)
    np.testing.assert_allclose(model.encode([b"One sentence."], prompt="query: "), whole, atol=1e-6)
    done: list[tuple[int, int]] = []
    model.encode(["a"] * 3, progress=lambda *numbers: done.append(numbers))
    assert done == [(3, 3)]
    with nn.threads(1):
        assert model.encode(["a"], special="text").shape == (1, 384)


def test_a_cut_text_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    from tokkit import pipeline

    model = pipeline.load(minilm.folder(), max_length=8)
    assert model.max_length == 8
    with caplog.at_level(logging.WARNING):
        model.encode(["one two three four five six seven"])
        model.encode(["one two three four five six seven eight nine"])
    assert [record.getMessage() for record in caplog.records] == [
        "a text has 9 tokens; the model reads only the first 8 (this warning is shown once)"
    ]


def test_options_that_cannot_work_are_refused() -> None:
    model = minilm.encoder()
    with pytest.raises(TypeError, match="NoneType"):
        model.encode([None])
    # Behind a prompt too, where bytes(5) would be five NULs.
    for bad in (5, [97], None):
        with pytest.raises(TypeError, match=f"text 1 is {type(bad).__name__}; it must be str or bytes"):
            model.encode(["a", bad], prompt="query: ")
    with pytest.raises(ValueError, match="not valid UTF-8"):
        model.encode([b"\xff"], prompt="query: ")
    for options in ({"prompt": 5}, {"prompt_name": ["query"]}):
        with pytest.raises(TypeError, match="it must be str"):
            model.encode(["a"], **options)
    for options in ({"truncate_dim": 0}, {"truncate_dim": 385}, {"batch_tokens": 0}, {"threads": 0}):
        with pytest.raises(OptionError):
            model.encode(["a"], **options)
    with pytest.raises(OptionError, match="no prompt 'query'; it has none"):
        model.encode(["a"], prompt_name="query")
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(1, 4\)"):
        model.similarity(np.ones((2, 3)), np.ones((1, 4)))


def test_the_two_senses_of_bank_part_behind_the_last_layer_and_not_in_the_table() -> None:
    model = minilm.encoder()
    money, river = ([model.word_vectors(text, "bank") for text in texts] for texts in (MONEY, RIVER))

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    across = [cosine(a[1], b[1]) for a in money for b in river]
    within = [cosine(a[1], b[1]) for side in (money, river) for a, b in itertools.combinations(side, 2)]
    assert min(within) > max(across)
    assert all(cosine(a[0], b[0]) == pytest.approx(1) for a in money for b in river)


def test_the_fingerprint_is_of_the_model_and_not_of_its_precision() -> None:
    first = minilm.encoder().fingerprint()
    assert len(first) == 64
    assert minilm.encoder("int8").fingerprint() == first
