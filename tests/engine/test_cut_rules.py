"""If a cut rule allows a cut, the ids of both sides, concatenated, are those of the whole text."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from conftest import LONG, byte_of_letter
from strategies import adversarial
from tokkit._core.align import AlignedText
from tokkit._core.encode.staged import Stages
from tokkit.definition import Definition
from tokkit.engine.cut_rules import compose
from tokkit.engine.interpreter import Interpreter
from tokkit.models.char_bpe import CharBPE
from tokkit.normalizers.base import Normalizer
from tokkit.normalizers.bert import Bert as BertNormalizer
from tokkit.normalizers.byte_level import ByteLevel as ByteLevelNormalizer
from tokkit.normalizers.charsmap_builder import compile_rules
from tokkit.normalizers.lowercase import Lowercase
from tokkit.normalizers.nmt import Nmt
from tokkit.normalizers.precompiled import Precompiled
from tokkit.normalizers.prepend import Prepend
from tokkit.normalizers.replace import Replace
from tokkit.normalizers.sentencepiece_rules import charsmap
from tokkit.normalizers.sequence import Sequence as NormalizerSequence
from tokkit.normalizers.strip import Strip
from tokkit.normalizers.strip_accents import StripAccents
from tokkit.normalizers.unicode import NFC, NFD, NFKC, NFKD
from tokkit.pretokenizers.base import Pretokenizer
from tokkit.pretokenizers.behaviors import BEHAVIORS
from tokkit.pretokenizers.bert import Bert
from tokkit.pretokenizers.byte_level import ByteLevel
from tokkit.pretokenizers.char_delimiter_split import CharDelimiterSplit
from tokkit.pretokenizers.digits import Digits
from tokkit.pretokenizers.metaspace import Metaspace
from tokkit.pretokenizers.punctuation import Punctuation
from tokkit.pretokenizers.sequence import Sequence as PretokenizerSequence
from tokkit.pretokenizers.split import Split
from tokkit.pretokenizers.whitespace import Whitespace
from tokkit.pretokenizers.whitespace_split import WhitespaceSplit
from tokkit.tokenizer import Tokenizer
from tokkit.unicode_regex.atoms import ATOM_RANGES, BLANK, HAN, LEADS, N_ATOMS, OTHER, WHITE, CutRule
from tokkit.vocab import Vocab

CLIP = r"<\|startoftext\|>|'s|'t|'re|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
NORMALIZERS = [
    *(form() for form in (NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, ByteLevelNormalizer)),
    *(BertNormalizer(clean, han, strip, low) for clean, han, strip, low in itertools.product((True, False), repeat=4)),
    *(Precompiled(charsmap(name)) for name in ("nmt_nfkc", "nfkc_cf")),
    *(Replace({"String": text}, "x y") for text in (" ", "ab", "``", "a", "é", "–", "▁", "▁a", "a▁", "▁中")),
    *(
        Replace({"Regex": pattern}, " ")
        for pattern in (r"\s+", "▁+", " {2,}", r"[0-9]+\.", r"\p{P}", "a+b|c", r"e(?=\s)", "e(?= t)")
    ),
    *(Replace({"String": text}, "") for text in ("a", "中", "国a", "中国", "　", "\u0600")),
    *(Replace({"String": "a"}, text) for text in ("中", "　", "\u0600b")),
    *(Precompiled(compile_rules(rules)) for rules in ({"a\u0301": "-"}, {"\u0600": "x"}, {"\u0600a": "x"}, {"_": "a"})),
]
PRETOKENIZERS = [
    *(Bert(), Whitespace(), WhitespaceSplit(), ByteLevel(add_prefix_space=False), Digits(), Digits(True)),
    *(Metaspace("▁", "never", split) for split in (True, False)),
    *(Metaspace(mark, "never") for mark in "_中　é"),
    *(CharDelimiterSplit(delimiter) for delimiter in "-é中"),
    *(Punctuation(behavior) for behavior in BEHAVIORS),
    *(
        Split(pattern, behavior, invert)
        for pattern in ({"Regex": CLIP}, {"String": " "}, {"Regex": r"\d{3}"}, {"Regex": r"\s+(?!\S)|a+"}, "ab")
        for behavior in BEHAVIORS
        for invert in (False, True)
    ),
]
MIDDLES = "aAbe.,'`\"-_09 \t\n\r\x00\x07\x1c\x7f中国éßıİſ\u212a½ﬁ…«»①１Ａ　"
MIDDLES += "\u00a0\u2028▁\u0600\u0d4e\u0301\u0345\u200b\ufeffのｶﾞ가ㅏ🦜"
OF_ATOM = {
    OTHER: "éßСのｶﾞ가ﬁ½\u0301\u200b\ufeff🦜\u0345İ\u1fef",
    WHITE: "\u00a0\u3000\u2028",
    BLANK: "▁",
    LEADS: "\u0600",
    HAN: "中\uf900",
}


# Where rules differ most: every pair of these is tried with every character, the others by lot.
HOT = [*map(ord, "\r\n aesA'0.-"), OTHER, WHITE, BLANK, LEADS, HAN]


def named(component: object) -> str:
    return repr(component)[:70]  # some hold tables


def characters_of(atom: int) -> str:
    return chr(atom) if atom < 128 else OF_ATOM[atom]


def atoms_of(points: np.ndarray) -> np.ndarray:
    """The atom of each code point, by the ranges."""
    made = np.where(points < 128, points, OTHER)
    for atom, ranges in ATOM_RANGES.items():
        for first, last in ranges:
            made[(points >= first) & (points <= last)] = atom
    return made


def pieces_of(stages: Stages, text: str) -> list[str]:
    aligned = AlignedText(text)
    stages.run(aligned)
    return aligned.pieces


def composed(component: object) -> tuple[np.ndarray, np.ndarray]:
    """Where a component of one or more stages allows cuts, and where these end pieces."""
    from tokkit.engine.cut_rules import ALL_INSIDE, _before

    rules: list[CutRule] = component.cut_rules()  # type: ignore[attr-defined]
    allowed, ends = np.ones((N_ATOMS, N_ATOMS), dtype=bool), np.zeros((N_ATOMS, N_ATOMS), dtype=bool)
    for rule in reversed(rules):
        always = rule.allowed & rule.boundary
        allowed, ends = (rule.allowed & _before(rule, each, ALL_INSIDE) | always for each in (allowed, ends))
    return allowed, ends


@pytest.mark.parametrize("component", [*NORMALIZERS, *PRETOKENIZERS], ids=named)
def test_parts_give_what_the_whole_gives_where_a_rule_allows_it(component: object) -> None:
    allowed, ends = composed(component)
    stages = Stages(component.stages())  # type: ignore[attr-defined]
    rng = random.Random(repr(component))
    pairs = [(a, b) for a in range(N_ATOMS) for b in range(N_ATOMS) if allowed[a, b]]
    hot = [(a, b) for a, b in pairs if a in HOT and b in HOT]
    drawn = hot + (pairs if LONG else rng.sample(pairs, min(len(pairs), 600)))
    ends_of = [(a, b, x, y) for a, b in drawn for x in characters_of(a) for y in characters_of(b)]
    for a, b, x, y in ends_of:
        left = "".join(rng.choices(MIDDLES, k=rng.randrange(5))) + x
        right = y + "".join(rng.choices(MIDDLES, k=rng.randrange(5)))
        whole, first, second = (pieces_of(stages, text) for text in (left + right, left, right))
        if ends[a, b] or not first or not second:
            assert whole == first + second, (left, right)
        else:
            joined = [*first[:-1], first[-1] + second[0], *second[1:]]
            assert whole in (joined, first + second), (left, right)


@pytest.mark.parametrize("component", NORMALIZERS, ids=named)
def test_what_an_atom_becomes_is_what_the_rule_says(component: object) -> None:
    (rule,) = component.cut_rules()  # type: ignore[attr-defined]
    if rule.last is None or not rule.allowed.any():
        return
    points = [c for c in range(0x30000 if LONG else 0x3400) if not 0xD800 <= c < 0xE000]
    points += [0x4E00, 0x9FFF, 0xF900, 0xFAD9, 0xFF76, 0xFDFA, 0x2F800, 0x1F600, 0xAC00]
    stages = Stages(component.stages())  # type: ignore[attr-defined]
    made = {point: text for point in points if (text := "".join(pieces_of(stages, chr(point))))}
    kinds = atoms_of(np.array(list(made)))
    first, last = (atoms_of(np.array([ord(text[at]) for text in made.values()])) for at in (0, -1))
    right = (kinds < 128) | (kinds == HAN)  # nothing else stands on the right of a cut
    wrong = ~rule.last[kinds, last] | (right & ~rule.first[kinds, first])
    assert not [(hex(point), text) for (point, text), is_ in zip(made.items(), wrong.tolist(), strict=True) if is_]
    nothing = [point for point in points if point not in made]
    assert rule.last[atoms_of(np.array(nothing, dtype=int))].all()


def test_every_instruction_set_cuts_the_same_units(shared: object) -> None:
    import tokkit
    from tokkit._core.text import isas

    root = shared / "vocabs"  # type: ignore[operator]
    texts = [adversarial(seed, 3000) for seed in range(40)]
    texts += ["".join(random.Random(seed).choices(MIDDLES + "  aaabc", k=seed % 300)) for seed in range(600)]
    dense = "中国东鿿倀䷀㐀𠀀豈，。の\u3000aé 1"
    texts += ["".join(random.Random(-seed).choices(dense[: 4 + seed % 14], k=seed)) for seed in range(1, 300)]
    for name in ("bert-base-uncased", "clip", "t5", "phi-3", "falcon"):
        encoder = tokkit.load(root / name / "tokenizer.json")._engine.encoder
        for text in texts:
            text = text.encode("utf-8", "replace").decode()
            wanted = encoder.units(text, "scalar").tolist()
            for isa in isas():
                assert encoder.units(text, isa).tolist() == wanted, (name, isa)


@pytest.mark.parametrize("component", NORMALIZERS, ids=named)
def test_what_an_atom_becomes_beside_others_is_what_the_rule_says(component: object) -> None:
    (rule,) = component.cut_rules()  # type: ignore[attr-defined]
    if rule.last is None:
        return
    stages = Stages(component.stages())  # type: ignore[attr-defined]
    others = ["\u0301", "\u0327", "\u0338", "\u0301\u0301", "\u0600", "a", "b", "`", ".", " ", "é", "中"]
    for atom, other in itertools.product(range(N_ATOMS), others):
        for character in characters_of(atom):
            before, after = ("".join(pieces_of(stages, text)) for text in (other + character, character + other))
            if rule.allowed[atom].any() and before:
                assert rule.last[atom, atoms_of(np.array([ord(before[-1])]))].all(), (other, character)
            if rule.allowed[:, atom].any() and after:
                assert rule.first[atom, atoms_of(np.array([ord(after[0])]))].all(), (character, other)


def test_texts_are_cut_before_spaces_that_a_stage_wrote_as_a_symbol() -> None:
    """What is replaced later does not touch the symbol: there is a cut wherever the model allows one."""
    rules = [
        rule
        for text, put in ((" ", "▁"), ("–", "-"), ("…", "..."))
        for rule in Replace({"String": text}, put).cut_rules()
    ]
    model = np.zeros((N_ATOMS, N_ATOMS), dtype=np.bool_)
    model[:, BLANK] = True
    tables = compose(rules, [], model).all
    assert tables is not None
    left, right = tables
    assert (left[:128] & right[ord(" ")]).astype(bool).tolist() == [not chr(c).isspace() for c in range(128)]


def test_a_letter_before_a_mark_is_no_delimiter_after_composition() -> None:
    model = CharBPE(merges=np.empty((0, 3), dtype=np.uint32), unk_token="?", fuse_unk=True)
    for normalizer in (NFC(), NFKC(), Precompiled(charsmap("nmt_nfkc"))):
        definition = Definition(Vocab.from_list([b"?", b"b"]), model, CharDelimiterSplit("a"), normalizer=normalizer)
        tok = Tokenizer(definition)
        assert tok.encode("\u093ea\u0300") == Interpreter(definition).encode("\u093ea\u0300", "text") == [0]
        assert tok.encode("\u093eab") == [0, 1]


def of_letters(normalizer: Normalizer, pretokenizer: Pretokenizer, *, fuse_unk: bool = False) -> Tokenizer:
    """A tokenizer whose tokens are single characters: all that the texts are made of, and symbols of bytes."""
    letters = sorted({*MIDDLES, *byte_of_letter(), "?", "x", "y"})
    vocab = Vocab.from_list([letter.encode() for letter in letters])
    model = CharBPE(merges=np.empty((0, 3), dtype=np.uint32), unk_token="?", fuse_unk=fuse_unk)
    return Tokenizer(Definition(vocab, model, pretokenizer, normalizer=normalizer))


EDGES = [
    *(Prepend(prefix) for prefix in ("x", "▁", " ")),
    *(Strip(left, right) for left, right in ((True, False), (False, True), (True, True))),
    ByteLevel(add_prefix_space=True, use_regex=False),
    *(Metaspace("▁", scheme, split) for scheme in ("always", "first") for split in (True, False)),
]


@pytest.mark.parametrize("edge", EDGES, ids=named)
@pytest.mark.parametrize("dropping", NORMALIZERS, ids=named)
def test_what_is_done_at_the_start_is_done_where_the_start_was_dropped(dropping: Normalizer, edge: object) -> None:
    first = [edge] if isinstance(edge, Pretokenizer) else []
    normalizer = NormalizerSequence([dropping, *([] if first else [edge])])
    rng = random.Random(repr((dropping, edge)))
    gone = [c for c in sorted({*MIDDLES, "a"}) if not "".join(pieces_of(Stages(dropping.stages()), c))] or ["\u0301"]
    for splits in (Bert(), Punctuation(), WhitespaceSplit()):
        tok = of_letters(normalizer, PretokenizerSequence([*first, splits]))
        twin = Interpreter(tok.definition)
        for _ in range(400 if LONG else 40):
            dropped = "".join(rng.choices(gone, k=rng.randrange(1, 4)))
            kept = "".join(rng.choices(MIDDLES, k=rng.randrange(6)))
            for text in (dropped + kept, kept + dropped, dropped + kept + dropped):
                assert tok.encode(text) == twin.encode(text, "text"), text


@pytest.mark.parametrize("first", NORMALIZERS, ids=named)
def test_two_normalizers_in_turn_give_on_units_what_they_give_on_the_text(first: Normalizer) -> None:
    rng = random.Random(repr(first))
    for second in NORMALIZERS if LONG else rng.sample(NORMALIZERS, 12):
        normalizer = NormalizerSequence([first, second])
        for splits in (Bert(), rng.choice(PRETOKENIZERS)):
            tok = of_letters(normalizer, splits, fuse_unk=True)
            twin = Interpreter(tok.definition)
            for _ in range(12):
                text = "".join(rng.choices(MIDDLES, k=rng.randrange(1, 12)))
                mine, whole = tok._engine.aligned(text, "text"), twin.aligned(text, "text")
                assert tok.encode(text) == list(mine[1]) == twin.encode(text, "text"), (text, second, splits)
                assert np.array_equal(mine[2], whole[2]), (text, second, splits)
