"""Your own patterns in a whole tokenizer: the three split engines give the same ids."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import tokkit
from conftest import LONG, Small
from patterns import PUBLISHED
from reference.stretches import stand_in
from strategies import SPECIALS, adversarial, documents, texts
from tokkit.definition import Definition, Split
from tokkit.errors import OptionError, PatternError
from tokkit.models.bpe import BPE
from tokkit.pretokenizers.choice import choose
from tokkit.pretokenizers.patterns import SCANNERS
from tokkit.unicode_regex.matching import compiled, end_only
from tokkit.vocab import Vocab

Make = Callable[..., tokkit.Tokenizer]


@pytest.fixture(scope="module")
def make(small: Small) -> Make:
    """(pattern, keep_unmatched, engine) → a tokenizer of the small vocabulary that the engine cuts for."""

    def made(pattern: str, keep: bool, engine: str) -> tokkit.Tokenizer:
        special = {text: len(small.tokens) + k for k, text in enumerate(SPECIALS[:3])}
        vocab = Vocab.from_list([*small.tokens, *(text.encode() for text in special)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TOKKIT_SPLIT", engine)
            tok = tokkit.Tokenizer(Definition(vocab, BPE(), Split(pattern, keep), special))
        assert tok.split_engine == engine
        return tok

    return made


OWN = [name for name, pattern in PUBLISHED.items() if pattern not in SCANNERS]


def of_all_versions(text: str) -> str:
    """The text without characters that Unicode 16.0 and that of `regex` see differently."""
    return "".join(map(stand_in, text))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_ids_offsets_and_counts_do_not_depend_on_the_engine(make: Make, name: str, keep: bool) -> None:
    compiled, slow = (make(PUBLISHED[name], keep, engine) for engine in ("compiled", "regex"))
    texts_ = [of_all_versions(text) for text in documents(7, 400 if LONG else 20, surrogates=True)]
    texts_.append("".join(map(chr, [*range(0x250), 10, 10, 32, 32])))
    for special in ("text", "all"):
        batch, bounds = compiled.encode_batch(texts_, special=special, threads=2)
        assert batch.tolist() == slow.encode_batch(texts_, special=special)[0].tolist()
        for text, (start, end) in zip(texts_, pairwise(bounds.tolist()), strict=True):
            expected = slow(text, special=special)
            found = compiled(text, special=special)
            assert found.ids == expected.ids == batch[start:end].tolist(), text
            assert found.offsets == expected.offsets, text
            assert compiled.encode(text, special=special) == expected.ids
            assert compiled.count(text, special=special) == len(expected.ids)


@pytest.mark.parametrize("name", ["cl100k", "o200k", "gpt2"])
def test_a_compiled_family_gives_the_ids_of_its_scanner(make: Make, name: str) -> None:
    compiled, scanner = (make(PUBLISHED[name], False, engine) for engine in ("compiled", "scanner"))
    for seed in range(8):
        text = adversarial(seed, 20_000, surrogates=True)
        assert np.array_equal(compiled.encode_to_numpy(text), scanner.encode_to_numpy(text))
        assert compiled(text).offsets == scanner(text).offsets


@settings(max_examples=40)
@given(text=texts(), keep=st.booleans())
def test_dropped_text_is_in_no_token(make: Make, text: str, keep: bool) -> None:
    tok = make(r"\p{L}+|\d", keep, "compiled")
    expected = text if keep else "".join(c for c in text if choose_letter(c))
    assert tok.decode(tok.encode(text)) == expected
    utf8 = text.encode()
    encoding = tok(text)
    assert b"".join(tok.token_bytes(i) for i in encoding.ids) == expected.encode()
    assert all(0 <= a <= b <= len(text) for a, b in encoding.offsets)
    assert len(utf8) >= len(expected.encode())


def choose_letter(character: str) -> bool:
    from tokkit._core.text import category

    return category(ord(character)) in {0, 1, 2, 3, 4, 8}


@pytest.mark.parametrize("name", [*OWN, "cl100k"])
@pytest.mark.parametrize("threads", [1, 3])
def test_training_counts_the_same_words_whatever_the_engine(
    name: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [of_all_versions(adversarial(seed, 300)) for seed in range(30)]
    made = []
    for engine in ("compiled", "regex"):
        monkeypatch.setenv("TOKKIT_SPLIT", engine)
        made.append(tokkit.train(iter(lines), vocab_size=400, pattern=PUBLISHED[name], threads=threads))
    assert [tok.split_engine for tok in made] == ["compiled", "regex"]
    assert made[0].vocab.blob == made[1].vocab.blob


def test_the_end_of_a_text_is_the_end_whichever_engine_runs(make: Make) -> None:
    for pattern in (r"\s+$|\w+|\s", r"a(?=\n|$)|\s+?$|[^$]"):
        compiled, slow = (make(pattern, True, engine) for engine in ("compiled", "regex"))
        for text in ("a\n", "a\n\n", "a \n", "\n", " \n \n", "a", "a\n<|endoftext|>\n"):
            for special in ("text", "all"):
                assert compiled.encode(text, special=special) == slow.encode(text, special=special), text


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"a$|[$]$", r"a\Z|[$]\Z"), (r"[]$]$", r"[]$]\Z"), (r"[^]$]$", r"[^]$]\Z"), (r"[a[]$", r"[a[]\Z"),
        (r"[[:alpha:]$]$", r"[[:alpha:]$]\Z"), (r"\$$", r"\$\Z"), (r"(?m)a$", r"(?m)a$"), (r"\\$", r"\\\Z"),
        (r"[\]$]$", r"[\]$]\Z"), (r"(?V1)[a[b]$]$", r"(?V1)[a[b]$]\Z"), (r"(?iV1)[a[b]$]$", r"(?iV1)[a[b]$]\Z"),
        ("$\\", "\\Z\\"),
    ],
)  # fmt: skip
def test_a_dollar_becomes_the_end_of_the_text_for_regex(pattern: str, expected: str) -> None:
    assert end_only(pattern) == expected


def test_the_choice_can_be_forced_and_says_why_it_is_regex(monkeypatch: pytest.MonkeyPatch) -> None:
    cl100k = PUBLISHED["cl100k"]
    assert choose(cl100k, keep_unmatched=False).engine == choose(None, keep_unmatched=False).engine == "scanner"
    reason = "a look-behind of more than one character"
    assert choose(r"(?<=ab)c", keep_unmatched=False)[1:] == (None, reason)
    for engine in ("compiled", "regex"):
        monkeypatch.setenv("TOKKIT_SPLIT", engine)
        assert choose(cl100k, keep_unmatched=False).engine == engine
    monkeypatch.setenv("TOKKIT_SPLIT", "fastest")
    with pytest.raises(OptionError, match="TOKKIT_SPLIT"):
        choose(cl100k, keep_unmatched=False)


@pytest.mark.parametrize("pattern", ["(?V0)(?V1)a", "(?au)a"])
def test_flags_that_exclude_each_other_are_refused(pattern: str) -> None:
    for refused in (lambda: compiled(pattern), lambda: choose(pattern, keep_unmatched=False)):
        with pytest.raises(PatternError, match="incompatible"):
            refused()


def test_what_regex_refuses_is_never_compiled() -> None:
    """Broken pieces of sound patterns: each either compiles in `regex` too, or is an error."""
    rng = random.Random(9)
    whole = "".join(PUBLISHED.values()) + r"(?i:a)(?>b)a{2,3}?[^\]a-]*+\p{L}\P{^Lu}[[:alpha:]]\x41(?P<n>x)"
    for _ in range(1500):
        start = rng.randrange(len(whole))
        pattern = whole[start : start + rng.randint(1, 14)]
        try:
            engine = choose(pattern, keep_unmatched=False).engine
        except PatternError:
            continue
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise AssertionError((pattern, engine)) from error


def test_usual_patterns_are_compiled_without_importing_regex() -> None:
    code = (
        "import sys; from tokkit.unicode_regex.compile import compile_pattern as c\n"
        r"for p in (r'\w+|[^\w\s]+', r'(?i:[a-z]+)|\p{Lu}|\s+(?!\S)', r'\d{1,3}$'): c(p, keep_unmatched=False)"
        "\nassert 'regex' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
