"""Chunks of every kind of text: within the size limit, nothing lost, no character cut, cut at pauses."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import pytest

import strategies
import tokkit
from reference import chunks as reference
from tokkit.chunks import At, Chunk, chunk, chunking
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROSE = "The river rose in the night. By dawn it stood at the door; nobody slept!\nWhat now? We waited.\n\n" * 30
SIZES = [(8, 0), (8, 4), (20, 5), (64, 8), (200, 100)]
MARKDOWN = """# One

Some words of it. And more "of it." Then (this!) that.

```python
def one():

    # not a heading
    return 1
```

## Two
- a point
- another one

~~~~
``` in it
~~~
~~~~
The rest.
""".replace("## Two", "## Two\n\n" + "words and words " * 9)
CODE = """import os


class One:
    \"\"\"First.\"\"\"

    def two(self):
        if self:
            return [
                2,
            ]

        return 3


def four():
\treturn 4
""".replace("import os", "import os\nimport sys\n\nX = {\n    1: 2,\n}")


@pytest.fixture(scope="module", params=["bbpe", "wordpiece", "unigram", "bytes"])
def tok(request: pytest.FixtureRequest, bundled: str) -> tokkit.Tokenizer:
    if request.param == "bytes":
        return tokkit.train(iter(["a"]), vocab_size=256)
    return tokkit.train(iter(bundled[:60_000].splitlines(keepends=True)), model=request.param, vocab_size=2500)


@pytest.fixture(scope="module")
def by_bytes() -> tokkit.Tokenizer:
    return tokkit.train(iter(["a"]), vocab_size=256)


def check(text: str, tok: tokkit.Tokenizer, tokens: int, overlap: int, at: Any = "paragraph") -> list[Chunk]:
    found = list(chunk(text, tok, tokens=tokens, overlap=overlap, at=at))
    covered = 0
    for part, start, end, n_tokens in found:
        assert part == text[start:end]
        assert part.strip()
        assert part == (part.rstrip() if at in ("markdown", "code") else part.strip())
        assert not text[covered:start].strip(), "nothing but white space is left out"
        assert n_tokens == tok.count(part)
        # A character that alone has more tokens is the one reason to be longer.
        assert n_tokens <= tokens or n_tokens <= max(map(tok.count, part)) + 1
        covered = max(covered, end)
    assert not text[covered:].strip()
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(found))
    return found


@pytest.mark.parametrize(("tokens", "overlap"), SIZES)
def test_chunks_of_prose_cover_it_within_their_size(tok: tokkit.Tokenizer, tokens: int, overlap: int) -> None:
    found = check(PROSE, tok, tokens, overlap)
    assert all(b.start >= a.end for a, b in pairwise(found)) == (overlap == 0)
    for before, after in pairwise(found):
        assert tok.count(PROSE[after.start : before.end]) <= overlap + 1


@pytest.mark.parametrize("at", get_args(At))
@pytest.mark.parametrize("seed", range(6))
def test_chunks_of_any_text_cover_it_within_their_size(tok: tokkit.Tokenizer, seed: int, at: str) -> None:
    text = strategies.adversarial(seed, 1500)
    for tokens, overlap in SIZES[seed % 2 :: 2]:
        check(text, tok, tokens, overlap, at)


@pytest.mark.parametrize("at", get_args(At))
def test_chunks_are_those_of_the_reference(tok: tokkit.Tokenizer, at: Any) -> None:
    texts = [PROSE[:800], MARKDOWN, CODE, *(strategies.adversarial(seed, 500) for seed in range(100, 106))]
    for number, text in enumerate(texts):
        for tokens, overlap in SIZES[number % 2 : 4 : 2]:
            found = [tuple(part[1:]) for part in chunk(text, tok, tokens=tokens, overlap=overlap, at=at)]
            assert found == reference.chunks(text, tok, tokens, overlap, at), (number, tokens)


def test_real_texts_in_several_scripts_too(tok: tokkit.Tokenizer, corpora: dict[str, Path]) -> None:
    for path in corpora.values():
        check(path.read_bytes()[50_000:58_000].decode("utf-8", "ignore"), tok, 300, 8)


@pytest.mark.parametrize(
    "name",
    [
        *("cl100k_base.tiktoken", "bert-base-uncased", "t5/spiece.model", "t5/tokenizer.json", "xlnet", "falcon"),
        *("mistral-v1/tokenizer.model", "mistral-v1/tokenizer.json", "clip", "openai-gpt", "phi-3", "modernbert"),
    ],
)
def test_counts_of_published_tokenizers_are_those_of_the_chunks_alone(
    shared: Path, corpora: dict[str, Path], name: str
) -> None:
    tok = tokkit.load(shared / "vocabs" / name)
    text = (
        PROSE[:300]
        + MARKDOWN
        + CODE
        + "".join(
            corpora[corpus].read_bytes()[50_000:53_000].decode("utf-8", "ignore") for corpus in ("zh", "th", "fr")
        )
    )
    added = next((token.content for token in tok.definition.added_tokens), "")
    for at in get_args(At):
        check(text + f" {added} a{added}b\n{added} " * 9, tok, 60, 9, at)


@pytest.mark.parametrize("pattern", [r"(?<!x)\w+|\s+|[^\w\s]+", r"\w+|[^\w\s]+"])
def test_texts_that_cannot_be_cut_are_chunked_too(
    make_tokenizer: Callable[..., tokkit.Tokenizer], pattern: str
) -> None:
    tok = make_tokenizer("rank", pattern)
    assert tok.whole_reason
    for at in get_args(At):
        check(PROSE[:500] + MARKDOWN + CODE + strategies.adversarial(3, 500), tok, 40, 8, at)


def parts(text: str, tok: tokkit.Tokenizer, tokens: int, overlap: int = 0, at: Any = "paragraph") -> list[str]:
    return [part.text for part in chunk(text, tok, tokens=tokens, overlap=overlap, at=at)]


def test_chunks_end_at_the_greatest_pause_of_their_last_third(by_bytes: tokkit.Tokenizer) -> None:
    assert parts("aaa aaa. aa aa", by_bytes, 12) == ["aaa aaa.", "aa aa"]
    assert parts("aaa aa.\naa. aa", by_bytes, 12) == ["aaa aa.", "aa. aa"]
    assert parts("aaa a.\n\naa.\naa", by_bytes, 12) == ["aaa a.", "aa.\naa"]
    assert parts("aaaaaaaaaaaaaaa", by_bytes, 12) == ["aaaaaaaaaaaa", "aaa"]
    assert parts("aaa. bb cc dd", by_bytes, 12, 6) == ["aaa. bb cc", "bb cc dd"]
    assert parts("3.14159265358979", by_bytes, 12) == ["3.1415926535", "8979"]
    assert parts("雪が。雪が降る", by_bytes, 12) == ["雪が。", "雪が降る"]
    assert parts("「雪が。」雪が降る", by_bytes, 17) == ["「雪が。」", "雪が降る"]
    assert parts('a "aa a." aa aa', by_bytes, 12) == ['a "aa a."', "aa aa"]


def test_sentences_and_words_come_as_late_as_they_can(by_bytes: tokkit.Tokenizer) -> None:
    text = "aaa aa aa\n\na. aa aa aaa"
    assert parts(text, by_bytes, 16) == ["aaa aa aa", "a. aa aa aaa"]
    assert parts(text, by_bytes, 16, at="sentence") == ["aaa aa aa\n\na.", "aa aa aaa"]
    assert parts(text, by_bytes, 16, at="word") == ["aaa aa aa\n\na. aa", "aa aaa"]


def test_markdown_is_cut_before_the_highest_heading(by_bytes: tokkit.Tokenizer) -> None:
    text = "# One\nWords of it.\n\n## Two\n\nMore.\n\n### Three\nStill #more"
    assert parts(text, by_bytes, 38, at="markdown") == [
        "# One\nWords of it.",
        "## Two\n\nMore.\n\n### Three\nStill #more",
    ]
    text = "one two three four\n    # indented\n#nothing\n\nfive six"
    assert parts(text, by_bytes, 46, at="markdown")[0] == text[: text.index("\n\n")]


def test_code_between_fences_is_cut_only_where_it_is_too_long(by_bytes: tokkit.Tokenizer) -> None:
    code = "```py\nx = 1\n\n# y\ny = 2\n```"
    assert parts(f"Some words here\n{code}\nMore.", by_bytes, 36, at="markdown") == [
        "Some words here",
        code + "\nMore.",
    ]
    assert parts(f"A\n\n{code}\nMore words.", by_bytes, 32, at="markdown") == [f"A\n\n{code}", "More words."]
    assert parts(code, by_bytes, 16, at="markdown") == ["```py\nx = 1", "# y\ny = 2\n```"]
    inline = "```a b c d e f```\n\n# b\nc d e f g h i"
    assert parts(inline, by_bytes, 24, at="markdown") == ["```a b c d e f```", "# b\nc d e f g h i"]


