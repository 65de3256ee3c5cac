"""Equal calls to tiktoken and to tokkit's drop-in for it: equal results, and errors of the same classes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Small
from strategies import adversarial, documents
from tokkit.compat import tiktoken as face

tiktoken = pytest.importorskip("tiktoken")

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# None begins another: which of two the real one takes there differs from run to run.
SPECIALS = {"<|endoftext|>": 2000, "<|end|>": 2001, "</s>": 2004}
TEXTS = [
    *documents(601, 40),
    adversarial(603, 2000),
    "",
    "a<|end|>!b</s>",
    "low <|endoftext|>",
    "\ud800 x \ud83d\ude42",
]


@pytest.fixture(scope="module", params=[PATTERN, r"\p{L}+|\s+", r"(?<=a)b+|\w+|\W"])
def both(request: pytest.FixtureRequest, small: Small) -> tuple[Any, Any]:
    """The real encoding and ours, of one pattern: a scanner's, one that drops text, one that is not regular."""
    options = {"pat_str": request.param, "mergeable_ranks": small.ids, "special_tokens": SPECIALS}
    return tiktoken.Encoding("small", **options), face.Encoding("small", **options)


def outcome(call: Callable[[], object]) -> object:
    """What a call returns, or the class of what it raises, the built-in one where it is a class of ours."""
    try:
        value = call()
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # the real one gives up there
            return None
        return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
    return value.tolist() if hasattr(value, "tolist") else value


def same(both: tuple[Any, Any], call: Callable[[Any], object]) -> None:
    theirs, ours = (outcome(lambda made=made: call(made)) for made in both)
    if theirs is not None:
        assert ours == theirs


POLICIES: list[dict[str, Any]] = [
    {},
    {"disallowed_special": ()},
    {"allowed_special": "all"},
    {"allowed_special": {"<|end|>"}, "disallowed_special": ()},
    {"allowed_special": {"<|end|>"}},
    {"allowed_special": {"<|end|>", "unknown"}, "disallowed_special": {"</s>"}},
    {"disallowed_special": {"low"}},
    {"allowed_special": set(), "disallowed_special": {""}},
    {"allowed_special": "<|end|>"},
]


@pytest.mark.parametrize("policy", POLICIES)
def test_encoding_is_the_same(both: tuple[Any, Any], policy: dict[str, Any]) -> None:
    for text in TEXTS:
        same(both, lambda made, text=text: made.encode(text, **policy))
        if not any("\ud800" <= c <= "\udfff" for c in text):  # where the real one has no way for them
            same(both, lambda made, text=text: made.encode_to_numpy(text, **policy))
    texts = TEXTS[:30] if policy else TEXTS[:10]
    same(both, lambda made: made.encode_batch(texts, **policy))
    same(both, lambda made: made.encode_batch(texts, num_threads=2, **policy))


def test_ordinary_encoding_is_the_same(both: tuple[Any, Any]) -> None:
    for text in TEXTS:
        same(both, lambda made, text=text: made.encode_ordinary(text))
    same(both, lambda made: made.encode_ordinary_batch(TEXTS))
    same(both, lambda made: made.encode_ordinary_batch(TEXTS, num_threads=1))
    same(both, lambda made: made.encode_ordinary_batch([]))


def test_completions_are_the_same(both: tuple[Any, Any]) -> None:
    for text in ("low", "a ", "12", "x<|end|>", "naïve c"):
        theirs, ours = (made.encode_with_unstable(text, allowed_special="all") for made in both)
        assert ours[0] == theirs[0]
        assert {tuple(ids) for ids in ours[1]} == {tuple(ids) for ids in theirs[1]}


@pytest.mark.parametrize(
    "ids", [[], [0, 5, 7, 300, 1999], [2000, 2001, 2004], [2003], [10**6], [-1], [1 << 40], ["a"], [1.5], None, 5]
)
def test_decoding_is_the_same(both: tuple[Any, Any], ids: object) -> None:
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        same(both, lambda made, name=name: getattr(made, name)(ids))
    same(both, lambda made: made.decode(ids, errors="ignore"))
    same(both, lambda made: made.decode_batch([ids, ids]))
    same(both, lambda made: made.decode_bytes_batch([ids]))
    if isinstance(ids, list) and ids:
        same(both, lambda made: made.decode_single_token_bytes(ids[0]))


def test_offsets_of_decoded_text_are_the_same(both: tuple[Any, Any]) -> None:
    theirs, _ = both
    for text in documents(605, 60):
        ids = theirs.encode(text, disallowed_special=())
        same(both, lambda made, ids=ids: made.decode_with_offsets(ids))


@pytest.mark.parametrize("token", ["a", b"a", b"\xff", "<|end|>", "no such token", b"", "", 5, None])
def test_single_tokens_are_the_same(both: tuple[Any, Any], token: object) -> None:
    same(both, lambda made: made.encode_single_token(token))
    if token:
        same(both, lambda made: made._encode_single_piece(token))


def test_bytes_that_are_not_utf8_are_encoded_alike(both: tuple[Any, Any]) -> None:
    for text in documents(607, 20):
        data = text.encode()
        for given in (data, data[:-1], data + b"\xff", data + b"low  \xf0\x9f", b"\xe2\x82" + data):
            same(both, lambda made, given=given: made._encode_bytes(given))


