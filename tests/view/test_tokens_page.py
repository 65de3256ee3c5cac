"""Pages of tokens: their content, and what a browser shows."""

from __future__ import annotations

import base64
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tokkit
from browser import opened, text_of, title_of
from tokkit import view
from tokkit.engine.sampling import Merges
from tokkit.errors import OptionError
from tokkit.view import notebook
from tokkit.view.token_spans import TokenSpans, encoded
from tokkit.view.tokens_page import MAX_BYTES

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror='document.title=1'> \u202eevil\u2066 \x1b[31mred\x07\0 <!--"
)
TEXT = "low lower\n\tna\u00efve \u6771\u4eac \U0001f642\u200b\n"


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    return tokkit.train({"low": 9, " lower": 5, " lowest": 4}, vocab_size=262)


@pytest.fixture(scope="module")
def words() -> tokkit.Tokenizer:
    return tokkit.train({"low": 9, "lower": 5, "evil": 4}, model="wordpiece", vocab_size=40)


def data_of(page: str) -> dict[str, object]:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def column(text: str) -> list[int]:
    return np.frombuffer(base64.b64decode(text), dtype="<u4").tolist()


def acted(page: str, acts: str, folder: Path) -> object:
    made = f"document.body.append(Object.assign(document.createElement('pre'), {{id: 'told'}}));\n{acts}"
    dom = opened(page, made, folder)
    assert title_of(dom) == "Tokens"
    return json.loads(text_of(dom, "told"))


def tell(value: str) -> str:
    return f'element("told").textContent = JSON.stringify({value}).replace(/[\\ud800-\\udfff]/gu, "?");'


def test_a_page_has_the_bytes_of_the_text_and_the_span_of_each_token(tok: tokkit.Tokenizer) -> None:
    made = data_of(view.html(tok, TEXT))
    (one,) = made["sets"]
    assert base64.b64decode(made["utf8"]) == TEXT.encode()
    assert column(one["ids"]) == tok.encode(TEXT)
    spans = list(zip(column(one["starts"]), column(one["ends"]), strict=True))
    assert spans == tok(TEXT).byte_offsets
    for id_, (spelt, score, special) in one["tokens"].items():
        assert (bytes.fromhex(spelt), score, special) == (tok.vocab[int(id_)], None, 0)


@pytest.mark.parametrize("model", ["bbpe", "bpe", "wordpiece"])
def test_a_token_has_its_merges_in_their_order(model: str) -> None:
    tok = tokkit.train({"low": 9, "lower": 5, "lowest": 4}, model=model, vocab_size=262 if model == "bbpe" else 20)
    (one,) = data_of(view.html(tok, "lowest lower"))["sets"]
    parts = {int(id_): made for id_, made in one["parts"].items()}

    def merges(id_: int) -> list[int]:
        rank, left, right = parts.get(id_, (None, None, None))
        return [] if rank is None else [*merges(left), *merges(right), rank]

    if model == "wordpiece":
        assert parts == {}
        return
    for symbols, steps in Merges(tok).words("lowest lower"):
        last = steps[-1].symbols if steps else symbols
        wanted = sorted(step.rank for step in steps)
        assert sorted(rank for token in last for rank in merges(tok.vocab[token])) == wanted
        assert all(str(tok.vocab[token]) in one["tokens"] for token in (*symbols, *last))


@pytest.mark.parametrize("special", [False, True])
def test_spans_are_in_order_do_not_overlap_and_are_empty_for_what_was_added(
    words: tokkit.Tokenizer, special: bool
) -> None:
    spans = encoded(words, "low  evil low", add_special=special)
    edges = np.stack([spans.starts, spans.ends], axis=1).ravel()
    assert (np.diff(edges.astype(int)) >= 0).all()
    assert spans.ids.tolist() == words("low  evil low", add_special=special).ids


def test_tokens_between_two_bytes_are_those_that_reach_into_them(tok: tokkit.Tokenizer) -> None:
    spans = encoded(tok, TEXT)
    n = len(TEXT.encode())
    for first, last in ((0, n), (3, 9), (4, 4), (n - 1, n)):
        at, part = spans.between(first, last)
        wanted = [k for k in range(len(spans)) if (spans.ends[k] > first or not first) and spans.starts[k] <= last]
        assert list(range(at, at + len(part))) == wanted
        assert part.ids.tolist() == spans.ids[wanted].tolist()


