"""Old names of arguments and attributes work, with a DeprecationWarning."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokkit
from tokkit import Tokenizer, nn, pipeline, renamed
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.models.wordlevel import WordLevel
from tokkit.nn.encoder import TextEncoder, embedding_shapes
from tokkit.pretokenizers.whitespace import Whitespace

VOCAB = tokkit.Vocab.from_list([b"a", b"b", b"ab"])
WEIGHT = np.eye(4, dtype=np.float32)
CONFIG = nn.TransformerConfig(dim=8, n_heads=2)


def definition(**options: Any) -> tokkit.Definition:
    return tokkit.Definition(VOCAB, WordLevel(unk_token="a"), Whitespace(), **options)


def text_encoder(**options: Any) -> TextEncoder:
    tables = embedding_shapes(CONFIG, vocab_size=9, positions=7, types=0)
    shapes = {f"embeddings.{name}": shape for name, shape in tables.items()} | CONFIG.shapes()
    return TextEncoder(CONFIG, nn.initial(shapes, seed=0), **options)


@pytest.mark.parametrize(
    ("old", "call", "read"),
    [
        ("foreign", lambda: definition(foreign=frozenset({2})), lambda made: made.added_ids == {2}),
        ("foreign", lambda: definition(added_ids=frozenset({2})).foreign, lambda made: made == {2}),
        ("foreign", lambda: merge_ids(VOCAB, [("a", "b")], foreign=[]), lambda made: made.tolist() == [[0, 1, 2]]),
        ("foreign", lambda: CharBPE(merges=[[0, 1, 2]]).encoder(VOCAB, foreign=[]), lambda made: made is not None),
        ("kind", lambda: nn.Linear(WEIGHT, kind="int8"), lambda made: made.dtype == "int8"),
        ("kind", lambda: nn.Linear(WEIGHT, dtype="int8").kind, lambda made: made == "int8"),
        ("kind", lambda: nn.LMHead(WEIGHT, kind="int8"), lambda made: made is not None),
        ("kind", lambda: nn.TransformerConfig(dim=8, n_heads=2, kind="int8"), lambda made: made.dtype == "int8"),
        ("first", lambda: text_encoder(first=2), lambda made: made.embeddings.max_length == 5),
        ("skipped", lambda: text_encoder(skipped=1), lambda made: made.embeddings.max_length == 7),
        ("most", lambda: text_encoder().embeddings.most, lambda made: made == 7),
        ("Guess", lambda: pipeline.Guess, lambda made: made is pipeline.FillMaskResult),
        ("Inside", lambda: pipeline.Inside, lambda made: made is pipeline.HiddenStates),
    ],
)
def test_an_old_name_works_and_warns(old: str, call: Callable[[], Any], read: Callable[[Any], bool]) -> None:
    with pytest.warns(DeprecationWarning, match=old) as told:
        made = call()
    assert read(made)
    assert told[0].filename == __file__, "the warning names the line that uses the old name"


def test_an_argument_given_by_both_names_is_refused() -> None:
    with pytest.raises(TypeError, match="dtype twice"):
        nn.Linear(WEIGHT, kind="int8", dtype="int8")


def test_what_keywords_decorate_keeps_its_name_and_docstring() -> None:
    @renamed.keywords(old="new")
    def function(*, new: int) -> int:
        """Return it."""
        return new

    assert (function(new=3), function.__name__, function.__doc__) == (3, "function", "Return it.")


def test_a_model_of_ones_own_may_take_its_ids_by_the_old_name() -> None:
    class Own(WordLevel):
        def encoder(self, vocab: tokkit.Vocab, foreign: Any = ()) -> Any:  # type: ignore[override]
            return super().encoder(vocab, added_ids=foreign)

    with pytest.warns(DeprecationWarning, match="Own"):
        ids = Tokenizer(tokkit.Definition(VOCAB, Own(unk_token="a"), Whitespace())).encode("b a")
    assert ids == [1, 0]


def test_a_pickle_with_the_old_name_loads() -> None:
    made = definition(added_ids=frozenset({2}))
    call, (form, values) = made.__reduce__()
    old = {"foreign" if name == "added_ids" else name: value for name, value in values.items()}
    assert call(form, old).added_ids == pickle.loads(pickle.dumps(made)).added_ids == {2}