def test_what_is_known_of_the_vocabulary_is_the_same(both: tuple[Any, Any]) -> None:
    for name in ("n_vocab", "max_token_value", "name", "eot_token", "special_tokens_set", "_pat_str"):
        same(both, lambda made, name=name: getattr(made, name))
    same(both, lambda made: made.token_byte_values())
    same(both, lambda made: made._mergeable_ranks)
    same(both, repr)
    for id_ in (5, 2000, 2003, 10**9, "a"):
        same(both, lambda made, id_=id_: made.is_special_token(id_))


@pytest.mark.parametrize("text", [None, b"bytes", 5, ["a"]])
def test_what_is_no_text_is_the_same_error(both: tuple[Any, Any], text: object) -> None:
    same(both, lambda made: made.encode(text))
    same(both, lambda made: made.encode(text, disallowed_special=()))
    same(both, lambda made: made.encode_ordinary(text))


def test_copies_and_pickles_work_alike(both: tuple[Any, Any]) -> None:
    _, ours = both
    for again in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours)):
        assert again.encode("low <|end|>", allowed_special="all") == ours.encode("low <|end|>", allowed_special="all")
        assert again.name == ours.name


@pytest.mark.parametrize("explicit", [None, 0, 2004, 2005, 7])
def test_a_stated_number_of_tokens_is_checked(small: Small, explicit: int | None) -> None:
    options = {"pat_str": PATTERN, "mergeable_ranks": small.ids, "explicit_n_vocab": explicit}
    for special in (SPECIALS, {"<|a|>": 2000, "<|b|>": 2001, "<|c|>": 2002, "<|d|>": 2003}):
        found = [
            outcome(lambda kind=kind, special=special: kind("x", special_tokens=special, **options).n_vocab)
            for kind in (tiktoken.Encoding, face.Encoding)
        ]
        assert found[0] == found[1]


def test_an_encoding_is_extended_as_the_readme_of_tiktoken_does(both: tuple[Any, Any]) -> None:
    made = [
        type(base)(
            name="more",
            pat_str=base._pat_str,
            mergeable_ranks=base._mergeable_ranks,
            special_tokens={**base._special_tokens, "<|im_start|>": 2010, "<|alias|>": 2010},
        )
        for base in both
    ]
    text = "<|im_start|>low<|alias|><|end|>"
    same(tuple(made), lambda enc: enc.encode(text, allowed_special={"<|im_start|>"}, disallowed_special=()))
    if made[1]._in_core:
        same(tuple(made), lambda enc: enc.encode(text, allowed_special="all"))
        same(tuple(made), lambda enc: enc.encode_batch([text], allowed_special="all"))


def test_the_face_has_every_public_name_with_the_same_parameters() -> None:
    for name in (name for name in vars(tiktoken.Encoding) if not name.startswith("_")):
        theirs, ours = getattr(tiktoken.Encoding, name), getattr(face.Encoding, name)
        if callable(theirs):
            wanted, found = (list(inspect.signature(call).parameters) for call in (theirs, ours))
            assert found == wanted, name
    for name in face.__all__:
        assert hasattr(tiktoken, name), name
    assert {name for name in dir(tiktoken) if callable(getattr(tiktoken, name))} <= {*face.__all__}


def test_published_encodings_come_from_this_machine(
    shared: Path, monkeypatch: pytest.MonkeyPatch, load_tiktoken: Callable[[str], Any]
) -> None:
    monkeypatch.setenv("TOKKIT_DATA_DIR", str(shared / "vocabs"))
    face.registry.ENCODINGS.clear()
    pair = load_tiktoken("cl100k_base"), face.encoding_for_model("gpt-4")
    assert face.get_encoding("cl100k_base") is pair[1]
    for text in TEXTS:
        same(pair, lambda made, text=text: made.encode(text, allowed_special="all"))
    same(pair, lambda made: (made.n_vocab, made.eot_token, made.special_tokens_set))
    harmony = load_tiktoken("o200k_harmony"), face.get_encoding("o200k_harmony")
    same(harmony, lambda made: made.encode("<|start|>x<|reserved_200018|><|endofprompt|>", allowed_special="all"))
    same(harmony, lambda made: (made.n_vocab, made.special_tokens_set))


def test_unknown_names_are_the_same_errors_and_absent_files_name_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("cl100k", "gpt-4", None, 5):
        assert outcome(lambda name=name: tiktoken.get_encoding(name)) is ValueError
        assert outcome(lambda name=name: face.get_encoding(name)) is ValueError
    assert outcome(lambda: face.encoding_for_model("gtp-4")) is KeyError
    assert face.encoding_name_for_model("gpt-4o") == tiktoken.encoding_name_for_model("gpt-4o")
    assert set(face.list_encoding_names()) == set(tiktoken.list_encoding_names())
    face.registry.ENCODINGS.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKKIT_DATA_DIR", raising=False)
    monkeypatch.setenv("TOKKIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(OSError, match="tokkit fetch p50k_base"):
        face.get_encoding("p50k_base")
