"""Input that decides the amount of work meets a limit: an error that names it and how to raise it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tokkit
from normalizers.charsmaps import charsmap
from tokkit import limits
from tokkit.chat.sandbox import Program, Run
from tokkit.decoders.replace import Replace as DecoderReplace
from tokkit.decoders.sequence import Sequence as DecoderSequence
from tokkit.errors import ChatError, CorpusError, OptionError, PatternError, TokkitError
from tokkit.formats import tokenizer_json
from tokkit.normalizers.replace import Replace
from tokkit.pretokenizers.sequence import Sequence
from tokkit.pretokenizers.split import Split
from tokkit.unicode_regex import cost_limits
from tokkit.unicode_regex.cost_limits import check_size

LARGE = "((a{1000}){1000}){1000}"
GROWS = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}


def made(**parts: Any) -> tokkit.Tokenizer:
    """A tokenizer.json of words with these parts."""
    file = {"version": "1.0", "truncation": None, "added_tokens": [], "post_processor": None}
    model = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    file |= dict.fromkeys(("padding", "normalizer", "pre_tokenizer", "decoder"))
    return tokkit.Tokenizer(tokenizer_json.read(json.dumps(file | parts | {"model": model}).encode()))


def in_turn(kind: str, part: dict[str, Any], n: int) -> dict[str, Any]:
    return {"type": "Sequence", kind: [part] * n}


def with_pattern(place: str, pattern: str) -> tokkit.Tokenizer:
    part: dict[str, Any] = {"pattern": {"Regex": pattern}}
    if place == "pre_tokenizer":
        return made(pre_tokenizer=part | {"type": "Split", "behavior": "Isolated", "invert": False})
    return made(**{place: part | {"type": "Replace", "content": "x"}})


PATTERNS: dict[str, Callable[[str], object]] = {
    "train": lambda pattern: tokkit.train(iter(["abc"]), vocab_size=260, pattern=pattern),
    "Split": lambda pattern: Split({"Regex": pattern}, "isolated"),
    "Replace": lambda pattern: Replace({"Regex": pattern}, "x"),
    "the decoder Replace": lambda pattern: DecoderReplace({"Regex": pattern}, "x"),
    **{place: lambda pattern, place=place: with_pattern(place, pattern) for place in ("normalizer", "pre_tokenizer")},
}


@pytest.mark.parametrize("place", PATTERNS)
def test_a_pattern_is_bounded_before_anything_compiles_it(place: str) -> None:
    with pytest.raises(TokkitError, match=r"pattern_size is 100,000.*using\(pattern_size=.*TOKKIT_LIMITS"):
        PATTERNS[place](LARGE)


@pytest.mark.parametrize(
    "pattern",
    [
        "[[]" + LARGE,  # a bracket in a class, where classes do not nest
        "(?V1)[a[b]]" + LARGE,
        "(?V1)[[a]--[b]" + "]" + LARGE,
        "(?#[)" + LARGE,  # a comment
        "(?x)#[\n" + LARGE,
        "(?x) a #(\n" + LARGE,
        "[]]" + LARGE,
        "[^]]" + LARGE,
        r"\[" + LARGE,
        r"[\]]" + LARGE,
        "[[:alpha:]]" + LARGE,
        "(?:" + LARGE + ")*",
        "a{100001}",
        "a{5,100001}",
        "(a{1000}){200,}",
        "(|a{1000}){1000}",
        "(?P<x>a{1000}){1000}",
        "(?:(?=a{1000}))" * 200,
    ],
)
def test_no_way_of_writing_hides_a_repeat(pattern: str) -> None:
    with pytest.raises(PatternError, match="pattern_size"):
        check_size(pattern)


@pytest.mark.parametrize("pattern", [r"\p{N}{1,3}", "a{1000}", "(?:a{100}){100}", "[{1000}{1000}{1000}]", "{1000}"])
def test_sound_patterns_are_let_through(pattern: str) -> None:
    check_size(pattern)


def test_every_published_pattern_is_let_through() -> None:
    from tokkit.pretokenizers import patterns

    for pattern in patterns.NAMES.values():
        check_size(pattern or "")


@pytest.mark.parametrize("call", ["(?R)", "(?1)", "(?-1)", "(?&word)", "(?P>word)"])
def test_a_pattern_that_calls_itself_is_refused(call: str) -> None:
    with pytest.raises(PatternError, match="is recursive"):
        tokkit.train(iter(["a" * 30]), vocab_size=260, pattern=f"(?P<word>a){call}?a")


SLOW = in_turn("pretokenizers", {"type": "WhitespaceSplit"}, 1)
SLOW["pretokenizers"].append(
    {"type": "Split", "pattern": {"Regex": "(?=(a+)+b)a"}, "behavior": "Isolated", "invert": False}
)


def streamed(tok: tokkit.Tokenizer, text: str) -> list[int]:
    stream = tok.encode_stream()
    return stream.feed(text) + stream.flush()


CALLS: dict[str, Callable[[tokkit.Tokenizer, str], object]] = {
    "encode": lambda tok, text: tok.encode(text),
    "count": lambda tok, text: tok.count(text),
    "encode_to_numpy": lambda tok, text: tok.encode_to_numpy(text),
    "encode_batch": lambda tok, text: tok.encode_batch(["b", text]),
    "call": lambda tok, text: tok(text),
    "stages": lambda tok, text: list(tok.stages(text)),
    "stream": streamed,
}


@pytest.mark.parametrize("call", CALLS)
def test_all_pieces_of_a_text_share_one_deadline(call: str) -> None:
    tok, text = made(pre_tokenizer=SLOW), " ".join(["a" * 600] * 20)
    before = time.process_time()
    with limits.using(pattern_seconds=0.2), pytest.raises(PatternError, match=r"over 0\.44 s.*pattern_seconds is 0\.2"):
        CALLS[call](tok, text)
    assert time.process_time() - before < 4  # all pieces take three times as long


def test_what_runs_between_patterns_is_not_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    late = 0.0
    monkeypatch.setattr(cost_limits, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late))

    class Sleeps:
        def pretokenize(self, text: Any) -> None:
            nonlocal late
            late += 100

    tok = with_pattern("pre_tokenizer", "(?=(a+)+b)a")
    both = Sequence([Sleeps(), tok.definition.pretokenizer])  # type: ignore[list-item]
    with limits.using(pattern_seconds=60):  # of which the pattern takes little
        assert len(tokkit.Tokenizer(replace(tok.definition, pretokenizer=both)).encode("a" * 150)) == 1


def test_decoders_in_turn_share_one_deadline() -> None:
    slow = DecoderReplace({"Regex": "(?=(a+)+b)a"}, "x")
    with limits.using(pattern_seconds=0.2), pytest.raises(PatternError, match="pattern_seconds"):
        DecoderSequence([slow] * 3).decode(["a" * 600] * 20)


@pytest.mark.parametrize("call", CALLS)
def test_what_stages_make_of_a_text_is_bounded(call: str) -> None:
    with limits.using(grown_bytes=1_000_000):
        tok = made(normalizer=in_turn("normalizers", GROWS, 6))
        with pytest.raises(CorpusError, match=r"the text too large.*grown_bytes"):
            CALLS[call](tok, "a")


def test_many_units_that_grow_are_bounded_together(tmp_path: Path) -> None:
    pieces = {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False}
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, pieces]}
    with limits.using(grown_bytes=100_000):
        tok = made(normalizer=in_turn("normalizers", GROWS, 2), pre_tokenizer=words)
    assert len(tok.encode("a a")) == 20_000
    with pytest.raises(CorpusError, match="grown_bytes"):
        tok.encode("a " * 20)
    (tmp_path / "text").write_text("a " * 20)
    with pytest.raises(CorpusError, match="grown_bytes"):
        tok.encode_file(tmp_path / "text", tmp_path / "ids.npy")
    assert not (tmp_path / "ids.npy").exists()


def test_a_limit_that_is_raised_lets_a_text_through() -> None:
    with limits.using(grown_bytes=1000):
        small = made(normalizer=in_turn("normalizers", GROWS, 2))
    with pytest.raises(CorpusError, match="grown_bytes is 1,000;"):  # as it was when the tokenizer was loaded
        small("a")
    assert len(made(normalizer=in_turn("normalizers", GROWS, 2))("a")) == 1


def test_what_decoders_make_is_bounded() -> None:
    for decoder in (GROWS, GROWS | {"pattern": {"Regex": "a"}}):
        with pytest.raises(CorpusError, match="grown_bytes"):
            made(decoder=in_turn("decoders", decoder, 6)).decode([0])


@pytest.mark.parametrize("call", CALLS)
def test_what_the_charsmap_of_a_model_file_makes_is_bounded(call: str) -> None:
    trained = tokkit.train(iter(["a b c abc hello " * 20]), model="unigram", vocab_size=20, hard_vocab_limit=False)
    model: Any = trained.definition.model
    rules = replace(model.normalizer, charsmap=charsmap({b"a": b"b" * 500}))
    with limits.using(grown_bytes=20_000):
        grows = tokkit.Tokenizer(replace(trained.definition, model=replace(model, normalizer=rules)))
        decodes = tokkit.Tokenizer(replace(trained.definition, model=replace(model, denormalizer=rules)))
        with pytest.raises(CorpusError, match="grown_bytes"):
            decodes.decode(trained.encode("a" * 50))
    assert grows.encode("a" * 30) == trained.encode("b" * 15_000)
    with pytest.raises(CorpusError, match=r"the text too large.*grown_bytes"):
        CALLS[call](grows, "a" * 50)


def test_padding_is_bounded() -> None:
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0}
    tok = made(padding=padding | {"pad_type_id": 0, "pad_token": "a"})
    calls = (lambda: tok("a"), lambda: tok.encodings(["a"]), lambda: tok.encode_padded(["a"]))
    for call in (*calls, lambda: tok("a", padding=None).pad(10**9)):
        with pytest.raises(OptionError, match="padded_tokens"):
            call()


def test_a_stream_holds_a_bounded_number_of_bytes_and_stays_as_it_was() -> None:
    tok = made(normalizer=in_turn("normalizers", {"type": "NFC"}, 1))
    stream = tok.encode_stream()
    with limits.using(held_bytes=100):
        assert stream.feed("b" * 90) == []
        with pytest.raises(CorpusError, match="held_bytes"):
            stream.feed("b" * 90)
        assert stream.flush() == tok.encode("b" * 90)


def test_a_block_of_a_file_holds_a_bounded_number_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("b" * (3 << 20))
    tok = made(pre_tokenizer={"type": "Whitespace"})
    with limits.using(held_bytes=1 << 20), pytest.raises(CorpusError, match=r"text: .* place to cut.*held_bytes"):
        tok.encode_file(tmp_path / "text", tmp_path / "ids.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


TEMPLATES = [
    "{{ [1]|slice(10**8)|list }}",
    "{{ [1]|batch(10**8, 1)|list }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '%*d'|format(1000000000, 1) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{w}}'.format(1, w=1000000000) }}",
    "{{ '1'.zfill(10**9) }}",
    "{{ '1'.ljust(10**9) }}",
    "{{ '1'|center(10**9) }}",
    "{{ ('\t' * 1000).expandtabs(10**6) }}",
    "{{ [[1]]|tojson(indent=10**9) }}",
    "{{ 'aaaa'.translate({97: 'a' * 10**8}) }}",
    "{{ ('a' * 10**5).replace('a', 'b' * 10**5) }}",
    "{{ ('a' * 10**5)|replace('a', 'b' * 10**5) }}",
    "{{ ('a' * 10**5)|join('b' * 10**5) }}",
    "{{ ('b' * 10**5).join(['a'] * 10**5) }}",
    "{{ ('a\n' * 10**5)|indent(10**5) }}",
    "{{ ('a ' * 10**4)|wordwrap(1, wrapstring='b' * 10**5) }}",
    "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "{% set n = namespace(x='a') %}{% for _ in range(60) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for _ in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=[1]) %}{% for _ in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x|tojson }}",
    "{% set n = namespace(x=[1]) %}{% for _ in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x ~ 'a' }}",
    "{% set a = 'a' * 10**7 %}{% for _ in range(100000) %}{% set b = a[1:] %}{% endfor %}",
    "{{ lipsum(n=10**7) }}",
    "{{ (1).to_bytes(10**9, 'big') }}",
    "{{ '{:>{}}'.format(1, 1000000000) }}",
    "{{ '{0:{1}}'.format(1, 1000000000) }}",
    "{{ '%.1000000000f' % 1 }}",
    "{{ '%-*d' % (1000000000, 1) }}",
    "{{ '%(n)1000000000d' % {'n': 1} }}",
    "{{ '{n:0>1000000000}'.format_map({'n': 1}) }}",
    "{{ [[1]]|tojson(false, 10**9) }}",
    "{{ [[1]]|tojson(false, ' ' * 10**5) }}",
    "{{ '{:{{>1000000000}'.format(1) }}",
    "{{ '{0[}]:1000000000}'.format({'}': 1}) }}",
    "{{ '{:{}}'.format(1, '1000000000') }}",
    "{{ '{:{0.x}}'.format({'x': 1000000000}) }}",
    "{{ '%(a(b))1000000000d' % {'a(b)': 1} }}",
    "{{ 1.5|round(10**9, 'ceil') }}",
    "{{ 'a b'|truncate(5, end='b' * 10**9) }}",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_what_a_template_makes_is_bounded(template: str) -> None:
    from datetime import datetime

    with pytest.raises(ChatError, match=r"template_size|at most 32|for 100,000,000 parts|looks up"):
        Program(template).run({}, Run(datetime(2026, 1, 1)))


SOUND = {
    "{{ missing|default(2147483647) }}": "2147483647",
    "{% macro f(n) %}{{ n }}{% endmacro %}{{ f(4102444800) }}": "4102444800",
    "{{ '%d at %5.1f' % (4102444800, 1.5) }}": "4102444800 at   1.5",
    "{{ 'in 20261122123456 there are {}'.format(2) }}": "in 20261122123456 there are 2",
    "{{ 'year 999999999: {:>4}'.format(4102444800) }}": "year 999999999: 4102444800",
    "{{ '%s%% of 999999999999'|format(5) }}": "5% of 999999999999",
    "{{ [4102444800]|tojson(indent=1) }}": "[\n 4102444800\n]",
    "{{ {'n': 4102444800}.get('n', 4102444800) }}": "4102444800",
    "{{ [4102444800, 1]|max }}": "4102444800",
    "{{ range(4102444800, 4102444803)|list|length }}": "3",
    "{{ '7'.zfill(3) ~ ('7'|center(3)) }}": "007 7 ",
}


@pytest.mark.parametrize("template", SOUND)
def test_large_numbers_that_ask_for_nothing_large_pass(template: str) -> None:
    from datetime import datetime

    assert Program(template).run({}, Run(datetime(2026, 1, 1))) == SOUND[template]


@pytest.mark.parametrize("template", ["{% break %}", "{{ " + "+".join(["1"] * 20_000) + " }}", "{{ 1 | nothing }}"])
def test_a_template_that_cannot_be_compiled_is_a_chat_error(template: str) -> None:
    from datetime import datetime

    with pytest.raises(ChatError):
        Program(template).run({}, Run(datetime(2026, 1, 1)))


def test_limits_are_an_attribute_of_the_package() -> None:
    run = [sys.executable, "-c", "import tokkit; print(tokkit.limits.current().held_bytes)"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == str(1 << 27)


def test_limits_are_set_for_a_block_a_process_and_by_the_environment() -> None:
    before = limits.current()
    assert before.held_bytes == limits.Limits().held_bytes
    with limits.using(held_bytes=5), limits.using(file_bytes=7):
        assert (limits.current().held_bytes, limits.current().file_bytes) == (5, 7)
    assert limits.current() == before
    script = "from tokkit import limits; limits.set_defaults(held_bytes=4); print(limits.current())"
    environment = {**os.environ, "TOKKIT_LIMITS": "file_bytes=4e9, pattern_seconds=0.5"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "file_bytes=4000000000" in run.stdout
    assert "pattern_seconds=0.5" in run.stdout
    assert "held_bytes=4," in run.stdout


@pytest.mark.parametrize("wrong", [{"none": 1}, {"held_bytes": 0}, {"held_bytes": -1}, {"held_bytes": "1"}])
def test_a_wrong_limit_is_an_error_that_says_what_is_right(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"the limits are file_bytes|a number above 0"), limits.using(**wrong):
        pass


def test_every_limit_has_its_place_in_the_documentation() -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "limits.md").read_text(encoding="utf-8")
    for name in limits.Limits.__dataclass_fields__:
        assert f"`{name}`" in page, name


@pytest.mark.parametrize("place", PATTERNS)
@pytest.mark.parametrize("opening", ["(", "(?:", "(a|", "(?=", "[a--"])
def test_a_pattern_that_is_nested_too_deep_is_an_error_of_ours(place: str, opening: str) -> None:
    closing = "]" if opening[0] == "[" else ")"
    with pytest.raises(TokkitError):
        PATTERNS[place]("(?V1)" * (opening[0] == "[") + opening * 5000 + "a" + closing * 5000)
