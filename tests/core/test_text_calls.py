"""The calls that the core answers without a frame of Python give what the engine gives, and refuse what it refuses."""

from __future__ import annotations

import inspect
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tokkit
from strategies import adversarial, documents
from tokkit.errors import OptionError, TokkitError
from tokkit.models.wordlevel import WordLevel
from tokkit.vocab import Vocab

CALLS = ("encode", "encode_ordinary", "count")
LIMIT = 2048  # GIL_FREE_BYTES: longer texts are the engine's
FAMILIES = ("gpt2", "bert-base-uncased", "mistral-v1", "t5", "clip")


def outcome(call: Callable[[], object]) -> object:
    """Return the result, or the class and text of the error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


def same(tok: tokkit.Tokenizer, text: Any, **policy: Any) -> None:
    engine, special = tok._engine, policy.get("special", "text")
    assert outcome(lambda: tok.encode(text, **policy)) == outcome(lambda: engine.encode(text, special))
    assert outcome(lambda: tok.count(text, **policy)) == outcome(lambda: engine.count(text, special))
    if not policy:
        assert outcome(lambda: tok.encode_ordinary(text)) == outcome(lambda: engine.encode(text))


@pytest.mark.parametrize("name", FAMILIES)
def test_texts_of_any_length_and_width_have_the_ids_of_the_engine(shared: Path, name: str) -> None:
    tok = tokkit.load(shared / "vocabs" / name / "tokenizer.json")
    texts = [*documents(4701, 20, longest=300), *(adversarial(4702 + k, 500) for k in range(4)), "", "<s>a</s>"]
    for character in ("a", " b", "é", "한", "😀", "\ud800"):
        texts += [character, *(character * (LIMIT // len(character) + k) for k in (-1, 0, 1))]
    for text in texts:
        same(tok, text)


@pytest.mark.parametrize("special", ["text", "".join(["te", "xt"]), "raise", "all", {"<|end|>"}, frozenset(), None])
def test_each_policy_goes_its_way(tok: tokkit.Tokenizer, special: Any) -> None:
    for text in ("low<|end|>", "lower", "<|end|><|endoftext|>"):
        same(tok, text, special=special)
    assert tok.encode("<|end|>", special="all") == [tok.special_tokens["<|end|>"]] != tok.encode("<|end|>")


@pytest.mark.parametrize("text", [None, 3, ["low"], b"\xff", bytearray(b"low"), memoryview(b"low"), b"low", "low"])
def test_other_types_are_encoded_or_refused_with_the_same_words(tok: tokkit.Tokenizer, text: object) -> None:
    same(tok, text)
    with pytest.raises(OptionError):
        tok.encode("low", special="some")


def test_a_pretoken_without_a_token_is_named() -> None:
    tok = tokkit.Tokenizer(tokkit.Definition(Vocab.from_list([b"low"]), WordLevel(unk_token="<unk>"), None))
    same(tok, "low")
    same(tok, "high")
    with pytest.raises(TokkitError, match="high"):
        tok.encode("high")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_says_what_it_takes_and_takes_names(tok: tokkit.Tokenizer, name: str) -> None:
    call = getattr(tok, name)
    wanted = ["text"] if name == "encode_ordinary" else ["text", "special"]
    assert list(inspect.signature(call).parameters) == wanted
    assert inspect.getdoc(call)
    assert "(" not in (inspect.getdoc(call) or "").splitlines()[0]
    assert call(text="low") == call("low")
    for wrong in ((), ("low", "all")):
        with pytest.raises(TypeError):
            call(*wrong)


@pytest.mark.parametrize("name", CALLS)
def test_a_text_in_place_of_the_tokenizer_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match="descriptor"):
        getattr(tokkit.Tokenizer, name)("low")


def test_a_subclass_overrides_and_a_bound_call_is_pickled(tok: tokkit.Tokenizer) -> None:
    found = Marked(tok.definition)
    assert found.encode("low") == [-1, *tok.encode("low")]
    assert found.fits("low", found.count("low"))
    assert pickle.loads(pickle.dumps(found)).encode("low") == found.encode("low")
    assert pickle.loads(pickle.dumps(tok.encode))("low") == tok.encode("low")


class Marked(tokkit.Tokenizer):
    def encode(self, text: Any, *, special: Any = "text") -> list[int]:
        return [-1, *super().encode(text, special=special)]


def test_a_tokenizer_that_was_not_set_up_raises(tok: tokkit.Tokenizer) -> None:
    for name in CALLS:
        with pytest.raises(AttributeError):
            getattr(tokkit.Tokenizer.__new__(tokkit.Tokenizer), name)("low")


@pytest.mark.threads
def test_threads_share_short_calls(tok: tokkit.Tokenizer) -> None:
    texts = [text[:200] for text in documents(4703, 60, longest=200)]
    wanted, found = [tok.encode(text) for text in texts], {}

    def run(number: int) -> None:
        found[number] = [tok.encode(text) for text in texts for _ in range(20)][::20]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [wanted] * 4
    assert tok.cache_info()["workers"] <= 4


def test_the_cache_of_the_last_call_is_counted(tok: tokkit.Tokenizer) -> None:
    fresh = tokkit.Tokenizer(tok.definition)
    fresh.encode("lower lowest lowering")
    before = fresh.cache_info()
    fresh.count("lower lowest lowering")
    assert before["workers"] == 1
    assert before["misses"] == fresh.cache_info()["misses"]
