"""SentencePiece's named normalizations and your own rules, compared with sentencepiece; maps are built and parsed."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_points import code_points
from conftest import LONG, ROOT, SHARED
from extras import extra
from normalizers.charsmaps import charsmap as plain_map
from strategies import adversarial
from tokkit._core.charsmap import Normalizer
from tokkit.errors import FormatError, OptionError
from tokkit.files.protobuf import written
from tokkit.normalizers.charsmap_builder import compile_rules, decompile
from tokkit.normalizers.sentencepiece_rules import NAMES, charsmap, compile_tsv, read_tsv

sentencepiece = pytest.importorskip("sentencepiece")
FLAGS = [(prefix, extra, escape) for prefix in (True, False) for extra in (True, False) for escape in (True, False)]


def ours(map_: bytes, flags: tuple[bool, bool, bool] = (True, True, True), **more: bool) -> Normalizer:
    prefix, extra, escape = flags
    return Normalizer(map_, add_prefix=prefix, remove_extra=extra, escape=escape, **more)


def theirs(name: str, flags: tuple[bool, bool, bool] = (True, True, True)) -> sentencepiece.SentencePieceNormalizer:
    prefix, extra, escape = flags
    return sentencepiece.SentencePieceNormalizer(
        rule_name=name, add_dummy_prefix=prefix, remove_extra_whitespaces=extra, escape_whitespaces=escape
    )


@pytest.mark.parametrize("name", NAMES[:-1] if LONG else ["nmt_nfkc", "nfkc_cf"])
def test_the_rules_are_those_of_sentencepiece_each_one(name: str) -> None:
    assert dict(decompile(charsmap(name))) == dict(theirs(name).decompile())


@pytest.mark.parametrize("name", NAMES)
def test_every_character_and_the_shared_sequence_become_what_sentencepiece_makes_of_them(name: str) -> None:
    characters = [chr(c) for c in code_points(1)]
    rival, core = theirs(name, (False, False, False)), ours(charsmap(name), (False, False, False))
    for start in range(0, len(characters), 1 << 15):
        text = "a".join(characters[start : start + (1 << 15)])
        assert core.normalize(text).decode() == rival.normalize(text)
    path = SHARED / "corpora" / "utf8_sequence_0x10ffff.txt"
    if path.is_file():
        text = path.read_bytes().decode("utf-8", "replace")
        assert ours(charsmap(name)).normalize(text).decode() == theirs(name).normalize(text)


def tricky() -> list[str]:
    made = [adversarial(seed, 200).encode("utf-8", "replace").decode() for seed in range(300 if LONG else 60)]
    made += ["", " ", "  a  b ", "\u3000a\u3000", "▁", " ▁ ", "a▁", "e\u0301" * 9, "\r\n\r\n", "ｶﾞ", "\u200b \ufeff"]
    for n in (7, 8, 9, 15, 16, 17, 31, 33):
        made += [f"{'x' * n}\u0301{'y' * n} z", f"{'x' * n}  y", f"{'ab ' * n}é", f"{' ' * n}é{' ' * n}"]
    return made


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc_cf", "identity"])
def test_texts_and_their_alignment_are_those_of_sentencepiece(name: str, flags: tuple[bool, bool, bool]) -> None:
    rival, core = theirs(name, flags), ours(charsmap(name), flags)
    for text in tricky():
        made, places = rival.normalize(text.encode(), with_offsets=True)
        found, origins = core.normalize_aligned(text)
        assert found == made == core.normalize(text), text
        if made:
            assert origins.tolist() == places, text
        if flags[2]:
            assert ours(charsmap(name), flags, one_byte_space=True).normalize(text) == made.replace("▁".encode(), b" ")


def test_user_defined_symbols_stay_as_they_are() -> None:
    core = Normalizer(charsmap("nfkc"), [b"\xef\xbc\xa1b", b"  ", b"ab", b"abab"], add_prefix=True, remove_extra=True,
                      escape=True)  # fmt: skip
    assert core.normalize("Ａbc  Ａ abab").decode() == "▁Ａbc▁▁A▁abab"


def test_rules_of_a_tsv_are_those_of_sentencepiece(tmp_path: Path) -> None:
    tsv = "41\t61\n41 42\t78 79\tcomment\n43\n1F600\t3A 29\n20AC\t45 55 52\n"
    (tmp_path / "rules.tsv").write_text(tsv)
    rival = sentencepiece.SentencePieceNormalizer(rule_tsv=str(tmp_path / "rules.tsv"))
    core = ours(compile_tsv(tsv))
    for text in ("AB ABC CAB", "😀€ C C", "C", "", "CC A"):
        assert core.normalize(text).decode() == rival.normalize(text), text
    assert read_tsv("\ufeff41\t\r\n\n42 43\t44") == {"A": "", "BC": "D"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("41\t61\nxyz\t61", "line 2: 'xyz.t61' is invalid; write code points"),
        ("\t61", "line 1: the text to replace is empty"),
        ("41\tD800", "line 1: .* is invalid; write code points"),
        ("110000\t41", "line 1: .* is invalid; write code points"),
    ],
)
def test_lines_that_are_no_rules_are_named(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_tsv(text)


def test_names_and_rules_that_cannot_be_are_refused() -> None:
    with pytest.raises(OptionError, match="the normalization is 'nfd'; it must be one of nmt_nfkc, nfkc"):
        charsmap("nfd")
    for rules in ({"": "a"}, {"a\0": "b"}, {"a": "\0"}):
        with pytest.raises(OptionError, match="and no NUL"):
            compile_rules(rules)
    assert compile_rules({}) == b""
    assert decompile(b"") == []
    with pytest.raises(ValueError, match="one_byte_space"):
        ours(b"", (True, True, False), one_byte_space=True)


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]) | st.sampled_from("ab"), max_size=4)


@given(st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=30), st.lists(st.sampled_from("abé東"), max_size=20))
def test_a_map_says_what_its_rules_say(rules: dict[str, str], parts: list[str]) -> None:
    map_ = compile_rules(rules)
    assert dict(decompile(map_)) == rules
    if rules:
        plain = plain_map({source.encode(): target.encode() for source, target in rules.items()})
        text = "".join([*parts, *rules, *parts])
        assert ours(map_).normalize(text) == ours(plain).normalize(text)
        spec = written(1, "x") + written(2, map_)
        rival = sentencepiece.SentencePieceNormalizer(normalizer_spec=spec)
        assert dict(rival.decompile()) == rules


def test_many_rules_share_their_ends() -> None:
    rng = random.Random(1)
    stems = ["".join(rng.choices("abcdefgh", k=6)) for _ in range(2000)]
    map_ = compile_rules({stem + end: "x" for stem in stems for end in ("ing", "ings", "ed")})
    assert len(map_) < 4 * 12 * len(stems)
    assert ours(map_).normalize(stems[5] + "ings") == "▁x".encode()


def test_a_map_that_goes_round_is_not_taken_apart_for_ever() -> None:
    units = bytearray(plain_map({b"aa": b"x"}))
    round_ = plain_map({b"a": b"x"})
    units = bytearray(round_)
    at = 4 + 4 * (256 ^ ord("a"))
    units[at : at + 4] = ord("a").to_bytes(4, "little")  # its children stand where it stands itself
    back = (256 ^ ord("a")) ^ 256
    units[at : at + 4] = (back << 10 | ord("a")).to_bytes(4, "little")
    with pytest.raises(OptionError, match="rules of more than"):
        decompile(bytes(units))
    assert ours(bytes(units)).normalize("a" * 1000) == "▁".encode() + b"a" * 1000


@pytest.mark.skipif(not LONG, reason="makes all maps anew, in ten seconds: TOKKIT_LONG=1")
def test_the_maps_are_those_that_the_script_makes() -> None:
    extra("unicodedata2")
    run = [sys.executable, str(ROOT / "data" / "make_charsmaps.py"), "--check"]
    subprocess.run(run, check=True)