def test_a_character_that_several_tokens_share_is_the_first_ones() -> None:
    vocab = tokkit.Vocab.from_list([b"a", b"b", b"c"])
    spans = np.array([[0, 0], [0, 2], [0, 2], [1, 3], [0, 0]])
    made = TokenSpans.of(tokkit.Encoding(np.array([0, 1, 2, 0, 1], dtype=np.uint32), spans, None, vocab, "abc"))
    assert list(zip(made.starts.tolist(), made.ends.tolist(), strict=True)) == [(0, 0), (0, 2), (2, 2), (2, 3), (3, 3)]


def test_a_mark_of_a_space_has_no_text_where_its_span_is_the_next_tokens() -> None:
    vocab = tokkit.Vocab.from_list(["\u2581".encode(), b"a"])
    encoding = tokkit.Encoding(np.array([0, 1], dtype=np.uint32), np.array([[2, 3], [2, 3]]), None, vocab, "b a")
    made = TokenSpans.of(encoding, 0)
    assert list(zip(made.starts.tolist(), made.ends.tolist(), strict=True)) == [(2, 2), (2, 3)]


def test_too_much_is_refused(tok: tokkit.Tokenizer) -> None:
    with pytest.raises(OptionError, match="has 8388609 bytes; a page holds 8388608"):
        view.html(tok, b"a" * (MAX_BYTES + 1))
    with pytest.raises(OptionError, match="0 tokenizers were given"):
        view.html({}, "a")
    with pytest.raises(OptionError, match="9 tokenizers were given"):
        view.html({str(i): tok for i in range(9)}, "a")


def test_hostile_texts_and_names_add_no_element(tok: tokkit.Tokenizer) -> None:
    class Tags(HTMLParser):
        def __init__(self, page: str) -> None:
            super().__init__()
            self.found: list[object] = []
            self.feed(page)

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.found.append((tag, attrs))

    page = view.html({HOSTILE: tok}, HOSTILE, title=HOSTILE)
    page.encode("ascii")
    assert Tags(page).found == Tags(view.html({"a": tok}, "a", title="a")).found