def test_code_is_cut_before_the_least_indented_lines(by_bytes: tokkit.Tokenizer) -> None:
    python = "class A:\n    def b(self):\n        return 1\n\n        # c\n    def d(self):\n        pass\n"
    found = parts(python, by_bytes, 70, at="code")
    assert found == ["class A:\n    def b(self):\n        return 1\n\n        # c", "    def d(self):\n        pass"]
    c = "int a() {\n  one();\n\n  two();\n}\nint b() {\n  three();\n}\n"
    assert parts(c, by_bytes, 45, at="code") == [c[: c.index("int b")].rstrip(), c[c.index("int b") :].rstrip()]
    blank = "a = 1\nb = 2\n\nc = 3\nd = 4\ne = 5\n"
    assert parts(blank, by_bytes, 20, at="code") == ["a = 1\nb = 2", "c = 3\nd = 4\ne = 5"]


@pytest.mark.parametrize("text", ["", " ", "\n" * 1000, "\u3000\t"])
@pytest.mark.parametrize("at", get_args(At))
def test_white_space_has_no_chunks(tok: tokkit.Tokenizer, text: str, at: Any) -> None:
    assert list(chunk(text, tok, tokens=16, at=at)) == []


@pytest.mark.parametrize("at", get_args(At))
def test_long_texts_are_read_by_windows_and_nothing_is_lost(
    tok: tokkit.Tokenizer, at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunking, "WINDOW", 900)
    for text in (PROSE, MARKDOWN * 8, CODE * 8, "a" * 3000, " " * 2000 + "b", strategies.adversarial(7, 3000)):
        check(text, tok, 40, 8, at)


