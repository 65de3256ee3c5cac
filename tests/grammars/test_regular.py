"""Regular expressions as grammars: exactly the texts that match as a whole can be written."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

import tokkit
from tokkit.errors import GrammarError, PatternError
from tokkit.grammars import Choice, Regex, TokenSpellings


@cache
def tokenizer() -> tokkit.Tokenizer:
    return tokkit.train(iter(["abc aab cab é東 12-3 \n"] * 9), vocab_size=275)


@cache
def tokens() -> TokenSpellings:
    return TokenSpellings(tokenizer())


def follows(pattern: str, text: str) -> bool:
    constraint = Regex(pattern).compile(tokens()).start()
    for id_ in tokenizer().encode(text):
        if id_ not in constraint.allowed_ids():
            return False
        constraint.advance(id_)
    return constraint.finished


@pytest.mark.parametrize(
    "pattern",
    [
        "a*b?", "(ab|a)(c|bc)", "[^ab]*", r"\w+\s\w+", ".{2,3}", "a{0}b", "(a?){3}", "((a|b)*c)*", r"^a|b$", "^(a|b)*$",
        "(?i)AB+", "(?:é|東)+", r"[a-c-]+\d?", "", "a||b", r"(?s).*", "x*?y?", r"\n|[\t\n ]a",
    ],
)  # fmt: skip
def test_texts_are_those_that_re_matches_as_a_whole(pattern: str) -> None:
    rng = random.Random(3)
    texts = {"".join(rng.choices("abc é東1-\n", k=rng.randint(0, 5))) for _ in range(60)}
    texts |= {"", "a", "b", "ab", "abc", "aab", "abbb", "ABb", "é東", "ab1", "x", "xxy", "\na"}
    for text in texts:
        assert follows(pattern, text) == (re.fullmatch(pattern.replace("$", r"\Z"), text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(?=b)", "a look-ahead"), ("(?<!a)b", "a look-behind"), (r"(a)\1", "a back-reference"),
        (r"\ba", "a place in the text"), ("a++", "a possessive repeat"), ("(?>a|ab)c", "an atomic group"),
        ("(a$|b)c", "inside the pattern"), ("a^b", "inside the pattern"), ("(a", "unbalanced"),
        ("a{1,2000}", "more than 1000 repeats"),
    ],
)  # fmt: skip
def test_what_is_not_regular_is_refused_by_name(pattern: str, reason: str) -> None:
    with pytest.raises(GrammarError, match=reason):
        Regex(pattern).compile(tokens())


def test_patterns_that_are_too_large_or_match_nothing_are_refused() -> None:
    with pytest.raises(PatternError, match="pattern_size"):
        Regex("((a{1000}){1000}){1000}")
    with pytest.raises(GrammarError, match=r"no text satisfies the pattern '\[\^"):
        Regex(r"[^\s\S]").compile(tokens())
    with pytest.raises(GrammarError, match="a pattern is 5; it must be a str"):
        Regex(5)  # type: ignore[arg-type]


def test_choices_may_begin_one_another() -> None:
    start = Choice(["a", "ab", "abc abc", "東"]).compile(tokens()).start()
    for text, whole in [("a", True), ("ab", True), ("abc", False), ("abc abc", True), ("東", True), ("b", False)]:
        constraint, right = start.copy(), True
        for id_ in tokenizer().encode(text):
            right = right and id_ in constraint.allowed_ids()
            if right:
                constraint.advance(id_)
        assert (right and constraint.finished) == whole


@pytest.mark.parametrize("choices", [[], "yes", [""], [1], ["a", ""]], ids=repr)
def test_choices_are_texts(choices: object) -> None:
    with pytest.raises(GrammarError, match="it must contain at least one str, and no empty one"):
        Choice(choices)  # type: ignore[arg-type]


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(GrammarError, match="surrogate"):
        Choice(["\ud800"]).compile(tokens())
