"""Added tokens, compared with tokenizers and a naive twin: every flag, overlaps, policies, and hostile texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG
from reference.added_tokens import cut as naive
from strategies import adversarial
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import kinds_of
from tokkit._core.split import AddedMatcher
from tokkit._core.text import isas
from tokkit.definition import AddedToken
from tokkit.engine.interpreter import Interpreter
from tokkit.engine.special_tokens import AddedTokens, overlap
from tokkit.errors import OptionError
from tokkit.formats import tokenizer_json
from work import work_of

BATCH = 300 if LONG else 60
ALPHABET = "ab <漢\n\u3000_."
CONTENTS = st.text(ALPHABET, min_size=1, max_size=4)
FLAGS = st.tuples(CONTENTS, st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
TOKENS = st.lists(FLAGS, min_size=1, max_size=6, unique_by=lambda token: token[0])


def is_word(character: str) -> bool:
    return bool(character) and "word" in kinds_of(character)


class Lowercase:
    """A normalizer that both sides have."""

    def normalize(self, text: AlignedText) -> None:
        text.rewrite(lambda piece: [(character.lower(), 0) for character in piece])


def theirs(text: str, tokens: list[AddedToken], *, special: bool = True, lower: bool = False) -> list[tuple[Any, ...]]:
    """(id or None, span in bytes) of the pieces before pretokenization; None where tokenizers panics."""
    rival = pytest.importorskip("tokenizers")
    tokenizer = rival.Tokenizer(rival.models.WordLevel({"\0": 0}, unk_token="\0"))
    if lower:
        tokenizer.normalizer = rival.normalizers.Lowercase()
    for token in tokens:
        made = rival.AddedToken(
            token.content, single_word=token.single_word, lstrip=token.lstrip, rstrip=token.rstrip,
            normalized=token.normalized, special=token.special,
        )  # fmt: skip
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([made])
    tokenizer.encode_special_tokens = not special
    encoding = tokenizer.encode(text, add_special_tokens=False)
    ids = {tokenizer.token_to_id(token.content): token.id for token in tokens}
    return [(ids.get(i), span) for i, span in zip(encoding.ids, encoding.offsets, strict=True)]


def ours(text: str, tokens: list[AddedToken], special: str = "all", *, lower: bool = False) -> list[tuple[Any, ...]]:
    normalizer = Lowercase() if lower else None
    added = AddedTokens(tokens, normalizer)
    aligned = AlignedText(text)
    added.cut(aligned, special)
    if normalizer:
        normalizer.normalize(aligned)
    added.cut_normalized(aligned, special)
    places = {len(text[:i].encode()): i for i in range(len(text) + 1)}
    spans = [(places[a], places[b]) for a, b in aligned.piece_spans().tolist()]
    return list(zip(aligned.ids, spans, strict=True))


def made(flags: list[tuple[str, bool, bool, bool, bool, bool]]) -> list[AddedToken]:
    return [AddedToken(token[0], 100 + k, *token[1:]) for k, token in enumerate(flags)]


def panics(tokens: list[AddedToken], text: str) -> bool:
    """Whether tokenizers cannot do it: a token with lstrip in white space that the one before it has taken."""
    return any(a.rstrip for a in tokens) and any(b.lstrip and b.content[0].isspace() for b in tokens)


@settings(max_examples=10 * BATCH)
@given(flags=TOKENS, text=st.text(ALPHABET, max_size=14), special=st.booleans())
def test_tokens_are_found_as_tokenizers_finds_them(
    flags: list[tuple[str, bool, bool, bool, bool, bool]], text: str, special: bool
) -> None:
    tokens = made(flags)
    if not panics(tokens, text):
        assert ours(text, tokens, "all" if special else "text") == theirs(text, tokens, special=special)


@settings(max_examples=5 * BATCH)
@given(flags=TOKENS, text=st.text("aAbB <É", max_size=12))
def test_normalized_tokens_are_found_in_normalized_text(
    flags: list[tuple[str, bool, bool, bool, bool, bool]], text: str
) -> None:
    # Of two tokens that are alike when they are normalized, tokenizers takes any.
    tokens = made([(t[0].swapcase(), *t[1:]) for t in flags])
    if not panics(tokens, text):
        assert ours(text, tokens, lower=True) == theirs(text, tokens, lower=True)


def test_white_space_that_a_token_has_taken_is_not_taken_again() -> None:
    # tokenizers panics there; the place up to which text was taken must not go back.
    tokens = [AddedToken("<x>", 5, rstrip=True), AddedToken(" ", 6, lstrip=True)]
    assert ours("<x>   a", tokens) == [(5, (0, 6)), (None, (6, 7))]
    assert ours("<x>   ", tokens) == [(5, (0, 6))]


def test_of_two_that_normalize_alike_the_first_is_found_and_an_empty_one_never() -> None:
    tokens = [AddedToken("AB", 5), AddedToken("ab", 6)]
    assert ours("xAb", tokens, lower=True) == [(None, (0, 1)), (5, (1, 3))]

    class Nothing:
        def normalize(self, text: AlignedText) -> None:
            text.rewrite(lambda piece: [])

    text = AlignedText("abc")
    AddedTokens(tokens, Nothing()).cut_normalized(text)
    assert text.ids == [None]


@settings(max_examples=10 * BATCH)
@given(
    contents=st.lists(st.text("ab", min_size=1, max_size=70), min_size=1, max_size=8),
    text=st.lists(st.sampled_from(["a", "b", "a" * 40, "ab" * 30, "b" * 70, "a" * 200]), max_size=12).map("".join),
    flags=st.lists(st.booleans(), min_size=3, max_size=3),
    isa=st.sampled_from(isas()),
)
def test_the_search_equals_its_naive_twin(contents: list[str], text: str, flags: list[bool], isa: str) -> None:
    tokens = [(content, k, *flags) for k, content in enumerate(contents)]
    aligned = AlignedText(text)
    AddedMatcher([(t[0].encode(), *t[1:]) for t in tokens], isa).cut(aligned)
    assert list(zip(aligned.pieces, aligned.ids, strict=True)) == naive(text, tokens, is_word)


@pytest.mark.parametrize("isa", isas())
def test_the_search_equals_its_naive_twin_on_multilingual_text(isa: str) -> None:
    text = adversarial(11, 4000)
    words = sorted({word for word in adversarial(11, 3000).split() if len(word) < 30})
    short = ["\n", "漢", " ", "'s", "🙂", "é", "<|endoftext|>", "<|fim_prefix|>", "https", "Straße"]
    for some in (words[::9], words[::40], short, [*short, *words], ["<|endoftext|>"], []):
        for flags in ((False, False, False), (True, False, False), (False, True, True), (True, True, True)):
            tokens = [(content, k, *flags) for k, content in enumerate(dict.fromkeys(some))]
            matcher = AddedMatcher([(t[0].encode(), *t[1:]) for t in tokens], isa)
            for cut in (0, 1, 63, 64, 65, 66, 130, 4000):
                aligned = AlignedText(text[:cut])
                matcher.cut(aligned)
                assert list(zip(aligned.pieces, aligned.ids, strict=True)) == naive(text[:cut], tokens, is_word)


def test_a_policy_names_the_special_tokens_that_are_found() -> None:
    tokens = [
        AddedToken("<s>", 1, special=True),
        AddedToken("</s>", 2, special=True),
        AddedToken("s", 3, normalized=False),
        AddedToken("x", 4),
    ]
    added = AddedTokens(tokens)

    def ids(special: Any) -> list[int | None]:
        text = AlignedText("<s>x s</s>")
        added.cut(text, special)
        added.cut_normalized(text, special)
        return text.ids

    assert ids("text") == [None, 4, None, 3, None]  # the s of <s> is not found
    assert ids("all") == [1, 4, None, 3, 2]
    assert ids({"</s>"}) == [None, 4, None, 3, 2]
    with pytest.raises(OptionError, match="'s' is not a special token"):
        ids({"s"})
    with pytest.raises(OptionError, match="special is 'none'"):
        ids("none")


def of_characters(tokens: list[tuple[str, bool, bool]]) -> dict[str, Any]:
    """A tokenizer.json of single characters and added tokens: (content, normalized, special)."""
    vocab = {chr(code): code - 33 for code in range(33, 127)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    return {
        "added_tokens": [
            {"id": len(vocab) + k, "content": content, "normalized": normalized, "special": special, **flags}
            for k, (content, normalized, special) in enumerate(tokens)
        ],
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }


@settings(max_examples=5 * BATCH)
@given(
    tokens=st.lists(
        st.tuples(st.text("ab<", min_size=2, max_size=4), st.booleans(), st.booleans()),
        min_size=1, max_size=5, unique_by=lambda token: token[0],
    ),
    text=st.text("ab<", max_size=14),
)  # fmt: skip
def test_tokenizers_find_overlapping_tokens_as_their_rival_does(
    tokens: list[tuple[str, bool, bool]], text: str
) -> None:
    rival = pytest.importorskip("tokenizers")
    file = json.dumps(of_characters(tokens))
    tok, other = tokkit.Tokenizer(tokenizer_json.read(file.encode())), rival.Tokenizer.from_str(file)
    for policy in ("text", "all"):
        other.encode_special_tokens = policy == "text"
        assert tok.encode(text, special=policy) == other.encode(text, add_special_tokens=False).ids
    twin = Interpreter(tok.definition)
    for count in range(len(tok.special_tokens)):
        policy = frozenset(list(tok.special_tokens)[:count])
        assert tok.encode(text, special=policy) == twin.encode(text, policy)


def test_a_special_token_that_is_not_allowed_hides_others_and_no_special_ones() -> None:
    """The first as in tokenizers, the second as in tiktoken."""
    for special, ids in ((False, [27, 82, 29]), (True, [27, 95])):
        tok = tokkit.Tokenizer(tokenizer_json.from_json(of_characters([("<s>", False, True), ("s>", False, special)])))
        policy = frozenset({"s>"} if special else ())
        assert tok.encode("<s>", special=policy) == Interpreter(tok.definition).encode("<s>", policy) == ids


def test_long_texts_of_tokens_are_not_compared() -> None:
    some, others = ["a" * 2000 + "<"], ["b" * 1000 + "<"]
    assert overlap(some, others) is overlap(["ab<"], ["b<"]) is overlap(["ab<"], ["<b"]) is True
    assert overlap(["ab<"], ["ba", "abc", "<<"]) is True
    assert overlap(["ab<"], ["ba", "aab<"]) is False


def test_a_token_of_a_million_characters_takes_no_more_memory_than_others() -> None:
    long = ("<" * 1_000_000, False, True)  # its prefixes alone would be 500 GB
    for other, ids in (("s>", [64, 95]), ("<s", [64, 95])):
        tok = tokkit.Tokenizer(tokenizer_json.from_json(of_characters([long, (other, False, False)])))
        assert tok.encode("a" + other) == ids


def test_pieces_that_are_tokens_already_are_left_alone() -> None:
    text = AlignedText("a<s>a")
    AddedMatcher([(b"<s>", 7, False, False, False)]).cut(text)
    AddedMatcher([(b"s", 8, False, False, False), (b"a", 9, False, False, False)]).cut(text)
    assert (text.pieces, text.ids) == (["a", "<s>", "a"], [9, 7, 9])


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["a" * k for k in range(1, 200)], "a" * 1_000_000),
        (["a" * k + "b" for k in range(1, 400)], "a" * 1_000_000),
        (["a", *("a" * k + "b" for k in range(1, 400))], "a" * 1_000_000),
        (["a" * 31 + "b"], "a" * 1_000_000),
        (["a" * 3000 + "b" + "a" * 3000], ("a" * 2999 + "b") * 330),
        ([f"<extra_id_{k}>" for k in range(500)], "<extra_id_" * 100_000),
        ([" "], " " * 20_000),
        (["ab"], " " * 1_000_000 + "ab" + " " * 1_000_000 + "ab"),
    ],
)  # fmt: skip
def test_a_hostile_text_is_searched_in_linear_time(tokens: list[str], text: str) -> None:
    # White space that one token takes is not read again for those inside it.
    matcher = AddedMatcher([(token.encode(), k, False, True, True) for k, token in enumerate(tokens)])
    data = text.encode()
    assert work_of(matcher.find, data + data) < 2.2 * work_of(matcher.find, data) + 100
    found = matcher.find(data)
    assert not found or found[0][0] == 0


def test_five_thousand_tokens_are_found_at_once() -> None:
    tokens = [AddedToken(f"<extra_id_{k}>", k) for k in range(5000)]
    text = AlignedText("".join(token.content for token in tokens))
    AddedTokens(tokens).cut_normalized(text)
    assert text.ids == list(range(5000))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 1), "at least one character"),
        (("a\ud800", 1), r"an added token is 'a\\ud800'; it must be a str"),
        (("a", -1), "id is -1; it must be an int from 0"),
        (("a", True), "id is True; it must be an int from 0"),
        (("a", 1 << 21), "id is 2097152; it must be an int from 0 to 2097151"),
        (("a", 1, 1), "single_word is 1; it must be a bool"),
    ],
)
def test_an_added_token_that_cannot_be_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        AddedToken(*arguments)


def test_tokens_of_the_second_pass_leave_those_of_the_first_to_it_without_a_normalizer_too() -> None:
    """tokenizers finds "<nl>" first and "[SEP]", with the white space after it, in what is left."""
    tokenizers = pytest.importorskip("tokenizers")
    tokens = [
        {"id": 1, "content": "[SEP]", "normalized": True, "rstrip": True},
        {"id": 2, "content": "\n", "normalized": False, "rstrip": True},
    ]
    rest = {"single_word": False, "lstrip": False, "special": True}
    file = json.dumps(
        {
            "version": "1.0",
            "added_tokens": [token | rest for token in tokens],
            **dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"]),
            "model": {"type": "WordLevel", "vocab": {"a": 0, "[SEP]": 1, "\n": 2, "?": 3}, "unk_token": "?"},
        }
    )
    ours = tokkit.Tokenizer(tokenizer_json.read(file.encode()))
    theirs = tokenizers.Tokenizer.from_str(file)
    for text in ("[SEP]\na", "[SEP] \n a", "a[SEP]\n\n[SEP] a"):
        assert ours.encode(text, special="all") == theirs.encode(text).ids
    assert ours.encode("[SEP]\na", special="all") == [1, 2, 0]


def of_words(**stages: Any) -> tokkit.Tokenizer:
    """A tokenizer of the words "u" (unknown), "a" and "▁a" with ids 0 to 2, and added tokens."""
    model = {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1, "▁a": 2}}
    return tokkit.Tokenizer(tokenizer_json.from_json({"version": "1.0", "model": model, **stages}))


def added(content: str, id_: int, **flags: bool) -> dict[str, Any]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": id_, "content": content, **plain, **flags}


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("a\n\n\n", [1, 3, 3, 3]), ("\n\n", [3, 3]), ("a \n\na\n", [1, 3, 3, 1, 3]),
        ("a*\n", [1, 4, 3]), ("*\n\u2028", [4, 3]), ("* \t\u2028a", [4, 1]), ("*\t-\n", [4, 5, 3]),
        ("*\u2028.\u2028", [4, 6]), ("* . ", [4, 6]),
    ],
)  # fmt: skip
def test_tokens_in_white_space_that_a_token_took_are_found(text: str, ids: list[int], normalized: bool) -> None:
    """tokenizers finds them as well; what stands behind one of them is text again."""
    tokens = [
        added("\n", 3, rstrip=True, normalized=normalized), added("*", 4, rstrip=True, normalized=normalized),
        added("-", 5, normalized=normalized), added(".", 6, normalized=normalized),
    ]  # fmt: skip
    tok = of_words(added_tokens=tokens, pre_tokenizer={"type": "WhitespaceSplit"})
    assert tok.encode(text) == tok(text).ids == Interpreter(tok.definition).encode(text, "text") == ids
    assert tok.encode(text * 3000) == Interpreter(tok.definition).encode(text * 3000, "text")


def test_text_behind_a_token_in_white_space_that_another_took_is_text_again() -> None:
    tok = of_words(added_tokens=[added("*", 3, rstrip=True), added("\n", 4)])
    for text, ids in (
        ("*\n\u2028", [3, 4, 0]),
        ("* \n \na", [3, 4, 0, 4, 1]),
        ("*\n" * 3 + " ", [3, 4, 3, 4, 3, 4, 0]),
    ):
        assert tok.encode(text) == tok(text).ids == Interpreter(tok.definition).encode(text, "text") == ids
        stream = tok.encode_stream()
        assert [id_ for part in text for id_ in stream.feed(part)] + list(stream.flush()) == ids


@pytest.mark.parametrize("normalized", [False, True])
def test_a_text_whose_start_was_dropped_does_not_begin_a_text(normalized: bool) -> None:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    tok = of_words(added_tokens=[added("*", 3, normalized=normalized)], pre_tokenizer=metaspace, normalizer=strip)
    for text, ids in (("a", [2]), (" a", [1]), ("\n a a", [1, 2]), ("*a", [3, 1])):
        assert tok.encode(text) == tok(text).ids == Interpreter(tok.definition).encode(text, "text") == ids


@pytest.mark.parametrize("added_token", ["*", "x", "\u2044"])
@pytest.mark.parametrize(
    ("normalizer", "splits", "text"),
    [
        ("ByteLevel", "\u00b8", "中* 中"),  # "ä¸Ń"
        ("NFKD", "\u2044", "½* ½"),  # "1\u20442"
        ("NFKD", "x", "½x½"),
        ("NFKD", " ", "\u00a8a*"),  # a space and a mark
        ("NFKD", None, "½½"),
    ],
)
def test_all_pieces_of_the_first_character_are_marked_as_first(
    normalizer: str, splits: str | None, text: str, added_token: str
) -> None:
    """tokenizers goes by where a piece comes from, and the first character may become several."""
    tokenizers = pytest.importorskip("tokenizers")
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    split = {"type": "Split", "pattern": {"String": splits}, "behavior": "Isolated", "invert": False}
    vocab = {letter: id_ for id_, letter in enumerate("?▁12*x\u2044ä¸ŃĠa\u0308")}
    file = {
        "version": "1.0",
        "added_tokens": [added(added_token, vocab[added_token], normalized=True)],
        "normalizer": {"type": normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*([split] if splits else []), metaspace]},
        "model": {"type": "BPE", "unk_token": "?", "vocab": vocab, "merges": []},
    }
    tok = tokkit.Tokenizer(tokenizer_json.from_json(file))
    for each in (text, text * 2, f" {text}", f"a{text}"):
        ids = tokenizers.Tokenizer.from_str(json.dumps(file)).encode(each, add_special_tokens=False).ids
        assert tok.encode(each) == tok(each).ids == Interpreter(tok.definition).encode(each, "text") == ids
        assert tok.encode_batch(["a", each], threads=2)[0].tolist() == tok.encode("a") + ids
        stream = tok.encode_stream()
        assert [id_ for part in each for id_ in stream.feed(part)] + list(stream.flush()) == ids