def test_a_fence_stays_open_in_the_next_window(by_bytes: tokkit.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "~~~~\n" + "# no heading\nx = 1\n~~~\n\n" * 60 + "~~~~\n\n" + "Words of it.\n\n# One\n" * 9
    whole = parts(text, by_bytes, 64, at="markdown")
    assert any("x = 1\n~~~\n\n# no heading" in part for part in whole)
    assert whole[-2].startswith("# One")
    monkeypatch.setattr(chunking, "WINDOW", 10)
    monkeypatch.setattr(chunking, "A_TOKEN", 2)
    assert parts(text, by_bytes, 64, at="markdown") == whole


def test_surrogates_and_added_tokens_do_not_shift_what_follows(by_bytes: tokkit.Tokenizer) -> None:
    text = "one \ud83d\ude00 two \ud800 three. " * 9
    found = list(chunk(text, by_bytes, tokens=40))
    assert [part.text for part in found] == [text[part.start : part.end] for part in found]
    tok = by_bytes.with_special_tokens({"<|end|>": 256})
    assert all(part.n_tokens == tok.count(part.text) for part in check("a <|end|> b. " * 200, tok, 2000, 20))


def test_time_grows_with_the_text_and_not_faster() -> None:
    # Steps, not seconds: how often the text is looked at.
    tok = tokkit.train(iter(["a"]), vocab_size=256)
    for text in (" " * 30_000, "a" + " " * 30_000 + "b", "\n\n" * 15_000, "a." * 15_000):
        assert len(list(chunk(text, tok, tokens=256, overlap=32))) < 300


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tokens": 7}, "tokens is 7; it must be at least 8"),
        ({"tokens": True}, "tokens is True"),
        ({"tokens": 16, "overlap": 9}, "overlap is 9; for chunks of 16 tokens it must be from 0 to 8"),
        ({"tokens": 16, "overlap": -1}, "overlap is -1"),
        ({"tokens": 16, "overlap": 1.5}, r"overlap is 1\.5"),
        ({"at": "page"}, "at is 'page'; it must be one of word, sentence, paragraph, markdown, code"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(
    by_bytes: tokkit.Tokenizer, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(OptionError, match=reason):
        chunk("text", by_bytes, **options)
    with pytest.raises(TypeError, match="text is bytes; it must be str"):
        chunk(b"text", by_bytes)  # type: ignore[arg-type]


def test_the_old_name_yields_spans_and_warns(by_bytes: tokkit.Tokenizer) -> None:
    from tokkit.search import chunks

    with pytest.warns(DeprecationWarning, match=r"chunks is now tokkit\.chunks\.chunk"):
        assert list(chunks("One two three.\nFour, five.", by_bytes, tokens=16)) == [(0, 14), (15, 26)]