def test_a_page_is_small_and_loads_nothing(tok: tokkit.Tokenizer) -> None:
    page = view.html(tok, "a")
    assert len(page) < 60_000
    assert "://" not in page
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|\bfetch|XMLHttpRequest|import\(", page)


def test_a_browser_shows_every_byte_of_a_hostile_text_and_none_acts(
    tok: tokkit.Tokenizer, words: tokkit.Tokenizer, tmp_path: Path
) -> None:
    text = HOSTILE + TEXT
    acts = """
    const spans = Array.from(document.querySelectorAll(".cell > span"));
    const whole = document.querySelector(".room").textContent;
    spans[3].dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
    const pointed = element("readout").textContent;
    element("marks").click();
    panes.paint();
    """ + tell("[spans.length, whole, pointed, document.querySelector('.room').textContent]")
    n, whole, pointed, bare = acted(view.html({"bytes": tok, "words": words}, text), acts, tmp_path)
    assert n == tok.count(text) + len(words(text, add_special=False))
    for part in ("\u00b7", "\u21b5\n", "\u21e5\t", "\\u202eevil\\u2066", "\\x1b[31mred\\x07\\x00", "\\u200b", "\\xf0"):
        assert part in whole
    assert not re.search("[\x00-\x08\x1b\u202e\u2066\u200b]", whole)
    third = tok.encode(text)[3]
    assert pointed.startswith("token 4")
    assert f"id {third}" in pointed
    assert "\u00b7" not in bare
    assert not re.search("[\x00-\x08\x1b\u202e\u2066]", bare), "what could act is escaped in both views"


def test_side_by_side_rows_hold_equal_lines_and_differences_are_marked(
    tok: tokkit.Tokenizer, words: tokkit.Tokenizer, tmp_path: Path
) -> None:
    text = "low lower\nevil low\n"
    acts = tell("""Array.from(document.querySelectorAll(".row"), row => Array.from(row.children, cell => [
      cell.textContent, Array.from(cell.querySelectorAll(".differs"), span => span.textContent)]))""")
    rows = acted(view.html({"bytes": tok, "words": words}, text), acts, tmp_path)
    assert [[cell[0].replace("\u00b7", " ") for cell in row] for row in rows] == [
        ["low lower\u21b5\n"] * 2, ["evil low\u21b5\n"] * 2
    ]  # fmt: skip
    marked = [[cell[1] for cell in row] for row in rows]
    starts = [[text[a:b].strip() for a, b in each(text, add_special=False).offsets] for each in (tok, words)]
    assert starts[0] != starts[1]
    for row in marked:
        for mine, others in ((row[0], starts[1]), (row[1], starts[0])):
            assert not {piece.strip("\u00b7\u21b5\n") for piece in mine} & set(others)
    assert any(marked[0]) or any(marked[1])


def test_of_a_long_text_only_what_is_in_sight_is_in_the_page_and_scrolling_shows_the_rest(
    tok: tokkit.Tokenizer, tmp_path: Path
) -> None:
    lines = [f"line {i} low lower lowest\n" for i in range(9000)]
    acts = """
    const count = () => document.querySelectorAll(".cell > span").length, before = count();
    const frame = element("panes");
    frame.scrollTop = frame.scrollHeight;
    panes.paint();
    frame.scrollTop = frame.scrollHeight;
    panes.paint();
    """ + tell("[before, count(), document.querySelector('.room').textContent.slice(-40)]")
    before, after, end = acted(view.html(tok, "".join(lines)), acts, tmp_path)
    assert 0 < before < 20_000
    assert 0 < after < 20_000
    assert "8999" in end


def test_ids_are_shown_in_place_of_texts_and_back(
    tok: tokkit.Tokenizer, words: tokkit.Tokenizer, tmp_path: Path
) -> None:
    spans = "Array.from(document.querySelectorAll('.cell > span'), span => span.textContent)"
    acts = f"""
    const seen = [{spans}], show = element("show");
    for (const what of ["ids", "text"]) {{
      show.value = what, show.dispatchEvent(new Event("change")), panes.paint();
      seen.push({spans});
    }}
    """ + tell("[...seen, listed(Array.from(sets[0].ids)), document.querySelectorAll('.heads button').length]")
    made = acted(view.html({"bytes": tok, "words": words}, "low lower\n"), acts, tmp_path)
    texts, ids, again, copied, n_buttons = made
    wanted = [*tok.encode("low lower\n"), *words("low lower\n", add_special=False).ids]
    assert ids == [f"{id_} " for id_ in wanted]
    assert again == texts != ids
    assert copied == str(tok.encode("low lower\n"))
    assert n_buttons == 2


def test_arrow_keys_move_from_token_to_token_and_line_to_line(tok: tokkit.Tokenizer, tmp_path: Path) -> None:
    acts = """
    const seen = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft"]) {
      element("panes").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      seen.push(element("readout").textContent.split(" ")[1] - 0);
    }
    """ + tell("seen")
    n = tok.count("low low\n")
    one, two, below, back, left = acted(view.html(tok, "low low\nlow low\n"), acts, tmp_path)
    assert (one, two) == (1, 2)
    assert n < below <= 2 * n
    assert back <= n
    assert left == back - 1 or (left, back) == (1, 1)


def test_a_notebook_shows_an_encoding_in_a_frame_and_a_tokenizer_as_a_table(words: tokkit.Tokenizer) -> None:
    encoding = words("low evil")
    made = encoding._repr_html_()
    assert made.startswith('<iframe sandbox="allow-scripts"')
    assert made.count("<") == 2, "the page is inside the attribute"
    data = data_of(html.unescape(made))
    (one,) = data["sets"]
    assert column(one["ids"]) == encoding.ids
    assert base64.b64decode(data["utf8"]) == b"low evil"
    table = words.with_special_tokens({"<b>\u202e": 99})._repr_html_()
    assert "&lt;b&gt;\\u202e = 99" in table
    assert "WordPiece" in table
    assert notebook.shown("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"
