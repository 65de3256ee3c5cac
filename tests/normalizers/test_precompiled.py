"""Charsmaps compared with tokenizers' Precompiled, grapheme clusters with `regex`; and invalid maps."""

from __future__ import annotations

import base64
import json
import pickle
import random
import struct
import unicodedata
from pathlib import Path

import pytest

from both_pipelines import Both
from code_points import code_points
from conftest import LONG, slice_of
from normalizers.charsmaps import LEAF_BELOW, VALUE, charsmap
from strategies import MARKS, adversarial, documents
from tokkit._core.charsmap import clusters
from tokkit._core.text import category
from tokkit.errors import OptionError
from tokkit.normalizers.precompiled import Precompiled

tokenizers = pytest.importorskip("tokenizers")
rival = pytest.importorskip("normalizers.rival")

STRINGS = {
    **{"a": "X", "é": "e", "½": "1⁄2", "ﬁ": "fi", "\r\n": "\n", "\x01": "", "\u0301": "", "ab": "long", "e\u0301": "é"},
    **{"©": "(c)", "\u200d": " ", "क": "ka", "\u0600": "#", "ᄀ": "G", "각": "GAG", "🇩": "D"},
}
MAP = charsmap({key.encode(): value.encode() for key, value in STRINGS.items()})
PARTS = [*STRINGS, *"abcdefghij é\r\n\x02한漢क़्ाᅡᆨ각가🇩🇪👨‍👩", *MARKS, "\u094d", "\u0915", "\ufe0f", "\u0345", "\u0600"]


def mixed(rng: random.Random) -> str:
    return "".join(rng.choice(PARTS) for _ in range(rng.choice((1, 2, 3, 5, 9, 14, 15, 16, 17, 33, 50))))


def test_a_map_is_applied_to_clusters_and_aligned_as_tokenizers_does() -> None:
    ours, theirs = Precompiled(MAP), tokenizers.normalizers.Precompiled(MAP)
    rng = random.Random(1)
    texts = [mixed(rng) for _ in range(20000 if LONG else 2000)]
    for seed, text in enumerate([*texts, *documents(3, 200)]):
        cut = ("", " ", "a")[seed % 3]
        assert rival.ours(text, ours, cut=cut) == rival.theirs(text, theirs, cut=cut), ascii(text)


def test_a_published_map_is_applied_as_tokenizers_does(shared: Path) -> None:
    file = json.loads((shared / "vocabs" / "t5" / "tokenizer.json").read_text(encoding="utf-8"))
    given = file["normalizer"]["precompiled_charsmap"]
    ours, theirs = Precompiled(given), tokenizers.normalizers.Precompiled(base64.b64decode(given))
    points = code_points()
    for start in range(0, len(points), 4096):
        text = "x".join(map(chr, points[start : start + 4096]))
        assert ours.normalize_str(text) == theirs.normalize_str(text), hex(points[start])
    rng = random.Random(2)
    changed = [c for c in points if ours.normalize_str(chr(c)) != chr(c)]
    marks = [c for c in range(0x300, 0x1200) if unicodedata.combining(chr(c))]
    pools = (changed, marks, points[:128], points)
    texts = ["".join(chr(rng.choice(rng.choice(pools))) for _ in range(9)) for _ in range(2000)]
    texts += documents(5, 200) + [slice_of(path, 400) for path in sorted((shared / "corpora").glob("*.txt"))]
    for text in texts:
        assert rival.ours(text, ours) == rival.theirs(text, theirs), ascii(text)


@pytest.mark.parametrize(
    "pretokenizer",
    [
        {"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
    ],
)
def test_offsets_of_a_text_of_words_are_those_of_tokenizers_also_where_a_map_drops_its_start(
    pretokenizer: dict[str, object],
) -> None:
    """tokenizers does not count what a map drops there: all words after it have offsets before their characters."""
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *([letter, -1.0] for letter in "Xbc ")]}
    map_ = charsmap({b"\x01": b"", "\u0301".encode(): b"", b"a": b"X"})  # texts are cut into words before it
    normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(map_).decode()}
    bare = dict.fromkeys(("truncation", "padding", "post_processor", "decoder"))
    both = Both({"added_tokens": [], **bare, "normalizer": normalizer, "pre_tokenizer": pretokenizer, "model": model})
    rng = random.Random(4)
    texts = ["\x01", "\x01b c", "\x01\x01 b c", "b \x01c c", " \x01b c", "a\x01 b", "\x01b c"]
    texts += ["".join(rng.choices(("\x01", "\u0301", " ", "a", "b", "c"), k=rng.randint(1, 9))) for _ in range(300)]
    assert all(both.encodings(text) for text in texts)


