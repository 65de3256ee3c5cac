"""Charsmaps as normalizers of a tokenizer.json, run by tokenizers and here, compared with sentencepiece."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

import pytest

from conftest import LONG
from strategies import adversarial
from tokkit._core.charsmap import Normalizer
from tokkit.errors import FormatError, OptionError
from tokkit.formats import charsmap_steps, components
from tokkit.normalizers.charsmap_builder import compile_rules, decompile
from tokkit.normalizers.longest_rules import LongestRules
from tokkit.normalizers.sentencepiece_rules import NAMES, charsmap
from tokkit.normalizers.sequence import Sequence

MAPS = {
    **{name: charsmap(name) for name in (NAMES[:-1] if LONG else ("nmt_nfkc",))},
    "single": compile_rules({"A": "a", "\u0301": "", "ﬁ": "fi", "\t": " ", "Ａ": "A"}),
    "several": compile_rules({"ab": "x", "aab": "ba", "e\u0301": "é", "x": "ab", " y": "", "q": "b  b", "b": "A"}),
}
MARKS = "\u0301\u0316\u0307\u0345\u200d\r\n\x01\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4 aAeb\u3099\u1161\u11a8"
NEW = "\U0001611e\U00016129\U0001611f\U00016120\U00016121\U00016d63\U00016d67\U00016d69\U000113c2\U000113c9\U0001138b"


def sentencepiece(data: bytes) -> Callable[[str], str]:
    made = Normalizer(data, add_prefix=False, remove_extra=False, escape=False)
    return lambda text: made.normalize(text).decode()


def texts(data: bytes, n: int) -> Iterator[str]:
    keys = [key for key, _ in decompile(data)]
    rng = random.Random(5)
    yield from (adversarial(seed, 60) for seed in range(n // 10))
    yield from rng.choices(keys, k=n)
    for _ in range(n):
        yield "".join(rng.choice((rng.choice(keys), rng.choice(keys)[-1], rng.choice(MARKS))) for _ in range(6))
        yield "".join(rng.choices(NEW, k=rng.randint(2, 7)))


@pytest.mark.parametrize("name", MAPS)
def test_steps_do_what_the_longest_rules_do_in_tokenizers_too(name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    spelt = components.write(LongestRules(MAPS[name]), components.NORMALIZERS)
    parts = dict.fromkeys(("truncation", "padding", "pre_tokenizer", "post_processor", "decoder"))
    model = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    file = {"version": "1.0", "added_tokens": [], **parts, "normalizer": spelt, "model": model}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file)).normalizer
    steps, wanted = Sequence(charsmap_steps.steps_of(MAPS[name]) or ()), sentencepiece(MAPS[name])
    for k, text in enumerate(texts(MAPS[name], 40_000 if LONG else 1500)):
        assert theirs.normalize_str(text) == wanted(text), text
        if k % 50 == 0:
            assert steps.normalize_str(text) == wanted(text), text


@pytest.mark.parametrize("name", MAPS)
def test_the_core_finds_the_longest_rule_at_each_place(name: str) -> None:
    ours, wanted = LongestRules(MAPS[name]), sentencepiece(MAPS[name])
    for text in texts(MAPS[name], 10_000 if LONG else 1500):
        assert ours.normalize_str(text) == wanted(text), text


@pytest.mark.parametrize("name", [name for name in MAPS if name != "several"])
def test_steps_are_known_again_as_the_rules_they_are(name: str) -> None:
    spelt = components.write(LongestRules(MAPS[name]), components.NORMALIZERS)
    again = components.read(json.loads(json.dumps(spelt)), "normalizer", components.NORMALIZERS)
    assert isinstance(again, LongestRules)
    assert decompile(again.charsmap) == decompile(MAPS[name])


@pytest.mark.parametrize("rules", [{"ab": "x", "bc": "y"}, {"a": "\ufdd0"}, {"\ufdd1b": "c"}])
def test_rules_that_no_steps_do_are_refused(rules: dict[str, str]) -> None:
    made = LongestRules(compile_rules(rules))
    with pytest.raises(FormatError, match=r"no components of a tokenizer\.json do what the rules of this charsmap do"):
        components.write(made, components.NORMALIZERS)


def test_what_is_no_charsmap_is_an_error() -> None:
    with pytest.raises(OptionError, match="charsmap cannot be read"):
        LongestRules(b"\x10")
