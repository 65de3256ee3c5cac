"""`backend_tokenizer` of the drop-in for transformers: what it shows, and how changes to it take effect."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import tokkit
from tokkit.compat import transformers as face
from tokkit.compat.tokenizers import AddedToken, Tokenizer, normalizers, processors

MERGES = [("l", "o"), ("lo", "w")]
VOCAB = {token: id_ for id_, token in enumerate(["l", "o", "w", "lo", "low", "Ġ", "<s>", "</s>"])}


@pytest.fixture
def tok() -> Any:
    return face.GPT2Tokenizer(VOCAB, MERGES, bos_token="<s>", eos_token="</s>", unk_token=None)


def test_the_backend_is_a_tokenizer_of_the_face_of_tokenizers(tok: Any) -> None:
    backend = tok.backend_tokenizer
    assert isinstance(backend, Tokenizer)
    assert backend is tok._tokenizer
    assert backend.encode("low lo").ids == tok("low lo").input_ids == [4, 5, 3]
    assert backend.pre_tokenizer.pre_tokenize_str("low lo") == [("low", (0, 3)), ("Ġlo", (3, 6))]
    assert json.loads(backend.to_str())["model"]["type"] == "BPE"
    assert tok.decoder.decode(["low", "Ġ", "lo"]) == "low lo"
    assert tokkit.from_tokenizers(tok).encode("low") == [4]


def test_what_is_changed_in_the_backend_counts_from_the_next_call(tok: Any) -> None:
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 6), ("</s>", 7)]
    )
    assert tok("low").input_ids == [6, 4, 7]
    assert tok.num_special_tokens_to_add() == 2
    tok.backend_tokenizer.normalizer = normalizers.Lowercase()
    assert tok("LOW").input_ids == [6, 4, 7]
    tok._tokenizer.add_tokens([AddedToken("<new>")])
    assert tok.convert_tokens_to_ids("<new>") == 8
    assert len(tok) == 9
    assert tok("low<new>").input_ids == [6, 4, 8, 7]


def test_changes_reach_what_is_saved_but_no_copies(tok: Any, tmp_path: Any) -> None:
    tok.backend_tokenizer.normalizer = normalizers.Lowercase()
    other = copy.deepcopy(tok)
    tok.backend_tokenizer.normalizer = None
    assert other("LOW").input_ids == [4]
    assert tok("LOW").input_ids == []
    assert pickle.loads(pickle.dumps(other))("LOW").input_ids == [4]
    other.save_pretrained(tmp_path)
    assert face.PreTrainedTokenizerFast.from_pretrained(tmp_path)("LOW").input_ids == [4]
    # The class builds its own stages, without the normalizer, as in transformers.
    assert face.AutoTokenizer.from_pretrained(tmp_path)("LOW").input_ids == []


def test_tokens_added_to_the_face_are_in_its_backend(tok: Any) -> None:
    assert tok.backend_tokenizer.token_to_id("<new>") is None
    tok.add_tokens(["<new>"])
    assert tok.backend_tokenizer.token_to_id("<new>") == 8
    assert tok("<new>").input_ids == [8]


def test_a_vocabulary_that_a_class_cannot_use_is_named() -> None:
    with pytest.raises(tokkit.FormatError, match="XLNetTokenizer needs the pieces and scores of a Unigram model"):
        face.XLNetTokenizer({"a": 0})