def test_what_joins_a_letter_in_a_cluster_is_what_tokenizers_takes_for_it() -> None:
    map_ = charsmap({b"a": b"X"})
    ours, theirs = Precompiled(map_), tokenizers.normalizers.Precompiled(map_)
    points = code_points()
    for start in range(0, len(points), 4096):
        text = "".join(f"a{chr(c)}b" for c in points[start : start + 4096])
        assert ours.normalize_str(text) == theirs.normalize_str(text), hex(points[start])


def test_clusters_are_those_of_regex() -> None:
    regex = pytest.importorskip("regex")
    assigned = [c for c in range(0x110000) if category(c) not in (28, 29) and not 0xD800 <= c < 0xE000]
    # What Unicode 18, which `regex` may have, classes otherwise than Unicode 17.
    later = {*range(0x1ADE, 0x1AE0), 0x5C8, 0x5C9, 0xB53, 0xB54, 0x1D127, 0x1D128, *range(0x1D250, 0x1D290)}
    extending = [c for c in assigned if regex.match(r"\p{M}|\p{Cf}|\p{GCB=L}|\p{GCB=V}|\p{GCB=T}|\p{RI}", chr(c))]
    linking = [0x915, 0x200C, 0x200D, 0x300, 0x1F468, 0x1F1E9, 0x2764, 0xFE0F, 0x61, 0x20]
    rng = random.Random(7)
    for _ in range(20000 if LONG else 3000):
        pool = rng.choice((assigned, extending, linking, linking + extending[:200]))
        text = "".join(chr(rng.choice(pool)) for _ in range(rng.randint(1, 12)))
        if later & {*map(ord, text)} or regex.search(r"\p{InCB=Linker}", text):
            continue  # GB9c too is another in Unicode 18; the tests above have it as tokenizers does
        assert clusters(text) == regex.findall(r"\X", text), ascii(text)
    text = adversarial(8, 5000)
    assert "".join(clusters(text)) == text


def test_bytes_that_are_no_map_are_refused() -> None:
    leaf = MAP.index(struct.pack("<I", VALUE))  # the first value, 0
    to_nowhere = MAP[:leaf] + struct.pack("<I", VALUE | len(MAP)) + MAP[leaf + 4 :]
    into_character = MAP.replace("é".encode() + b"\0", b"\xc3\0\0")
    root_leaf = struct.pack("<III", 8, 1 << 10, ord("a") | LEAF_BELOW)
    own_child = struct.pack("<II", 4, ord("a") << 10 | ord("a") | LEAF_BELOW)  # the root is its own child, by "a"
    for data, reason in [
        (b"", "ends before its trie"),
        (b"\1\0", "ends before its trie"),
        (struct.pack("<I", 0), "multiple of 4"),
        (struct.pack("<I", 6) + b"abcdef", "multiple of 4"),
        (struct.pack("<I", 1 << 31) + b"abcd", "ends before its trie"),
        (to_nowhere, "points outside its strings"),
        (into_character, "not valid UTF-8"),
        (own_child, "the root of its trie has a label"),
    ]:
        with pytest.raises(OptionError, match=reason):
            Precompiled(data)
    assert Precompiled(root_leaf).normalize_str("abc") == "abc"  # the leaf cannot be reached
    for given, reason in [
        ("no base64!", "cannot be read"),
        ("é", "cannot be read"),
        (7, "must be text in base64"),
    ]:
        with pytest.raises(OptionError, match=reason):
            Precompiled(given)


def test_a_damaged_map_does_no_harm() -> None:
    rng = random.Random(9)
    text = "".join(mixed(rng) for _ in range(20))
    survived = 0
    for _ in range(20000 if LONG else 1500):
        data = bytearray(MAP if rng.random() < 0.5 else rng.randbytes(rng.choice((8, 12, 40, 2000))))
        if len(data) < len(MAP):
            data[:4] = struct.pack("<I", (len(data) - 4) // 4 * 4)
        for _ in range(rng.choice((1, 5, 100))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            made = Precompiled(bytes(data))
        except OptionError:
            continue
        survived += 1
        made.normalize_str(text)
    assert survived


def test_a_map_is_kept_as_it_is_written_and_can_be_pickled() -> None:
    made = Precompiled(MAP)
    assert made.precompiled_charsmap == base64.b64encode(MAP).decode()
    again = pickle.loads(pickle.dumps(made))
    assert again == made == Precompiled(made.precompiled_charsmap)
    assert again.normalize_str("a½") == made.normalize_str("a½") == "X1⁄2"
