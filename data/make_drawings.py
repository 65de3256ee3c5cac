"""Draw the stages of a tokenizer for docs/how-it-works: SVG files with pieces and ids that tokkit computes.

`python data/make_drawings.py` writes docs/drawings/*.svg; with `--check` it fails if one on disk differs.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from drawing import Box, Drawing, shown

import tokkit
from tokkit import nn
from tokkit._core.align import AlignedText
from tokkit.engine.sampling import Merges
from tokkit.models.unigram import Unigram
from tokkit.models.wordpiece import WordPiece
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.strip_accents import StripAccents
from tokkit.normalizers.unicode import NFKD
from tokkit.trainers import Step

ROOT = Path(__file__).resolve().parent.parent
DRAWINGS = ROOT / "docs" / "drawings"

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
PIECES = {"h": 0.1, "e": 0.1, "l": 0.1, "o": 0.1, "he": 0.2, "llo": 0.3, "hello": 0.5}


def index() -> Drawing:
    """Follow a text through all stages of a WordPiece tokenizer."""
    tok = tokkit.train(WORDS, model="wordpiece", vocab_size=40)
    text = "Low, NEWÉST"
    stages = {name: stage.pieces for name, stage in tok.stages(text)}
    encoding = tok(text)
    drawing = Drawing("A text goes through normalizer, pretokenizer, model and postprocessor", 690, 396)
    rows: list[tuple[str, list[str], list[object]]] = [
        ("text", [text], []),
        ("normalizer", stages["normalizer"], []),
        ("pretokenizer", stages["pretokenizer"], []),
        ("model", tok(text, add_special=False).tokens, list(tok.encode(text))),
        ("postprocessor", encoding.tokens, list(encoding.ids)),
    ]
    y = 24.0
    for number, (name, pieces, ids) in enumerate(rows):
        stage = drawing.box(20, y, name, kind="cool" if number else "off", width=130)
        drawing.strip(190, y, [shown(piece) for piece in pieces], ids)
        if number < len(rows) - 1:
            drawing.arrow(stage.bottom, (stage.bottom[0], y + 72))
        y += 72
    drawing.label(20, 380, "Numbers are ids. Offsets of all tokens refer to the text in the first row.", "left small")
    return drawing


def normalization() -> Drawing:
    """Show which bytes of the text each character comes from, after each normalizer."""
    text = AlignedText("Éﬁ ǅ")
    drawing = Drawing("Each character that a normalizer makes remembers the bytes it comes from", 690, 330)
    y, before = 30.0, {}
    changes = {"text": None, "NFKD": NFKD(), "StripAccents": StripAccents(), "Lowercase": Lowercase()}
    for name, change in changes.items():
        if change is not None:
            change.normalize(text)
        characters = "".join(text.pieces)
        ends = [f"{start}–{end}" for start, end in _of_characters(characters, text.spans().tolist())]
        drawing.box(20, y, name, kind="cool" if change else "off", width=130)
        cells = [f" {c}" if is_mark(c) else shown(c) for c in characters]
        boxes = drawing.strip(190, y, cells, ends, least=34)
        starts = [end.split("–")[0] for end in ends]
        if before:
            for box, start in zip(boxes, starts, strict=True):
                drawing.arrow(before[start], box.top)
        before = {}
        for box, start in zip(boxes, starts, strict=True):
            before.setdefault(start, (box.bottom[0], box.bottom[1] + 18))
        y += 76
    return drawing


def is_mark(character: str) -> bool:
    """Return whether a character is a combining mark, which would be drawn over the edge of its box."""
    return "\u0300" <= character <= "\u036f"


def _of_characters(characters: str, spans: list[list[int]]) -> list[tuple[int, int]]:
    found, place = [], 0
    for character in characters:
        found.append((spans[place][0], spans[place][1]))
        place += 1 if len(spans) == len(characters) else len(character.encode())
    return found


def pretokenization() -> Drawing:
    """Show the masks of a text, and the starts of pretokens that follow from them."""
    text = "I'll pay 25 dollars!!"
    tok = tokkit.train(WORDS, vocab_size=256)
    starts, place = {0}, 0
    for word, _ in Merges(tok).words(text):
        starts.add(place)
        place += sum(map(len, word))
    letters, digits, spaces = ([bool(re.match(kind, c)) for c in text] for kind in (r"[A-Za-z]", r"[0-9]", r" "))
    other = [not (a or b or c) for a, b, c in zip(letters, digits, spaces, strict=True)]
    drawing = Drawing("Masks of classes, a bit a byte, and the starts of pretokens", 690, 232)
    rows = [("text", None), ("letter", letters), ("digit", digits), ("space", spaces), ("other", other)]
    rows.append(("start", [i in starts for i in range(len(text))]))
    for row, (name, bits) in enumerate(rows):
        y = 20 + 34.0 * row
        drawing.label(100, y + 19, name, "right head")
        for i, character in enumerate(text):
            on = bits is not None and bits[i]
            cell = shown(character) if bits is None else "1" if on else "·"
            kind = "box" if bits is None else ("hot" if name == "start" else "cool") if on else "off"
            drawing.box(116 + 26 * i, y, cell, kind=kind, width=24, height=26)
    return drawing


def bpe() -> Drawing:
    """Show a word from bytes to tokens, merge by merge."""
    tok = tokkit.train(WORDS, vocab_size=300)
    symbols, steps = next(iter(Merges(tok).words("lowest")))
    height = 56 + 62 * (len(steps) + 1)
    drawing = Drawing("Byte-pair encoding merges the pair of the lowest rank, step by step", 690, height)
    drawing.label(20, 34, "rank", "left head")
    y = 22.0
    row = [symbol.decode() for symbol in symbols]
    for step in (None, *steps):
        after = row if step is None else [symbol.decode() for symbol in step.symbols]
        made = None if step is None else (step.left + step.right).decode()
        if step is not None:
            drawing.label(20, y + 19, f"{step.rank}: {step.left.decode()} + {step.right.decode()}", "left")
        kinds = ["hot" if symbol == made else "box" for symbol in after]
        ids = [tok.vocab[symbol.encode()] for symbol in after]
        drawing.strip(190, y, after, ids, kinds=kinds, least=20)
        y += 62
    drawing.label(20, y + 16, "Numbers below the symbols are their ids.", "left small")
    return drawing


def wordpiece() -> Drawing:
    """Show the tokens that the longest match tries and takes."""
    tokens = [b"[UNK]", b"un", b"##aff", b"##able", b"##a", b"##f"]
    vocab = tokkit.Vocab.from_list(tokens)
    tok = tokkit.Tokenizer(tokkit.Definition(vocab, WordPiece(), None))
    encoding = tok("unaffable")
    drawing = Drawing("WordPiece takes the longest token that fits, then the longest that follows", 690, 300)
    drawing.strip(190, 24, list("unaffable"), range(9), least=20)
    y = 96.0
    for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True):
        tried = sum(1 for stop in range(9, end - 1, -1))
        drawing.label(20, y + 19, f"from {start}: {tried} tried", "left")
        x, width = 190 + 36 * start, 36 * (end - start) - 4
        drawing.box(x, y, token, kind="good", width=width)
        if end < 9:
            drawing.box(x + width + 4, y, "", kind="off", width=36 * (9 - end) - 4)
        y += 46
    drawing.label(20, y + 22, f"ids {encoding.ids}", "left")
    drawing.label(20, y + 44, "Dashed: longer candidates, which are no tokens.", "left small")
    return drawing


def unigram() -> Drawing:
    """Draw the lattice of a word with the best path in it."""
    vocab = tokkit.Vocab.from_list([b"<unk>", *(piece.encode() for piece in PIECES)])
    scores = [0.0, *(math.log(p) for p in PIECES.values())]
    tok = tokkit.Tokenizer(tokkit.Definition(vocab, Unigram(scores=scores, unk_id=0), None))
    word = "hello"
    best = set(tok(word).offsets)
    drawing = Drawing("The lattice of hello: an edge a piece, the best path in bold", 690, 320)
    x, y = [50 + 118.0 * i for i in range(len(word) + 1)], 196.0
    nodes = [drawing.box(x[i] - 14, y, str(i), kind="cool", width=28) for i in range(len(word) + 1)]
    for start in range(len(word)):
        for end in range(start + 1, len(word) + 1):
            if (p := PIECES.get(word[start:end])) is None:
                continue
            on_path = (start, end) in best
            text = f"{word[start:end]}  {p:g}"
            if end == start + 1:
                drawing.arrow(nodes[start].right, nodes[end].left, text, best=on_path)
            else:
                drawing.arrow(nodes[start].top, nodes[end].top, text, best=on_path, bend=22.0 * (end - start))
    ways = _segmentations(word)
    total = sum(p for _, p in ways)
    pieces, most = max(ways, key=lambda way: way[1])
    least = min(p for _, p in ways)
    drawing.label(20, 264, f"{len(ways)} ways through, probabilities from {least:g} to {most:g}", "left")
    drawing.label(20, 288, f"best: {' '.join(pieces)}; sum over all ways {total:g}", "left")
    return drawing


def _segmentations(word: str) -> list[tuple[list[str], float]]:
    if not word:
        return [([], 1.0)]
    heads = ((word[:n], PIECES[word[:n]]) for n in range(1, len(word) + 1) if word[:n] in PIECES)
    return [([head, *rest], p * q) for head, p in heads for rest, q in _segmentations(word[len(head) :])]


def engine() -> Drawing:
    """Draw a plan, with how often the cache answers over the bundled English text."""
    text = (ROOT / "data" / "corpus" / "english.txt").read_text(encoding="utf-8")
    words = Counter(b"".join(word) for word, _ in Merges(tokkit.train(WORDS, vocab_size=256)).words(text))
    total, distinct = sum(words.values()), len(words)
    drawing = Drawing("One plan for every tokenizer: only units that the cache does not hold reach the model", 690, 300)
    y = 40.0
    names = ("text", "added\ntokens", "front:\nunits", "cache", "ids")
    boxes: list[Box] = []
    for number, name in enumerate(names):
        kind = "off" if number in (0, 4) else "hot" if name == "cache" else "cool"
        boxes.append(drawing.box(24 + 136.0 * number, y, name, kind=kind, width=98, height=50))
    for a, b in itertools.pairwise(boxes):
        drawing.arrow(a.right, b.left, "hit" if a is boxes[3] else "")
    model = drawing.box(boxes[3].x - 40, 170, "stages and model", kind="cool", width=178, height=44)
    middle = boxes[3].bottom[0]
    drawing.arrow((middle - 20, boxes[3].bottom[1]), (middle - 20, model.y))
    drawing.label(middle - 28, 134, "miss", "right small")
    drawing.arrow((middle + 20, model.y), (middle + 20, boxes[3].bottom[1]))
    drawing.label(middle + 28, 134, "insert", "left small")
    drawing.label(24, 252, f"data/corpus/english.txt: {total} pretokens, {distinct} of them distinct", "left")
    hits = f"{1 - distinct / total:.0%}"
    drawing.label(24, 276, f"an empty cache answers {hits} on the first pass, and all on the second", "left")
    return drawing


def special_tokens() -> Drawing:
    """Show one text by two policies."""
    tok = tokkit.train(WORDS, vocab_size=300, special_tokens=["<|end|>"])
    text = "low<|end|>low"
    drawing = Drawing("The text of a special token in a text is ordinary text, unless you allow it", 690, 206)
    for row, policy in enumerate(("text", "all")):
        y = 46 + 84.0 * row
        drawing.label(20, y - 12, f'special="{policy}"', "left head")
        encoding = tok(text, special=policy)
        kinds = ["hot" if id_ in tok.special_tokens.values() else "box" for id_ in encoding.ids]
        drawing.strip(20, y, encoding.tokens, encoding.ids, kinds=kinds)
    return drawing


def decoding() -> Drawing:
    """Show what a decoding stream gives out, id by id."""
    tok = tokkit.train(iter(["naïve " * 9]), vocab_size=300)
    text = "naïve 🦜"
    stream = tok.decode_stream()
    drawing = Drawing("A stream of ids gives out whole characters only", 690, 190)
    x = 100.0
    for row, name in enumerate(("id", "bytes", "text out")):
        drawing.label(88, 50 + 50 * row, name, "right head")
    for id_ in tok.encode(text):
        spelt = tok.token_bytes(id_)
        raw = shown(spelt.decode()) if spelt.isascii() else spelt.hex(" ")
        out = stream.step(id_)
        width = max(60.0, 8.2 * len(raw) + 12)
        drawing.box(x, 30, str(id_), width=width)
        drawing.box(x, 80, raw, kind="cool", width=width)
        drawing.box(x, 130, shown(out), kind="good" if out else "off", width=width)
        x += width + 4
    drawing.width = x + 20
    assert not stream.flush()
    return drawing


def training() -> Drawing:
    """Show the merges that classic BPE learns, with their counts."""
    steps: list[Step] = []
    tokkit.train(WORDS, model="bpe", vocab_size=60, explain=steps.append)
    most = 10
    drawing = Drawing("Merges that are learned from low 5, lower 2, newest 6, widest 3", 690, 30 * most + 70)
    drawing.label(20, 30, "merge", "left head")
    drawing.label(300, 30, "count", "left head")
    for number, step in enumerate(steps[:most]):
        y = 44 + 30.0 * number
        drawing.label(20, y + 12, f"{number + 1:2}. {step.left} + {step.right} → {step.token}", "left")
        drawing.bar(300, y, 36 * step.score, kind="cool", height=16)
        drawing.label(308 + 36 * step.score, y + 12.5, f"{step.score:g}", "left")
    return drawing


def attention() -> Drawing:
    """Show the weights of three causal queries as a map."""
    x = np.array([[1, 0.5, -0.2, 0.8], [0.3, 1.2, 0.6, -0.4], [-0.1, 0.7, 1.1, 0.2]], dtype=np.float32)
    drawing = Drawing("Weights of attention: each row adds up to 1; a causal row sees no later token", 690, 260)
    names = ("I", "love", "AI")
    for side, causal in enumerate((False, True)):
        _, weights = nn.scaled_dot_product_attention(x, x, x, is_causal=causal, return_weights=True)
        left = 80 + 340.0 * side
        drawing.label(left + 120, 28, "causal" if causal else "full", "head")
        for i, row in enumerate(np.asarray(weights).reshape(3, 3).tolist()):
            drawing.label(left - 10, 84 + 56 * i, names[i], "right")
            drawing.label(left + 40 + 84 * i, 50, names[i])
            for j, weight in enumerate(row):
                kind = "off" if causal and j > i else "hot" if weight == max(row) else "box"
                drawing.box(left + 84 * j, 60 + 56 * i, f"{weight:.3f}", kind=kind, width=80, height=40)
    about = "softmax(x xᵀ / √4) of three vectors of 4 dimensions; rows are queries, columns keys"
    drawing.label(20, 246, about, "left small")
    return drawing


def attention_variants() -> Drawing:
    """Show which keys the queries of sparse patterns see."""
    n, cell = 24, 6.5
    patterns: dict[str, list[nn.SlidingWindow | nn.GlobalTokens | nn.Strided]] = {
        "window": [nn.SlidingWindow(5)], "dilated": [nn.SlidingWindow(4, dilation=3)],
        "window, global tokens": [nn.SlidingWindow(5), nn.GlobalTokens((0, 12))], "strided": [nn.Strided(6)],
    }  # fmt: skip
    drawing = Drawing("Which keys the queries of four sparse patterns see, no later token among them", 690, 236)
    for number, (name, pattern) in enumerate(patterns.items()):
        left = 14 + 169.0 * number
        drawing.label(left + n * cell / 2, 26, name, "head")
        for i, row in enumerate(nn.BlockMask(n, pattern, is_causal=True).dense()[0].tolist()):
            for seen, run in itertools.groupby(range(n), key=row.__getitem__):
                keys = list(run)
                if seen or keys[0] <= i:
                    end = keys[-1] + 1 if seen else min(keys[-1], i) + 1
                    kind = "cool" if seen else "off"
                    drawing.bar(left + cell * keys[0], 40 + cell * i, cell * (end - keys[0]) - 1, kind=kind, height=5.5)
    drawing.label(
        20, 222, f"{n} tokens; rows are queries, columns keys; pale is what a causal row leaves out", "left small"
    )
    return drawing


ALL: list[Callable[[], Drawing]] = [
    index, normalization, pretokenization, bpe, wordpiece, unigram,
    engine, special_tokens, decoding, training, attention, attention_variants,
]  # fmt: skip


def main() -> None:
    """Write the drawings, or compare them with those on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with the files on disk")
    check = parser.parse_args().check
    logging.getLogger("tokkit").setLevel(logging.ERROR)  # small corpora yield few tokens, as they should
    DRAWINGS.mkdir(exist_ok=True)
    for draw in ALL:
        path, svg = DRAWINGS / f"{draw.__name__.replace('_', '-')}.svg", draw().svg()
        if not check:
            path.write_text(svg, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != svg:
            sys.exit(f"{path.relative_to(ROOT)} is not what data/make_drawings.py draws: run it")


if __name__ == "__main__":
    main()
